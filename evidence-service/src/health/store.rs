//! SQL of readiness.

use crate::database::{DatabaseError, DirectoryClient, statements};
use crate::ledger::store::unreadable;

statements! {
    WRITABLE = "select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off', \
                (extract(epoch from clock_timestamp()) * 1000)::bigint";
}

/// Whether the database takes writes, and its clock in milliseconds.
pub(super) async fn writable(directory: &DirectoryClient<'_>) -> Result<(bool, i64), DatabaseError> {
    let row = directory.ask(WRITABLE, &[]).await?.ok_or_else(|| unreadable("no answer"))?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}
