//! `GET /v1/export`: a project's record as it grows, for whoever keeps a copy with the project's key.
//!
//! Promised: entries in order, each batch closed by the signed checkpoint that it reaches; a reader goes on after any
//! seq. Memory and time are bounded by what we send, not by how fast it is read: a slow reader waits for itself.
//! Not promised: that one answer holds everything. It ends after so many entries, or so long; ask again from there.
//! Format: docs/formats/export.md.

pub(crate) mod routes;
mod store;
mod stream;

#[cfg(test)]
pub(crate) use store::ALL;
pub(crate) use stream::Exports;
