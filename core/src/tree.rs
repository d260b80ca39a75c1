//! The Merkle tree of RFC 6962, section 2.1, over a project's entries.
//!
//!     leaf = SHA-256(0x00 ‖ data)    node = SHA-256(0x01 ‖ left ‖ right)    empty tree = SHA-256("")
//!
//! A tree of n leaves splits at the largest power of two below n. Nodes of complete subtrees are addressed by
//! (level, index): level 0 is the leaves, and (l, i) covers leaves i·2^l to (i+1)·2^l − 1.
//! Promised: whoever holds the root of size n can check that a leaf stands at an index, and that a smaller tree is a
//! prefix. Not promised: that a root is the only one of its size; that takes witnesses and kept checkpoints.

mod frontier;
mod proof;

pub use frontier::{Frontier, FrontierError};
pub use proof::{
    ProofError, consistency_path, inclusion_path, root_of, verify_consistency, verify_inclusion,
};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A node of the tree. Written in standard base64, as in C2SP notes.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Hash([u8; 32]);

impl Hash {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 44 characters of standard base64; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        STANDARD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// The root of the tree without leaves.
    pub fn empty_root() -> Self {
        Self(Sha256::digest(b"").into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a node of a tree")))
    }
}

/// SHA-256(0x00 ‖ data)
pub fn leaf_hash(data: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(data);
    Hash(hasher.finalize().into())
}

/// SHA-256(0x01 ‖ left ‖ right)
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left.0);
    hasher.update(right.0);
    Hash(hasher.finalize().into())
}

#[cfg(test)]
mod tests;
