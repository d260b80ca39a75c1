//! Counterfoil's formats and rules: everything a stranger needs to check the record with no network.
//!
//! Promised: pure functions. No input or output, no clock, no randomness; time and chance are arguments.
//! Not promised: that a statement is true. A signature says who made it, a place in the log says when it was numbered.
//!
//! The bytes are described in docs/formats, with vectors in docs/vectors.

pub mod audit;
pub mod capability;
pub mod catalog;
pub mod checkpoint;
pub mod commitment;
pub mod control;
pub mod declared;
pub mod definition;
pub mod digest;
pub mod entry;
pub mod envelope;
pub mod execution;
pub mod export;
pub mod hold;
pub mod id;
pub mod issuer;
pub mod json;
pub mod key;
pub mod nonce;
pub mod note;
pub mod package;
pub mod probe;
pub mod projection;
pub mod receipt;
pub mod reconcile;
pub mod record;
pub mod session;
pub mod statement;
pub mod time;
pub mod tree;
pub mod verdict;
