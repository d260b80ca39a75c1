//! Reading a whole project for the self-audit, and keeping what it found.

use counterfoil_core::audit::{
    StoredCheckpoint, StoredColumns, StoredDocument, StoredEntry, StoredHead, StoredKey, StoredProject,
    StoredSession, StoredTombstone,
};
use counterfoil_core::id::KeyId;
use counterfoil_core::time::Timestamp;
use tokio_postgres::Row;

use super::read::unreadable;
use crate::database::{DatabaseError, ProjectTx, statements};

statements! {
    PROJECT_ROW = "select issuer, slot, public_id from projects where project_id = $1";
    HEAD_ROW = "select size, root, frontier, last_hash, last_at, epoch_first, epoch_counts, control, floor, gen, \
                killed, policy, registry, rules, checkpoint, stopped, breakglass_until, shadow_until \
                from heads where project_id = $1";
    ENTRY_ROWS = "select seq, at, kind, body_digest, prev, hash, body, path, checkpoint_size, action, decision, \
                  agent, verdict, reason, provider, tool, status from entries \
                  where project_id = $1 and seq > $2 order by seq limit $3";
    CHECKPOINT_ROWS = "select size, root, at, note from checkpoints where project_id = $1 and size > $2 \
                       order by size limit $3";
    KEY_ROWS = "select thumbprint, purpose, provider, x, introduced, introduced_at, ended, ended_at, revoked \
                from signing_keys where project_id = $1 order by introduced, thumbprint";
    DOCUMENT_ROWS = "select seq, kind, digest, text from documents where project_id = $1 order by seq";
    SESSION_ROWS = "select key_id, running::text from sessions where project_id = $1 order by key_id";
    TOMBSTONE_ROWS = "select seq, first_seq, last_seq from tombstones where project_id = $1 order by seq";
    KEEP_AUDIT = "insert into audits (project_id, at, size, broken) values ($1, $2, $3, $4) \
                  on conflict (project_id) do update \
                  set at = excluded.at, size = excluded.size, broken = excluded.broken";
    LAST_AUDIT = "select broken from audits where project_id = $1";
}

/// Rows are borrowed by what the auditor reads, so they are handed out as they came.
pub(crate) async fn project_row(tx: &ProjectTx<'_>) -> Result<Row, DatabaseError> {
    tx.row(PROJECT_ROW, &[&tx.project().uuid()]).await
}

pub(crate) async fn head_row(tx: &ProjectTx<'_>) -> Result<Row, DatabaseError> {
    tx.row(HEAD_ROW, &[&tx.project().uuid()]).await
}

pub(crate) async fn entry_rows(
    tx: &ProjectTx<'_>,
    after: i64,
    limit: i64,
) -> Result<Vec<Row>, DatabaseError> {
    tx.rows(ENTRY_ROWS, &[&tx.project().uuid(), &after, &limit]).await
}

pub(crate) async fn checkpoint_rows(
    tx: &ProjectTx<'_>,
    after: i64,
    limit: i64,
) -> Result<Vec<Row>, DatabaseError> {
    tx.rows(CHECKPOINT_ROWS, &[&tx.project().uuid(), &after, &limit]).await
}

pub(crate) async fn key_rows(tx: &ProjectTx<'_>) -> Result<Vec<Row>, DatabaseError> {
    tx.rows(KEY_ROWS, &[&tx.project().uuid()]).await
}

pub(crate) async fn document_rows(tx: &ProjectTx<'_>) -> Result<Vec<Row>, DatabaseError> {
    tx.rows(DOCUMENT_ROWS, &[&tx.project().uuid()]).await
}

pub(crate) async fn session_rows(tx: &ProjectTx<'_>) -> Result<Vec<Row>, DatabaseError> {
    tx.rows(SESSION_ROWS, &[&tx.project().uuid()]).await
}

pub(crate) fn session(row: &Row) -> Result<StoredSession<'_>, DatabaseError> {
    Ok(StoredSession { key: KeyId::from_uuid(row.try_get("key_id")?), running: row.try_get("running")? })
}

