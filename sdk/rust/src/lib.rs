//! For providers that execute nothing without a fresh capability, and for vendors that take silence for a no and keep
//! their receipts.
//!
//! One table of contents, the same in every language: docs in the README beside this package. [`formats`] are the types
//! of what travels; whatever they say is checked by them alone, with no network.

pub mod capability;
pub mod execution;
pub mod fetch;
pub mod receipts;
pub mod servers;
#[cfg(feature = "verdict")]
pub mod verdict;
pub mod verify;

mod chance;
pub mod clock;

pub use counterfoil_core as formats;
