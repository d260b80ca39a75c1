//! Retention: bodies are kept for the project's days and then emptied, under a tombstone that says so (T5, P6).
//!
//! Promised: entries stay, so the chain, the tree and every receipt somebody kept still verify; what is emptied is
//! covered by a `tombstone/v1` of the same transaction, goes together with its openings, and stays gone. Two services
//! at once erase each body once. What a provider still owes is not erased under its feet.
//! Not promised: that a copy in other hands, a backup or a page file of the database forgets too.
//! docs/retention.md has the table: item, who can open it, how long, what verification says then.

mod days;
mod epochs;
mod erase;
mod forget;
pub(crate) mod store;
mod sweep;
#[cfg(test)]
mod tests;

pub use days::{Day, DayError};
pub use epochs::{Archived, EpochRow};
pub use forget::{Forget, Forgotten};
pub use sweep::Swept;
pub(crate) use sweep::sweep_hourly;
