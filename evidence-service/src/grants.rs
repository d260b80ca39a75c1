//! Grants: one agent may do one thing to one noun until then.
//!
//! Promised: a grant is born from an answer, stands for at most thirty days, and everything that is done to it is an
//! entry; what takes away moves the floor in the same commit; the rows that gateways are told of are written by it.
//! Not promised: that a gateway has heard of it. The record transaction judges by the floor.
//!
//! For operators: docs/operating/holds.md. Statements: docs/formats/governance.md.

mod audit;
mod change;
pub(crate) mod store;

use std::ops::RangeInclusive;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;

use crate::clock;
use crate::ledger::{AppendError, Ledger};

pub(crate) use audit::misplaced;
pub(crate) use change::change;
pub use change::{Change, Changed, GrantError, Order, Which};

/// Five minutes to thirty days.
pub(crate) const LIFE_MINUTES: RangeInclusive<u32> = 5..=43_200;

/// A grant that stands, as a person sees it.
#[derive(Clone, Debug)]
pub struct Standing {
    pub document: GrantDocument,
    /// Number of the entry that gave, renewed or shortened it last.
    pub seq: u64,
}

/// The grants of a project that stand, by agent, service and verb.
pub(crate) async fn list(ledger: &Ledger, project: ProjectId) -> Result<Vec<Standing>, AppendError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    Ok(store::list(&tx, clock::now()).await?)
}

/// The end of a grant that gets so many minutes from then on.
pub(crate) fn until(at: Timestamp, minutes: u32) -> Timestamp {
    at.plus_millis(i64::from(minutes) * 60_000)
}
