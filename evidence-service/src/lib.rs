//! The evidence service: ledger, control plane, public pages.

mod accounts;
mod clock;
pub mod cluster;
pub mod config;
mod control;
mod database;
mod keys;
pub mod ledger;
pub mod setup;

pub use config::Config;
pub use database::DatabaseError;
