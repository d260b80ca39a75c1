//! Where a provider's key came from: the key set that was fetched at its import, and never again.
//!
//!     "source":{"url":"https://keys.example/jwks.json","host":"keys.example","at":"…","digest":"sha256:…"}
//!
//! It stands in `key/v1` only where a key was fetched; where one was pasted, or is ours, the member is absent.

use crate::digest::Digest;
use crate::id::IdError;
use crate::issuer::Host;
use crate::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeySource {
    pub url: PublicUrl,
    #[serde(with = "host_text")]
    pub host: Host,
    pub at: Timestamp,
    /// Digest of the bytes that came.
    pub digest: Digest,
}

/// HTTPS, at most 500 characters, without user, query or fragment: what is public for ever has no room for a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PublicUrl(String);

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._~:/%!$&'()*+,;=-".contains(&b);
        match text.strip_prefix("https://") {
            Some(rest) if (1..=500).contains(&rest.len()) && rest.bytes().all(allowed) => {
                Ok(Self(text.to_owned()))
            }
            Some(_) | None => Err(IdError::new(text, "an https URL without user, query or fragment")),
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for PublicUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PublicUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A member that may be absent and, where it is there, is not null: one spelling for one meaning.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

mod host_text {
    use crate::issuer::Host;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(host: &Host, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(host)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Host, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
