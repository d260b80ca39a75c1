//! Who speaks for a project: `https://<host>/p/<slot>-<public id>`.
//!
//! One string serves as issuer, as page address and, without its scheme, as the origin of the project's log. The
//! slot is the project's place in every tick, so that nobody can give one project two places.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The host in an identity, chosen once at init: lower-case, no port.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Host(String);

/// The random part of a project's public name: 8 characters a-z 0-9.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PublicId(String);

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Issuer {
    host: Host,
    slot: u64,
    public_id: PublicId,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum IssuerError {
    #[error("`{0}` is not a host name in lower case without a port")]
    NotAHost(String),
    #[error("`{0}` is not a public id of 8 characters a-z 0-9")]
    NotAPublicId(String),
    #[error("`{0}` is not an issuer like https://<host>/p/<slot>-<public id>")]
    NotAnIssuer(String),
}

impl FromStr for Host {
    type Err = IssuerError;

    fn from_str(text: &str) -> Result<Self, IssuerError> {
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        };
        if text.len() <= 253 && text.split('.').all(label) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IssuerError::NotAHost(text.to_owned()))
        }
    }
}

impl FromStr for PublicId {
    type Err = IssuerError;

    fn from_str(text: &str) -> Result<Self, IssuerError> {
        let allowed = |b| matches!(b, b'a'..=b'z' | b'0'..=b'9');
        if text.len() == 8 && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IssuerError::NotAPublicId(text.to_owned()))
        }
    }
}

impl PublicId {
    /// Spells 8 random bytes with 32 letters and digits, leaving out those that look alike (40 bits).
    pub fn from_random(bytes: [u8; 8]) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        Self(bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)])).collect())
    }
}

impl Issuer {
    pub fn new(host: Host, slot: u64, public_id: PublicId) -> Self {
        Self { host, slot, public_id }
    }

    /// The log's origin: the issuer without its scheme.
    pub fn origin(&self) -> String {
        format!("{}{}", self.host, self.page_path())
    }

    /// `/p/<slot>-<public id>`
    pub fn page_path(&self) -> String {
        format!("/p/{}", self.name())
    }

    /// `<slot>-<public id>`
    pub fn name(&self) -> String {
        format!("{}-{}", self.slot, self.public_id)
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn slot(&self) -> u64 {
        self.slot
    }

    pub fn public_id(&self) -> &PublicId {
        &self.public_id
    }
}

impl FromStr for Issuer {
    type Err = IssuerError;

    fn from_str(text: &str) -> Result<Self, IssuerError> {
        let refuse = || IssuerError::NotAnIssuer(text.to_owned());
        let rest = text.strip_prefix("https://").ok_or_else(refuse)?;
        let (host, name) = rest.split_once("/p/").ok_or_else(refuse)?;
        let (slot, public_id) = name.split_once('-').ok_or_else(refuse)?;
        let issuer = Self {
            host: host.parse()?,
            slot: slot.parse().map_err(|_| refuse())?,
            public_id: public_id.parse()?,
        };
        // Only one spelling: no leading zeros or signs in the slot.
        if issuer.to_string() == text { Ok(issuer) } else { Err(refuse()) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PublicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.origin())
    }
}

impl Serialize for Issuer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Issuer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_has_one_spelling() {
        let text = "https://gw.example/p/7-k3m9q2v8";
        let issuer: Issuer = text.parse().expect("good issuer");
        assert_eq!(issuer.to_string(), text);
        assert_eq!(issuer.origin(), "gw.example/p/7-k3m9q2v8");
        assert_eq!(issuer.page_path(), "/p/7-k3m9q2v8");

        for bad in [
            "http://gw.example/p/7-k3m9q2v8",
            "https://GW.example/p/7-k3m9q2v8",
            "https://gw.example:443/p/7-k3m9q2v8",
            "https://gw.example/p/07-k3m9q2v8",
            "https://gw.example/p/+7-k3m9q2v8",
            "https://gw.example/p/7-k3m9q2v8/",
            "https://gw.example/p/7-K3M9Q2V8",
            "https://gw..example/p/7-k3m9q2v8",
        ] {
            assert!(bad.parse::<Issuer>().is_err(), "{bad}");
        }
    }
}
