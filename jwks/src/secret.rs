//! Named 32-byte secrets beside the signing keys. They never rotate, because what was made with
//! them (pairwise names, sealed session ids) must stay recognisable.

use std::fmt;

use zeroize::Zeroizing;

/// Makes one opaque name per principal and provider.
pub const PAIRWISE_SUB: &str = "pairwise-sub";

/// Seals session ids, so that any replica can read them; keys around held calls are derived from it.
pub const SESSION_SEAL: &str = "session-seal";

/// One named secret. Not Clone, not Serialize, wiped on drop; Debug prints its name alone.
pub struct Secret {
    name: String,
    bytes: Zeroizing<[u8; 32]>,
}

impl Secret {
    pub(crate) fn new(name: &str, bytes: Zeroizing<[u8; 32]>) -> Self {
        Self { name: name.to_owned(), bytes }
    }

    #[must_use]
    pub fn dangerous_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({})", self.name)
    }
}

/// Names are `[a-z][a-z0-9-]{0,31}`: they are bound into the seal.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= 32
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}
