//! What was decided, what the gateway saw and what the provider signed, compared; and what was never said.
//!
//! Promised: every entry is compared once, in order, about a second after its commit and again when time alone changes
//! the answer; what disagrees becomes `finding/v1`, what came after all `clearance/v1`, as entries like any other,
//! whoever died in between and however many services compare. A cleared call without an observation becomes
//! OUTCOME_UNKNOWN once the gateway that cleared it was silent for a lease, or once no tool may still be running. No
//! append of a gateway waits for any of this.
//! Not promised: that parties who agree say the truth. What is compared, and how: docs/formats/reconciliation.md;
//! for an operator: docs/operating/reconciliation.md.

mod audit;
mod comparison;
mod events;
mod follow;
mod gateways;
mod keys;
mod outcome;
mod resolve;
mod store;
mod sweep;
mod terms;
#[cfg(test)]
mod tests;
mod turn;

pub(crate) use audit::{Misplaced, misplaced};
pub(crate) use follow::follow;
pub(crate) use gateways::Heard;
pub use resolve::Which;
pub(crate) use resolve::{list, resolve};
#[cfg(test)]
pub(crate) use store::ALL;
pub(crate) use store::calls::open_and_close;
pub use store::findings::Listed;
pub(crate) use sweep::sweep;
