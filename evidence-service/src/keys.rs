//! Signing keys of a project, as `key/v1` entries introduced, retired and revoked them.
//!
//! Promised: a key counts from the entry that introduced it, and no longer from the one that retired or revoked it;
//! its public half is published for ever. A new key shows by `possession` that its secret half is there.
//! Not promised: that the copy of gateway keys in our JWKS is anybody's authority; the gateway publishes its own.

pub(crate) mod change;
pub mod offer;
pub(crate) mod store;

use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Jwk, JwkSet, Purpose};

pub(crate) use store::{KeyRow, all};

/// The JWKS of a project: every key it ever had, with purpose, from and until.
pub(crate) fn document(issuer: &Issuer, rows: &[KeyRow]) -> JwkSet {
    JwkSet { iss: issuer.clone(), keys: rows.iter().map(KeyRow::jwk).collect() }
}

/// Keys of one purpose that count now.
pub(crate) fn in_force(rows: &[KeyRow], purpose: Purpose) -> Vec<Jwk> {
    rows.iter().filter(|row| row.purpose == purpose && row.ended_at.is_none()).map(KeyRow::jwk).collect()
}
