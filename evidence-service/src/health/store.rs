//! SQL of readiness.

use uuid::Uuid;

use crate::database::{DatabaseError, DirectoryClient, statements};
use crate::ledger::store::unreadable;

statements! {
    WRITABLE = "select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off', \
                (extract(epoch from clock_timestamp()) * 1000)::bigint";
    NEXT_PROJECT = "select slot, project_id from directory_next_project($1)";
}

/// Whether the database takes writes, and its clock in milliseconds.
pub(super) async fn writable(directory: &DirectoryClient<'_>) -> Result<(bool, i64), DatabaseError> {
    let row = directory.ask(WRITABLE, &[]).await?.ok_or_else(|| unreadable("no answer"))?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// The project in the next slot after one.
pub(crate) async fn next_project(
    directory: &DirectoryClient<'_>,
    after: i64,
) -> Result<Option<(i64, Uuid)>, DatabaseError> {
    let row = directory.ask(NEXT_PROJECT, &[&after]).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}
