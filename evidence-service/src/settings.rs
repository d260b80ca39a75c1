//! Settings of a project that decide nothing about calls. A change of one is an entry (T10).
//!
//! Promised: the row and the `settings/v1` that says so are one commit, and the self-audit compares the two.

mod change;
pub(crate) mod store;
mod visibility;

pub(crate) use change::{Change, Setting};
pub use visibility::Visibility;
