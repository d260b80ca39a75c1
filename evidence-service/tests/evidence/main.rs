//! The evidence service against a real Postgres, as its own roles.

mod deployment;
mod gateway;
mod record;
mod schema;
