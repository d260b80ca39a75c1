//! SQL of retention: what is due, and emptying it, as the sweeper's role.

mod operators;

#[cfg(test)]
pub(crate) use operators::ALL as OPERATORS;
pub(crate) use operators::openings;
pub(super) use operators::{
    Said, archived, decided, delete_keyed, delete_keys_between, delete_openings_of, epochs, said_about, size,
    unname,
};

use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::erase::KINDS;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, time};

statements! {
    UPTO = "select upto from swept where project_id = $1";
    DUE = "select seq, at, body is not null and kind = any($5) from entries \
           where project_id = $1 and seq >= $2 and at < $3 order by seq limit $4";
    IS_OPEN = "select coalesce((select upto from reconciled where project_id = $1), 0) <= $3 \
               or exists (select 1 from matters m where m.project_id = $1 and m.seq between $2 and $3 \
                          and m.again_after is not null) \
               or exists (select 1 from open_calls c where c.project_id = $1 and c.seq between $2 and $3)";
    BURY = "insert into tombstones (project_id, seq, first_seq, last_seq) values ($1, $2, $3, $4)";
    EMPTY = "update entries set body = null where project_id = $1 and seq = any($2) and body is not null";
    DELETE_OPENINGS = "delete from openings o using entries e \
                       where o.project_id = $1 and e.project_id = $1 and e.seq = any($2) \
                       and e.kind = 'decision' and o.decision = e.body_digest";
    ADVANCE = "insert into swept (project_id, upto) values ($1, $2) \
               on conflict (project_id) do update set upto = greatest(swept.upto, excluded.upto)";
    LATE_OPENINGS = "delete from openings where project_id = $1 and opening_id in ( \
                     select opening_id from openings where project_id = $1 and opening_id < $2 \
                     order by opening_id limit $3)";
    OLD_KEYS = "delete from idempotency where project_id = $1 and seq < $2";
    OLD_CALLS = "delete from open_calls where project_id = $1 and seq < $2";
    OLD_INSTANCES = "delete from instances i where i.project_id = $1 and i.seen_at < $2 \
                     and not exists (select 1 from open_calls c where c.project_id = $1 and c.instance = i.instance)";
    AT = "select at from entries where project_id = $1 and seq = $2";
}

/// An entry that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    /// Whether it has a body of a kind that is emptied.
    pub(super) full: bool,
}

/// All entries below this were swept.
pub(super) async fn upto(tx: &ProjectTx<'_>) -> Result<u64, DatabaseError> {
    let row = tx.maybe_row(UPTO, &[&tx.project().uuid()]).await?;
    row.map_or(Ok(0), |row| number(row.try_get(0)?))
}

/// At most `most` entries from `from` on and before that time, by seq.
pub(super) async fn due(
    tx: &ProjectTx<'_>,
    from: u64,
    before: Timestamp,
    most: usize,
) -> Result<Vec<Due>, DatabaseError> {
    let (from, most) = (signed(from)?, signed(most as u64)?);
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tx.project().uuid(), &from, &before.millis(), &most, &kinds()];
    let rows = tx.rows(DUE, &parameters).await?;
    let due = |row: &tokio_postgres::Row| {
        Ok(Due { seq: number(row.try_get(0)?)?, at: time(row.try_get(1)?)?, full: row.try_get(2)? })
    };
    rows.iter().map(due).collect()
}

/// Whether anything in that range is not compared yet, or may still change with time alone.
pub(super) async fn is_open(tx: &ProjectTx<'_>, first: u64, last: u64) -> Result<bool, DatabaseError> {
    let (first, last) = (signed(first)?, signed(last)?);
    Ok(tx.row(IS_OPEN, &[&tx.project().uuid(), &first, &last]).await?.try_get(0)?)
}

pub(super) async fn bury(tx: &ProjectTx<'_>, seq: u64, first: u64, last: u64) -> Result<(), DatabaseError> {
    let (seq, first, last) = (signed(seq)?, signed(first)?, signed(last)?);
    tx.change(1, BURY, &[&tx.project().uuid(), &seq, &first, &last]).await
}

/// Fails, and with it the whole commit, if any of them was emptied meanwhile.
pub(super) async fn empty(tx: &ProjectTx<'_>, seqs: &[u64]) -> Result<(), DatabaseError> {
    tx.change(seqs.len() as u64, EMPTY, &[&tx.project().uuid(), &numbers(seqs)?]).await
}

/// Openings of the decisions among these entries.
pub(super) async fn delete_openings(tx: &ProjectTx<'_>, seqs: &[u64]) -> Result<(), DatabaseError> {
    tx.touch(DELETE_OPENINGS, &[&tx.project().uuid(), &numbers(seqs)?]).await.map(drop)
}

pub(super) async fn advance(tx: &ProjectTx<'_>, upto: u64) -> Result<(), DatabaseError> {
    tx.change(1, ADVANCE, &[&tx.project().uuid(), &signed(upto)?]).await
}

/// Openings that came after their decisions' bodies went: their ids grow with time (UUIDv7). How many.
pub(super) async fn delete_late_openings(
    tx: &ProjectTx<'_>,
    before: Timestamp,
    most: usize,
) -> Result<u64, DatabaseError> {
    let millis = u128::try_from(before.millis()).unwrap_or_default();
    let (bound, most) = (Uuid::from_u128(millis << 80), signed(most as u64)?);
    tx.touch(LATE_OPENINGS, &[&tx.project().uuid(), &bound, &most]).await
}

/// What belonged to entries below `upto` and only helped to answer again, or to find what nobody spoke of.
pub(super) async fn delete_helpers(
    tx: &ProjectTx<'_>,
    upto: u64,
    before: Timestamp,
) -> Result<(), DatabaseError> {
    let (project, upto) = (tx.project().uuid(), signed(upto)?);
    tx.touch(OLD_KEYS, &[&project, &upto]).await?;
    tx.touch(OLD_CALLS, &[&project, &upto]).await?;
    tx.touch(OLD_INSTANCES, &[&project, &before.millis()]).await?;
    Ok(())
}

/// The time of an entry, if one stands there.
pub(super) async fn at(tx: &ProjectTx<'_>, seq: u64) -> Result<Option<Timestamp>, DatabaseError> {
    let row = tx.maybe_row(AT, &[&tx.project().uuid(), &signed(seq)?]).await?;
    row.map(|row| time(row.try_get(0)?)).transpose()
}

pub(super) fn kinds() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.as_str()).collect()
}

pub(super) fn numbers(seqs: &[u64]) -> Result<Vec<i64>, DatabaseError> {
    seqs.iter().map(|seq| signed(*seq)).collect()
}
