//! Commitments: nothing guessable stands in public.
//!
//! A disclosure is base64url of exactly `["<22-char salt>","<name>","<value>"]` (the form of RFC 9901), a commitment is
//! base64url(SHA-256(ASCII of the disclosure)). Salts come from the action's opening seed:
//! salt(name) = first 16 bytes of HMAC-SHA-256(seed, name). `args`, `result`, `error` and `charged` are salted from the
//! provider seed, HMAC-SHA-256(seed, "provider")[..16], which travels in the capability, so that both sides commit alike
//! and no provider can test guesses at `principal` or `facts`.

use crate::digest::Digest;
use crate::json::{canonical, canonical_text};
use crate::nonce::{Nonce16, base64url, unbase64url, unbase64url_exact};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroize as _;

/// HMAC-SHA-256 (RFC 2104).
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length (RFC 2104)");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

fn first_sixteen(bytes: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&bytes[..16]);
    half
}

macro_rules! seeds {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name([u8; 16]);

        impl $name {
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The salt of one name of this seed.
            pub fn salt(&self, name: &str) -> Nonce16 {
                Nonce16::from_bytes(first_sixteen(hmac_sha256(&self.0, name.as_bytes())))
            }

            /// Commits to a short string, or to what [`document_value`] says of a document.
            pub fn commit(&self, name: &str, value: &str) -> Disclosure {
                Disclosure {
                    salt: self.salt(name),
                    name: name.to_owned(),
                    value: value.to_owned(),
                }
            }

            /// The seed as 22 base64url characters, to be sealed to the vendor or put into a capability.
            pub fn dangerous_text(&self) -> String {
                base64url(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }
    )*};
}

seeds! {
    /// 128 random bits of one action. Opens every commitment of the action; known to the gateway and the vendor.
    OpeningSeed;
    /// Opens `args`, `result`, `error` and `charged` of one action; known to the provider too.
    ProviderSeed;
}

impl OpeningSeed {
    pub fn provider(&self) -> ProviderSeed {
        ProviderSeed(first_sixteen(hmac_sha256(&self.0, b"provider")))
    }
}

/// What a document counts as inside a commitment: `sha256:<hex of SHA-256(JCS)>`.
pub fn document_value(document: &Value) -> String {
    Digest::of(&canonical(document)).to_string()
}

/// Salt, name and value of one commitment: what opens it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Disclosure {
    salt: Nonce16,
    name: String,
    value: String,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CommitmentError {
    #[error("`{0}` is not a disclosure")]
    NotADisclosure(String),
    #[error("`{0}` is not a commitment of 43 base64url characters")]
    NotACommitment(String),
}

impl Disclosure {
    pub fn parse(text: &str) -> Result<Self, CommitmentError> {
        let refuse = || CommitmentError::NotADisclosure(text.to_owned());
        let json = unbase64url(text).ok_or_else(refuse)?;
        let (salt, name, value): (Nonce16, String, String) =
            serde_json::from_slice(&json).map_err(|_| refuse())?;
        let disclosure = Self { salt, name, value };
        // One spelling only, or two disclosures would open one commitment.
        if disclosure.to_string() == text { Ok(disclosure) } else { Err(refuse()) }
    }

    pub fn salt(&self) -> &Nonce16 {
        &self.salt
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    pub fn commitment(&self) -> Commitment {
        Commitment(Sha256::digest(self.to_string().as_bytes()).into())
    }
}

impl fmt::Display for Disclosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = (self.salt.to_string(), &self.name, &self.value);
        f.write_str(&base64url(canonical_text(&parts).as_bytes()))
    }
}

/// A salted digest that stands in a public statement.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Commitment([u8; 32]);

impl FromStr for Commitment {
    type Err = CommitmentError;

    fn from_str(text: &str) -> Result<Self, CommitmentError> {
        unbase64url_exact(text).map(Self).ok_or_else(|| CommitmentError::NotACommitment(text.to_owned()))
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url(&self.0))
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Commitment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Commitment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
