//! SQL of the auditor: select and nothing else.

use anyhow::Context;
use counterfoil_core::audit::StoredTombstone;
use counterfoil_core::id::{KeyId, ProjectId};
use postgres::{Row, Transaction};
use uuid::Uuid;

use crate::ledger::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, ProjectRow, SessionRow};

/// An audit takes as long as it takes; the services' sessions give up after two seconds.
pub(super) const PATIENT: &str = "set local statement_timeout = 0; \
                                  set local idle_in_transaction_session_timeout = 0";
pub(super) const ENTER: &str = "select set_config('counterfoil.project', $1, true)";
pub(super) const NEXT_PROJECT: &str = "select slot, project_id from directory_next_project($1)";
const PROJECT: &str = "select issuer, slot, public_id, to_jsonb(p) ->> 'retention_days', \
                       to_jsonb(p) ->> 'visibility' from projects p where project_id = $1";
const TOMBSTONES: &str = "select seq, first_seq, last_seq from tombstones where project_id = $1 order by seq";
const KEYS: &str = "select thumbprint, purpose, provider, x, introduced, introduced_at, ended, ended_at, revoked \
                    from signing_keys where project_id = $1 order by introduced, thumbprint";
const DOCUMENTS: &str = "select seq, kind, digest, text from documents where project_id = $1 order by seq";
// A ledger from before sessions were counted has no such table.
const COUNTS_SESSIONS: &str = "select to_regclass('public.sessions') is not null";
const SESSIONS: &str = "select key_id, running::text from sessions where project_id = $1 order by key_id";
const HEAD: &str = "select size, root, frontier, last_hash, last_at, epoch_first, epoch_counts, control, floor, \
                    gen, killed, policy, registry, rules, checkpoint, coalesce(to_jsonb(h) ->> 'stopped', ''), \
                    (to_jsonb(h) ->> 'breakglass_until')::bigint, (to_jsonb(h) ->> 'shadow_until')::bigint \
                    from heads h where project_id = $1";
const CHECKPOINTS: &str = "select size, root, at, note from checkpoints \
                           where project_id = $1 and size > $2 order by size limit $3";
const ENTRIES: &str = "select seq, at, kind, body_digest, prev, hash, body, path, checkpoint_size, action, decision, \
                       agent, verdict, reason, provider, tool, status from entries \
                       where project_id = $1 and seq > $2 order by seq limit $3";

/// The row of the project that the directory has at `slot`.
pub(super) fn project(tx: &mut Transaction<'_>, id: ProjectId, slot: i64) -> anyhow::Result<ProjectRow> {
    let row = tx.query_opt(PROJECT, &[&id.uuid()])?;
    let row = row.with_context(|| format!("slot {slot} leads to `{id}`, which has no row"))?;
    let (issuer, named): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
    // Directory, row and issuer name the slot; if they disagree, the one that the issuer does not name is shown.
    let slot = if issuer.contains(&format!("/p/{slot}-")) { named } else { slot };
    let (retention_days, visibility) = (row.try_get(3)?, row.try_get(4)?);
    Ok(ProjectRow { id, issuer, slot, public_id: row.try_get(2)?, retention_days, visibility })
}

pub(super) fn tombstones(tx: &mut Transaction<'_>, project: Uuid) -> anyhow::Result<Vec<StoredTombstone>> {
    read(tx.query(TOMBSTONES, &[&project])?, |row| {
        Ok(StoredTombstone { seq: row.try_get(0)?, first: row.try_get(1)?, last: row.try_get(2)? })
    })
}

pub(super) fn keys(tx: &mut Transaction<'_>, project: Uuid) -> anyhow::Result<Vec<KeyRow>> {
    read(tx.query(KEYS, &[&project])?, |row| {
        Ok(KeyRow {
            thumbprint: row.try_get(0)?,
            purpose: row.try_get(1)?,
            provider: row.try_get(2)?,
            x: row.try_get(3)?,
            introduced: row.try_get(4)?,
            introduced_at: row.try_get(5)?,
            ended: row.try_get(6)?,
            ended_at: row.try_get(7)?,
            revoked: row.try_get(8)?,
        })
    })
}

