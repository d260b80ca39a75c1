//! For vendors that call tools from their own code: ask first, and take silence for a no.
//!
//! Promised: [`Verdicts::guard`] runs the work only on a decision that says ALLOW (or a recorded advisory one), is signed and
//! recorded under keys that you pinned, is not old, and is about exactly this tool and these arguments, once. Unreachable,
//! slow, malformed, unsigned, expired, or for another action: no, as an error. There is no option that turns this off.
//! Not promised: that code which does not ask is stopped.
//! Wire: docs/decisions/the-verdict-answer-carries-its-receipt.md.

mod breaker;
mod client;
mod decision;
mod options;
mod outbox;
mod proposal;
mod refusal;
mod transport;

pub use client::Verdicts;
pub use counterfoil_core::statement::Verdict;
pub use decision::{Cleared, Decided};
pub use options::VerdictOptions;
pub use outbox::{Outbox, Report};
pub use proposal::{Agent, OriginalRequest, Principal, Proposal, Session, Tool};
pub use refusal::{GuardError, NoVerdict, NoVerdictCode, StatementError};
