//! The evidence service against a real Postgres, as its own roles.

mod concurrency;
mod crash;
mod deployment;
mod gateway;
mod public;
mod record;
mod schema;
