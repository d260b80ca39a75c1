//! SQL of the export, as the reader role.

use tokio_postgres::types::ToSql;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{EntryRow, number, signed};

statements! {
    NEWEST = "select size, checkpoint from heads where project_id = $1";
    // The largest commit within the batch, or, where one commit is larger than that, its end.
    NEXT = "select size, note from ( \
                (select size, note from checkpoints where project_id = $1 and size > $2 and size <= $2 + $3 \
                 order by size desc limit 1) \
                union all \
                (select size, note from checkpoints where project_id = $1 and size > $2 order by size limit 1) \
            ) as found order by size desc limit 1";
    // Stops before the bodies grow too large, but never before the first.
    ENTRIES = "select seq, at, kind, body_digest, prev, body, ''::bytea as path, null::text as note from ( \
                   select *, sum(coalesce(octet_length(body), 0)) over (order by seq) as total from ( \
                       select * from entries where project_id = $1 and seq >= $2 and seq < $3 order by seq limit $4 \
                   ) as page \
               ) as summed where total <= $5 or seq = $2 order by seq";
}

/// A signed note and its size.
pub(super) struct Noted {
    pub(super) size: u64,
    pub(super) note: String,
}

/// Where the record ends now.
pub(super) async fn newest(tx: &ProjectTx<'_>) -> Result<Noted, DatabaseError> {
    let row = tx.row(NEWEST, &[&tx.project().uuid()]).await?;
    Ok(Noted { size: number(row.try_get(0)?)?, note: row.try_get(1)? })
}

/// Where a batch of about `most` entries from `next` on ends; none at the end of the record.
pub(super) async fn end_of_batch(
    tx: &ProjectTx<'_>,
    next: u64,
    most: u64,
) -> Result<Option<Noted>, DatabaseError> {
    let (next, most) = (signed(next)?, signed(most)?);
    let row = tx.maybe_row(NEXT, &[&tx.project().uuid(), &next, &most]).await?;
    row.map(|row| Ok(Noted { size: number(row.try_get(0)?)?, note: row.try_get(1)? })).transpose()
}

/// Entries from `next` to before `end`, as many as their number and their bytes allow.
pub(super) async fn entries(
    tx: &ProjectTx<'_>,
    next: u64,
    end: u64,
    most: i64,
    bytes: i64,
) -> Result<Vec<EntryRow>, DatabaseError> {
    let (next, end) = (signed(next)?, signed(end)?);
    let parameters: [&(dyn ToSql + Sync); 5] = [&tx.project().uuid(), &next, &end, &most, &bytes];
    let rows = tx.rows(ENTRIES, &parameters).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}
