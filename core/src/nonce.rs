//! Sixteen random bytes as 22 unpadded base64url characters: nonces, capability ids, salts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// 128 bits that were drawn at random by whoever made the statement. Public once the statement is.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Nonce16([u8; 16]);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not 16 bytes as 22 base64url characters")]
pub struct NonceError(String);

impl Nonce16 {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Unpadded base64url (RFC 4648, section 5).
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads unpadded base64url; `None` for other alphabets, padding or loose trailing bits.
pub fn unbase64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// As [`unbase64url`], for a known length.
pub fn unbase64url_exact<const N: usize>(text: &str) -> Option<[u8; N]> {
    unbase64url(text)?.try_into().ok()
}

impl FromStr for Nonce16 {
    type Err = NonceError;

    fn from_str(text: &str) -> Result<Self, NonceError> {
        unbase64url_exact(text).map(Self).ok_or_else(|| NonceError(text.to_owned()))
    }
}

impl fmt::Display for Nonce16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url(&self.0))
    }
}

impl fmt::Debug for Nonce16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Nonce16 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Nonce16 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
