//! Public pages: what a stranger may see of a project, read out of signed bodies.
//!
//! Promised: [`projection`] is the one file that says what a page may contain; [`door`] is the one place that says who
//! may see it; HTML and JSON come from one value; nothing inline runs, nothing comes from elsewhere, and no page
//! costs more because the record is longer.
//! Not promised: that this server shows everybody the same page. Receipts and checkpoints that people keep are for that.
//! The format of the JSON: docs/formats/page.md.

pub(crate) mod action;
pub(crate) mod assets;
pub(crate) mod bodies;
pub(crate) mod door;
pub(crate) mod gather;
pub(crate) mod log;
mod page;
#[cfg(test)]
mod plans_test;
pub(crate) mod projection;
mod reach;
pub(crate) mod routes;
mod store;
mod tiles;
mod totals;
mod view;

#[cfg(test)]
pub(crate) use store::ALL;
