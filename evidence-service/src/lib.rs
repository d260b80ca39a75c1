//! The evidence service: ledger, control plane, public pages.
//!
//! Promised: every statement it acknowledges stands in one chain and one tree per project, committed before the
//! answer; what decides is published in that same chain; pages are read out of signed bodies.
//! Not promised: that it is honest. Receipts, checkpoints and witnesses make it show if it is not.

mod accounts;
mod catalogs;
mod clock;
pub mod cluster;
pub mod config;
mod console;
mod control;
mod coverage;
mod database;
mod declared;
mod definitions;
pub mod egress;
mod executions;
mod export;
mod grants;
mod health;
mod holds;
mod http;
pub mod keys;
pub mod ledger;
mod packages;
mod probes;
mod public;
mod reconciliation;
pub mod retention;
mod service;
mod settings;
pub mod setup;
#[cfg(test)]
mod statements_test;
pub mod web;

pub use config::Config;
pub use database::DatabaseError;
pub use service::{Bound, ServeError, bind, serve};
pub use settings::Visibility;
