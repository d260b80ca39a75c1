//! SQL of what an operator asks for: forgetting a principal, looking at days, archives.

use std::collections::BTreeSet;
use std::ops::Range;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::KeyId;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::kinds;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{EntryRow, digest, number, signed, time};
use crate::retention::days::Day;
use crate::retention::epochs::{Archived, EpochRow};
use crate::setup::SealedOpening;

statements! {
    UNNAME = "update credentials set principal = null, revoked_at = coalesce(revoked_at, $4) \
              where project_id = $1 and (principal = $2 or key_id = any($3)) returning key_id";
    SIZE = "select size from heads where project_id = $1";
    DECIDED = "select action from entries \
               where project_id = $1 and seq >= $2 and seq < $3 and kind = 'decision' and body is not null \
               and action is not null and (body_digest = any($5) \
                    or (cardinality($4::text[]) > 0 \
                        and convert_from(body, 'UTF8')::jsonb -> 'payload' ->> 'via' = any($4)))";
    SAID_ABOUT = "select seq, at from entries where project_id = $1 and action = any($2) and kind = any($3) \
                  and body is not null order by seq";
    DELETE_KEYED = "delete from idempotency where project_id = $1 and credential = any($2)";
    DELETE_KEYS_BETWEEN = "delete from idempotency where project_id = $1 and seq between $2 and $3";
    DELETE_OPENINGS_OF = "delete from openings where project_id = $1 and decision = any($2)";
    EPOCHS = "select at / 86400000, min(seq), max(seq), count(*) filter (where body is not null and kind = any($2)), \
              count(*) filter (where body is null), min(at) from entries where project_id = $1 group by 1 order by 1";
    OPENINGS = "select opening_id, decision, jwe from openings where project_id = $1 and opening_id > $2 \
                order by opening_id limit 256";
    ARCHIVED = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note, \
                array(select o.jwe from openings o where o.project_id = $1 and e.kind = 'decision' \
                      and o.decision = e.body_digest order by o.opening_id) as openings \
                from entries e where e.project_id = $1 and e.seq between $2 and $3 order by e.seq limit 256";
}

/// An entry whose body is there.
#[derive(Clone, Copy, Debug)]
pub(in crate::retention) struct Said {
    pub(in crate::retention) seq: u64,
    pub(in crate::retention) at: Timestamp,
}

/// Takes the name off every key of that principal and off the keys named, and revokes them. Which they were.
pub(in crate::retention) async fn unname(
    tx: &ProjectTx<'_>,
    principal: Option<&str>,
    keys: &BTreeSet<KeyId>,
    at: Timestamp,
) -> Result<BTreeSet<KeyId>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 4] = [&tx.project().uuid(), &principal, &uuids(keys), &at.millis()];
    let rows = tx.rows(UNNAME, &parameters).await?;
    rows.iter().map(|row| Ok(KeyId::from_uuid(row.try_get(0)?))).collect()
}

pub(in crate::retention) async fn size(tx: &ProjectTx<'_>) -> Result<u64, DatabaseError> {
    number(tx.row(SIZE, &[&tx.project().uuid()]).await?.try_get(0)?)
}

/// Actions of decisions within that range that came by one of the keys, or are named by their digests.
pub(in crate::retention) async fn decided(
    tx: &ProjectTx<'_>,
    range: Range<u64>,
    keys: &BTreeSet<KeyId>,
    decisions: &BTreeSet<Digest>,
) -> Result<Vec<Uuid>, DatabaseError> {
    let (first, end) = (signed(range.start)?, signed(range.end)?);
    let keys: Vec<String> = keys.iter().map(KeyId::to_string).collect();
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tx.project().uuid(), &first, &end, &keys, &digests(decisions)];
    let rows = tx.rows(DECIDED, &parameters).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Whatever was said about these actions and can be emptied.
pub(in crate::retention) async fn said_about(
    tx: &ProjectTx<'_>,
    actions: &[Uuid],
) -> Result<Vec<Said>, DatabaseError> {
    let rows = tx.rows(SAID_ABOUT, &[&tx.project().uuid(), &actions, &kinds()]).await?;
    rows.iter().map(|row| Ok(Said { seq: number(row.try_get(0)?)?, at: time(row.try_get(1)?)? })).collect()
}

/// Idempotency keys are texts that callers chose.
pub(in crate::retention) async fn delete_keyed(
    tx: &ProjectTx<'_>,
    keys: &BTreeSet<KeyId>,
) -> Result<(), DatabaseError> {
    tx.touch(DELETE_KEYED, &[&tx.project().uuid(), &uuids(keys)]).await.map(drop)
}

pub(in crate::retention) async fn delete_keys_between(
    tx: &ProjectTx<'_>,
    first: u64,
    last: u64,
) -> Result<(), DatabaseError> {
    let (first, last) = (signed(first)?, signed(last)?);
    tx.touch(DELETE_KEYS_BETWEEN, &[&tx.project().uuid(), &first, &last]).await.map(drop)
}

pub(in crate::retention) async fn delete_openings_of(
    tx: &ProjectTx<'_>,
    decisions: &BTreeSet<Digest>,
) -> Result<(), DatabaseError> {
    tx.touch(DELETE_OPENINGS_OF, &[&tx.project().uuid(), &digests(decisions)]).await.map(drop)
}

pub(in crate::retention) async fn epochs(tx: &ProjectTx<'_>) -> Result<Vec<EpochRow>, DatabaseError> {
    let rows = tx.rows(EPOCHS, &[&tx.project().uuid(), &kinds()]).await?;
    rows.iter()
        .map(|row| {
            Ok(EpochRow {
                day: Day::of(time(row.try_get(5)?)?),
                first: number(row.try_get(1)?)?,
                last: number(row.try_get(2)?)?,
                bodies: number(row.try_get(3)?)?,
                erased: number(row.try_get(4)?)?,
            })
        })
        .collect()
}

pub(in crate::retention) async fn archived(
    tx: &ProjectTx<'_>,
    first: u64,
    last: u64,
) -> Result<Vec<Archived>, DatabaseError> {
    let (first, last) = (signed(first)?, signed(last)?);
    let rows = tx.rows(ARCHIVED, &[&tx.project().uuid(), &first, &last]).await?;
    rows.iter()
        .map(|row| {
            let EntryRow { entry, body, .. } = EntryRow::read(tx.project(), row)?;
            Ok(Archived { entry, body, openings: row.try_get("openings")? })
        })
        .collect()
}

/// At most 256 openings after that one.
pub(crate) async fn openings(tx: &ProjectTx<'_>, after: Uuid) -> Result<Vec<SealedOpening>, DatabaseError> {
    let rows = tx.rows(OPENINGS, &[&tx.project().uuid(), &after]).await?;
    rows.iter()
        .map(|row| {
            let decision = digest(row.try_get(1)?)?;
            Ok(SealedOpening { id: row.try_get(0)?, decision, jwe: row.try_get(2)? })
        })
        .collect()
}

fn uuids(keys: &BTreeSet<KeyId>) -> Vec<Uuid> {
    keys.iter().map(KeyId::uuid).collect()
}

fn digests(decisions: &BTreeSet<Digest>) -> Vec<&[u8]> {
    decisions.iter().map(|digest| digest.bytes().as_slice()).collect()
}
