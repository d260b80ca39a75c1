//! What the holder brings. Nothing inside a package adds to it.

use crate::digest::Digest;
use crate::id::ProviderId;
use crate::receipt;

/// What a provider's entry in one registry says about signing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Promise {
    /// `signs = true`, and how many milliseconds it has.
    Signs {
        within: i64,
    },
    Nothing,
}

/// Pinned keys, and what was kept from before.
pub struct Trust<'h> {
    /// Ours, and those providers' keys (purpose `execution`) that the holder got from the providers themselves.
    pub keys: &'h receipt::Trust,
    /// A checkpoint that the holder kept: the record must pass through it.
    pub since: Option<&'h str>,
    /// Receipts that the holder kept: each must stand in its place.
    pub held: &'h [Vec<u8>],
    /// Reads a registry's text, by the digest that the chain names; `None` where it is not at hand.
    pub registry: &'h dyn Fn(&Digest, &ProviderId) -> Option<Promise>,
}