pub(super) fn documents(tx: &mut Transaction<'_>, project: Uuid) -> anyhow::Result<Vec<DocumentRow>> {
    read(tx.query(DOCUMENTS, &[&project])?, |row| {
        let (seq, kind) = (row.try_get(0)?, row.try_get(1)?);
        Ok(DocumentRow { seq, kind, digest: row.try_get(2)?, text: row.try_get(3)? })
    })
}

pub(super) fn sessions(tx: &mut Transaction<'_>, project: Uuid) -> anyhow::Result<Vec<SessionRow>> {
    if !tx.query_one(COUNTS_SESSIONS, &[])?.try_get::<_, bool>(0)? {
        return Ok(Vec::new());
    }
    read(tx.query(SESSIONS, &[&project])?, |row| {
        Ok(SessionRow { key: KeyId::from_uuid(row.try_get(0)?), running: row.try_get(1)? })
    })
}

pub(super) fn head(tx: &mut Transaction<'_>, project: Uuid) -> anyhow::Result<Option<HeadRow>> {
    let Some(row) = tx.query_opt(HEAD, &[&project])? else { return Ok(None) };
    Ok(Some(HeadRow {
        size: row.try_get(0)?,
        root: row.try_get(1)?,
        frontier: row.try_get(2)?,
        last_hash: row.try_get(3)?,
        last_at: row.try_get(4)?,
        epoch_first: row.try_get(5)?,
        epoch_counts: row.try_get(6)?,
        control: row.try_get(7)?,
        floor: row.try_get(8)?,
        generation: row.try_get(9)?,
        killed: row.try_get(10)?,
        policy: row.try_get(11)?,
        registry: row.try_get(12)?,
        rules: row.try_get(13)?,
        checkpoint: row.try_get(14)?,
        // Older databases do not have them, and nothing is in them there.
        stopped: row.try_get(15)?,
        breakglass_until: row.try_get(16)?,
        shadow_until: row.try_get(17)?,
    }))
}

pub(super) fn checkpoints(
    tx: &mut Transaction<'_>,
    project: Uuid,
    after: i64,
    limit: i64,
) -> anyhow::Result<Vec<CheckpointRow>> {
    read(tx.query(CHECKPOINTS, &[&project, &after, &limit])?, |row| {
        let (size, root) = (row.try_get(0)?, row.try_get(1)?);
        Ok(CheckpointRow { size, root, at: row.try_get(2)?, note: row.try_get(3)? })
    })
}

pub(super) fn entries(
    tx: &mut Transaction<'_>,
    project: Uuid,
    after: i64,
    limit: i64,
) -> anyhow::Result<Vec<EntryRow>> {
    read(tx.query(ENTRIES, &[&project, &after, &limit])?, |row| {
        Ok(EntryRow {
            seq: row.try_get(0)?,
            at: row.try_get(1)?,
            kind: row.try_get(2)?,
            body_digest: row.try_get(3)?,
            prev: row.try_get(4)?,
            hash: row.try_get(5)?,
            body: row.try_get(6)?,
            path: row.try_get(7)?,
            checkpoint_size: row.try_get(8)?,
            action: row.try_get(9)?,
            decision: row.try_get(10)?,
            agent: row.try_get(11)?,
            verdict: row.try_get(12)?,
            reason: row.try_get(13)?,
            provider: row.try_get(14)?,
            tool: row.try_get(15)?,
            status: row.try_get(16)?,
        })
    })
}

fn read<T>(rows: Vec<Row>, one: impl Fn(&Row) -> Result<T, postgres::Error>) -> anyhow::Result<Vec<T>> {
    Ok(rows.iter().map(one).collect::<Result<_, _>>()?)
}
