//! The evidence service against a real Postgres, as its own roles.

mod answers;
mod audit;
mod boot;
mod concurrency;
mod crash;
mod definitions;
mod deployment;
mod doubt;
mod executions;
mod export;
mod gateway;
mod idempotency;
mod log;
mod markup;
mod outcomes;
mod packages;
mod pages;
mod planted;
mod provider;
mod provider_keys;
mod public;
mod races;
mod record;
mod retention;
mod schema;
mod tenants;
