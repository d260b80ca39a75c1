//! What whole-system tests stand on: real processes, a real Postgres, clients that are not ours.
//!
//! Promised: everything runs in a folder of its own on ports of its own, on 127.0.0.1 or a socket, and ends with the test.
//! A process is stopped by its id. Nothing here imports a service: it is started, spoken to and killed from outside.

pub mod chain;
pub mod deployment;
pub mod foreign;
pub mod log_readers;
pub mod mcp;
pub mod person;
pub mod postgres;
pub mod process;
pub mod repository;
