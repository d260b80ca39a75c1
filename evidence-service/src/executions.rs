//! What providers say they did: taken in, wrapped, numbered, answered with an acceptance receipt (P3).
//!
//! Promised: a statement that reads gets in, whatever it says and whoever signed it; whether its signature holds is
//! decided under the head's lock, by the keys that stand there before it, and is written beside it. The same word gets
//! the stored acceptance. A statement about another project is one about nothing, and is answered as such (T1).
//! Not promised: that it is true, or matched; that is the comparison's affair, which follows the record.
//! Bounded (T8): what proves nothing is taken from an hourly allowance of whoever sent it. docs/formats/execution.md.

mod accept;
mod listing;
pub(crate) mod routes;
pub(crate) mod store;
mod submission;
mod weigh;

pub(crate) use accept::{Acceptance, Accepting};
pub(crate) use submission::{LARGEST_SUBMISSION, Sender, Submission};
pub(crate) use weigh::{Asked, Known};