pub(crate) async fn tombstones(tx: &ProjectTx<'_>) -> Result<Vec<StoredTombstone>, DatabaseError> {
    let rows = tx.rows(TOMBSTONE_ROWS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            Ok(StoredTombstone { seq: row.try_get(0)?, first: row.try_get(1)?, last: row.try_get(2)? })
        })
        .collect()
}

/// What was found last; none if clean or never audited.
pub(crate) async fn last_broken(tx: &ProjectTx<'_>) -> Result<Option<String>, DatabaseError> {
    let row = tx.maybe_row(LAST_AUDIT, &[&tx.project().uuid()]).await?;
    row.map_or(Ok(None), |row| Ok(row.try_get(0)?))
}

pub(crate) async fn keep_audit(
    tx: &ProjectTx<'_>,
    at: Timestamp,
    size: u64,
    broken: Option<&str>,
) -> Result<(), DatabaseError> {
    let size = i64::try_from(size).map_err(unreadable)?;
    tx.change(1, KEEP_AUDIT, &[&tx.project().uuid(), &at.millis(), &size, &broken]).await
}

pub(crate) fn project(row: &Row) -> Result<StoredProject<'_>, DatabaseError> {
    Ok(StoredProject {
        issuer: row.try_get("issuer")?,
        slot: row.try_get("slot")?,
        public_id: row.try_get("public_id")?,
    })
}

pub(crate) fn entry(row: &Row) -> Result<StoredEntry<'_>, DatabaseError> {
    Ok(StoredEntry {
        seq: row.try_get("seq")?,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        body_digest: row.try_get("body_digest")?,
        prev: row.try_get("prev")?,
        hash: row.try_get("hash")?,
        body: row.try_get("body")?,
        path: row.try_get("path")?,
        checkpoint_size: row.try_get("checkpoint_size")?,
        columns: StoredColumns {
            action: row.try_get("action")?,
            decision: row.try_get("decision")?,
            agent: row.try_get("agent")?,
            verdict: row.try_get("verdict")?,
            reason: row.try_get("reason")?,
            provider: row.try_get("provider")?,
            tool: row.try_get("tool")?,
            status: row.try_get("status")?,
        },
    })
}

pub(crate) fn checkpoint(row: &Row) -> Result<StoredCheckpoint<'_>, DatabaseError> {
    Ok(StoredCheckpoint {
        size: row.try_get("size")?,
        root: row.try_get("root")?,
        at: row.try_get("at")?,
        note: row.try_get("note")?,
    })
}

pub(crate) fn head(row: &Row) -> Result<StoredHead<'_>, DatabaseError> {
    Ok(StoredHead {
        size: row.try_get("size")?,
        root: row.try_get("root")?,
        frontier: row.try_get("frontier")?,
        last_hash: row.try_get("last_hash")?,
        last_at: row.try_get("last_at")?,
        epoch_first: row.try_get("epoch_first")?,
        epoch_counts: row.try_get("epoch_counts")?,
        control: row.try_get("control")?,
        floor: row.try_get("floor")?,
        generation: row.try_get("gen")?,
        killed: row.try_get("killed")?,
        policy: row.try_get("policy")?,
        registry: row.try_get("registry")?,
        rules: row.try_get("rules")?,
        checkpoint: row.try_get("checkpoint")?,
        stopped: row.try_get("stopped")?,
        breakglass_until: row.try_get("breakglass_until")?,
        shadow_until: row.try_get("shadow_until")?,
    })
}

pub(crate) fn key(row: &Row) -> Result<StoredKey<'_>, DatabaseError> {
    Ok(StoredKey {
        thumbprint: row.try_get("thumbprint")?,
        purpose: row.try_get("purpose")?,
        provider: row.try_get("provider")?,
        x: row.try_get("x")?,
        introduced: row.try_get("introduced")?,
        introduced_at: row.try_get("introduced_at")?,
        ended: row.try_get("ended")?,
        ended_at: row.try_get("ended_at")?,
        revoked: row.try_get("revoked")?,
    })
}

pub(crate) fn document(row: &Row) -> Result<StoredDocument<'_>, DatabaseError> {
    Ok(StoredDocument {
        seq: row.try_get("seq")?,
        kind: row.try_get("kind")?,
        digest: row.try_get("digest")?,
        text: row.try_get("text")?,
    })
}
