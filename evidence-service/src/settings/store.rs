//! SQL of settings: columns of the project's row.

use counterfoil_core::statement::RetentionDays;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::unreadable;

statements! {
    RETENTION_DAYS = "select retention_days from projects where project_id = $1";
    KEEP_FOR = "update projects set retention_days = $2 where project_id = $1";
}

pub(crate) async fn retention_days(tx: &ProjectTx<'_>) -> Result<RetentionDays, DatabaseError> {
    let days: i16 = tx.row(RETENTION_DAYS, &[&tx.project().uuid()]).await?.try_get(0)?;
    RetentionDays::new(u16::try_from(days).map_err(unreadable)?).map_err(unreadable)
}

pub(super) async fn keep_for(tx: &ProjectTx<'_>, days: RetentionDays) -> Result<(), DatabaseError> {
    let days = i16::try_from(days.days()).map_err(unreadable)?;
    tx.change(1, KEEP_FOR, &[&tx.project().uuid(), &days]).await
}
