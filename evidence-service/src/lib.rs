//! The evidence service: ledger, control plane, public pages.

pub mod cluster;
