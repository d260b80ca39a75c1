//! SQL of settings: columns of the project's row.

use counterfoil_core::statement::RetentionDays;

use super::Visibility;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::unreadable;

statements! {
    RETENTION_DAYS = "select retention_days from projects where project_id = $1";
    VISIBILITY = "select visibility from projects where project_id = $1";
    SHOW_TO = "update projects set visibility = $2 where project_id = $1";
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

/// Who may see the project's page. What does not read stops whoever asks.
pub(crate) async fn visibility(tx: &ProjectTx<'_>) -> Result<Visibility, DatabaseError> {
    let text: String = tx.row(VISIBILITY, &[&tx.project().uuid()]).await?.try_get(0)?;
    text.parse().map_err(unreadable)
}

pub(super) async fn show_to(tx: &ProjectTx<'_>, visibility: Visibility) -> Result<(), DatabaseError> {
    tx.change(1, SHOW_TO, &[&tx.project().uuid(), &visibility.as_str()]).await
}
