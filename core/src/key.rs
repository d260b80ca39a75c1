//! Keys: Ed25519 (RFC 8032), one key, one purpose.
//!
//! Promised: a public key that exists is on the curve, canonical and of large order; a signature counts only if
//! `verify_strict` says so. A secret key cannot be printed, cloned or serialised.
//! The identity of a key is its RFC 7638 thumbprint. As a JWK it reads
//!
//!     {"kty":"OKP","crv":"Ed25519","x":"…","kid":"<thumbprint>","use":"sig","alg":"Ed25519","purpose":"decision"}

mod jwk;
mod secret;

pub use jwk::{Jwk, JwkSet, JwkSetError};
pub use secret::{Capability, Decision, Execution, KeyPurpose, Ledger, Log, SigningKey};

use crate::nonce::{base64url, unbase64url_exact};
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// What a key may sign. A signature by a key of another purpose is no signature.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    Decision,
    Capability,
    Ledger,
    Log,
    Tick,
    Witness,
    Execution,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Capability => "capability",
            Self::Ledger => "ledger",
            Self::Log => "log",
            Self::Tick => "tick",
            Self::Witness => "witness",
            Self::Execution => "execution",
        }
    }

    /// The JOSE name: JOSE libraries compare `alg` with a token's header, which says `EdDSA`; elsewhere RFC 9864's
    /// `Ed25519`.
    pub fn jose_alg(self) -> &'static str {
        match self {
            Self::Capability => "EdDSA",
            Self::Decision | Self::Ledger | Self::Log | Self::Tick | Self::Witness | Self::Execution => {
                "Ed25519"
            }
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyError {
    #[error("`{0}` is not 32 bytes as base64url")]
    NotAKey(String),
    #[error("key is not a canonical point of the curve")]
    NotAPoint,
    #[error("key is of small order: signatures under it prove nothing")]
    SmallOrder,
    #[error("`{0}` is not an RFC 7638 thumbprint")]
    NotAThumbprint(String),
}

/// The RFC 7638 thumbprint of a key: SHA-256 as 43 base64url characters.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Thumbprint(String);

impl Thumbprint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Thumbprint {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        unbase64url_exact::<32>(text)
            .map(|_| Self(text.to_owned()))
            .ok_or_else(|| KeyError::NotAThumbprint(text.to_owned()))
    }
}

impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Thumbprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Thumbprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The signature does not hold under this key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("signature does not hold")]
pub struct BadSignature;

/// A public key that can be believed in: canonical, on the curve, of large order.
#[derive(Clone, Eq, PartialEq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads the `x` of a JWK.
    pub fn parse(x: &str) -> Result<Self, KeyError> {
        let bytes = unbase64url_exact(x).ok_or_else(|| KeyError::NotAKey(x.to_owned()))?;
        Self::from_bytes(bytes)
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotAPoint)?;
        // dalek accepts some non-canonical spellings of y; two spellings would be two thumbprints of one key.
        if key.to_edwards().compress().to_bytes() != bytes {
            return Err(KeyError::NotAPoint);
        }
        if key.is_weak() {
            return Err(KeyError::SmallOrder);
        }
        Ok(Self(key))
    }

    pub fn bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The `x` of a JWK.
    pub fn x(&self) -> String {
        base64url(&self.bytes())
    }

    /// Strict verification: S below the group order, R and the key of large order, no cofactor.
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), BadSignature> {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).map_err(|_| BadSignature)
    }

    /// RFC 7638, with the members of RFC 8037, section 2.
    pub fn thumbprint(&self) -> Thumbprint {
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.x());
        Thumbprint(base64url(&Sha256::digest(members.as_bytes())))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

#[cfg(test)]
mod tests;
