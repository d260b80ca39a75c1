//! Public pages: what a stranger may see of a project, read out of signed bodies.
//!
//! Promised: [`projection`] is the one file that says what a page may contain; pages carry no script, and no data of
//! users by construction. Not promised: that this server shows everybody the same page. Receipts and checkpoints that
//! people keep are for that.

pub(crate) mod log;
mod page;
mod projection;
pub(crate) mod routes;
mod store;
mod tiles;

#[cfg(test)]
pub(crate) use store::ALL;
