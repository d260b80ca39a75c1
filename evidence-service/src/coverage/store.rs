//! SQL of coverage: the newest declaration.

use counterfoil_core::envelope::Envelope;
use counterfoil_core::statement::{Coverage, Statement};

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, unreadable};

statements! {
    NEWEST = "select seq, body from entries where project_id = $1 and kind = 'coverage' and seq < $2 \
              order by seq desc limit 1";
}

/// The newest declaration below a seq, and its own. None if there is none, or its body was erased.
pub(super) async fn newest(tx: &ProjectTx<'_>, below: u64) -> Result<Option<(u64, Coverage)>, DatabaseError> {
    let below = signed(below).unwrap_or(i64::MAX);
    let Some(row) = tx.maybe_row(NEWEST, &[&tx.project().uuid(), &below]).await? else { return Ok(None) };
    let Some(body) = row.try_get::<_, Option<&[u8]>>(1)? else { return Ok(None) };
    let statement = Envelope::parse(body).map_err(unreadable)?.statement().map_err(unreadable)?;
    match statement {
        Statement::Coverage(coverage) => Ok(Some((number(row.try_get(0)?)?, *coverage))),
        other => Err(unreadable(format!("an entry of kind coverage is {}", other.kind()))),
    }
}
