//! What was cleared and of which nobody says what became of it.
//!
//! Promised: a cleared call without an observation becomes the finding OUTCOME_UNKNOWN once the gateway that cleared
//! it was silent for a lease, or once no tool may still be running; an observation that comes after all is a
//! clearance beside it. Nobody else may sign what the gateway saw, and nothing is retried.
//! Not promised: matching with what providers sign.

mod gateways;
mod outcome;
mod store;
mod sweep;

pub(crate) use gateways::Heard;
#[cfg(test)]
pub(crate) use store::ALL;
pub(crate) use store::{close, open};
pub(crate) use sweep::sweep;
