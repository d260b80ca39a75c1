//! SQL of public pages, run as the reader role.

use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::PublicId;
use uuid::Uuid;

use crate::database::{DatabaseError, DirectoryClient, ProjectTx, statements};
use crate::ledger::store::{EntryRow, number, time, unreadable};

statements! {
    PROJECT = "select project_id from directory_project($1, $2)";
    NEWEST = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
              from entries e where e.project_id = $1 and e.seq < $2 order by e.seq desc limit $3";
    CHECKPOINT = "select checkpoint from heads where project_id = $1";
    SIZE = "select size from heads where project_id = $1";
    AT = "select e.seq, e.at, e.kind, e.body_digest, e.prev, null::bytea as body, e.path, null::text as note \
          from entries e where e.project_id = $1 and e.seq = any($2) order by e.seq";
    AUDIT = "select at, size, broken from audits where project_id = $1";
}

/// The project behind a page's address. Slot and public id must both be right.
pub(super) async fn project(
    directory: &DirectoryClient<'_>,
    slot: u64,
    public_id: &PublicId,
) -> Result<Option<ProjectId>, DatabaseError> {
    let Ok(slot) = i64::try_from(slot) else { return Ok(None) };
    let row = directory.ask(PROJECT, &[&slot, &public_id.to_string()]).await?;
    row.map(|row| Ok(ProjectId::from_uuid(row.try_get::<_, Uuid>(0)?))).transpose()
}

/// The newest entries below a seq, newest first.
pub(super) async fn newest(
    tx: &ProjectTx<'_>,
    below: u64,
    limit: i64,
) -> Result<Vec<EntryRow>, DatabaseError> {
    let below = i64::try_from(below).unwrap_or(i64::MAX);
    let rows = tx.rows(NEWEST, &[&tx.project().uuid(), &below, &limit]).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

/// The newest signed note.
pub(super) async fn checkpoint(tx: &ProjectTx<'_>) -> Result<String, DatabaseError> {
    let row = tx.maybe_row(CHECKPOINT, &[&tx.project().uuid()]).await?;
    row.ok_or_else(|| unreadable("a project without a head"))?.try_get(0).map_err(DatabaseError::from)
}

/// How many entries are committed.
pub(super) async fn size(tx: &ProjectTx<'_>) -> Result<u64, DatabaseError> {
    let row = tx.maybe_row(SIZE, &[&tx.project().uuid()]).await?;
    row.map_or(Ok(0), |row| number(row.try_get(0)?))
}

/// Entries at these places, by seq, without their bodies.
pub(super) async fn at(tx: &ProjectTx<'_>, places: &[u64]) -> Result<Vec<EntryRow>, DatabaseError> {
    let places: Vec<i64> = places.iter().filter_map(|seq| i64::try_from(*seq).ok()).collect();
    let rows = tx.rows(AT, &[&tx.project().uuid(), &places]).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

/// What the self-audit last found.
#[derive(Clone, Debug)]
pub(super) struct AuditRow {
    pub(super) at: counterfoil_core::time::Timestamp,
    pub(super) size: i64,
    pub(super) broken: Option<String>,
}

pub(super) async fn audit(tx: &ProjectTx<'_>) -> Result<Option<AuditRow>, DatabaseError> {
    let row = tx.maybe_row(AUDIT, &[&tx.project().uuid()]).await?;
    row.map(|row| {
        Ok(AuditRow {
            at: time(row.try_get("at")?)?,
            size: row.try_get("size")?,
            broken: row.try_get("broken")?,
        })
    })
    .transpose()
}
