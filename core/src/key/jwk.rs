//! JSON Web Keys (RFC 7517, RFC 8037) with three members of our own: purpose, from, until.

use super::{KeyError, PublicKey, Purpose, Thumbprint};
use crate::issuer::Issuer;
use crate::json::{self, JsonError, Profile};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One public key as published. `from` and `until` are the times of the entries that introduced and retired it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Jwk {
    pub kty: String,
    pub crv: String,
    pub x: String,
    pub kid: Thumbprint,
    #[serde(rename = "use")]
    pub usage: String,
    pub alg: String,
    pub purpose: Purpose,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JwkSetError {
    #[error("key set is not JSON: {0}")]
    Json(#[from] JsonError),
    #[error("key set does not read as {{iss, keys}}: {0}")]
    Shape(String),
    #[error("key `{kid}`: {error}")]
    Key { kid: Thumbprint, error: KeyError },
    #[error("key `{0}` is not of kty OKP and crv Ed25519")]
    OtherCurve(Thumbprint),
    #[error("key `{0}` has another thumbprint than its kid")]
    KidIsNotThumbprint(Thumbprint),
    #[error("key `{0}` stands twice")]
    Twice(Thumbprint),
}

impl Jwk {
    pub fn new(key: &PublicKey, purpose: Purpose) -> Self {
        Self {
            kty: "OKP".into(),
            crv: "Ed25519".into(),
            x: key.x(),
            kid: key.thumbprint(),
            usage: "sig".into(),
            alg: purpose.jose_alg().into(),
            purpose,
            from: None,
            until: None,
        }
    }

    #[must_use]
    pub fn valid_from(mut self, from: Timestamp) -> Self {
        self.from = Some(from);
        self
    }

    #[must_use]
    pub fn valid_until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// The key inside, if the JWK says one thing throughout.
    pub fn public_key(&self) -> Result<PublicKey, JwkSetError> {
        if self.kty != "OKP" || self.crv != "Ed25519" {
            return Err(JwkSetError::OtherCurve(self.kid.clone()));
        }
        let key =
            PublicKey::parse(&self.x).map_err(|error| JwkSetError::Key { kid: self.kid.clone(), error })?;
        if key.thumbprint() == self.kid {
            Ok(key)
        } else {
            Err(JwkSetError::KidIsNotThumbprint(self.kid.clone()))
        }
    }
}

/// The keys of one issuer, as in `<iss>/jwks.json`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JwkSet {
    pub iss: Issuer,
    pub keys: Vec<Jwk>,
}

impl JwkSet {
    /// Reads a set and checks every key in it. Members beside ours are allowed, as RFC 7517 wants.
    pub fn parse(text: &[u8]) -> Result<Self, JwkSetError> {
        let value = json::parse(text, Profile::Foreign)?;
        let set: Self = serde_json::from_value(value).map_err(|e| JwkSetError::Shape(e.to_string()))?;
        for (index, key) in set.keys.iter().enumerate() {
            key.public_key()?;
            if set.keys[..index].iter().any(|other| other.kid == key.kid) {
                return Err(JwkSetError::Twice(key.kid.clone()));
            }
        }
        Ok(set)
    }

    /// The key of this id and purpose.
    pub fn find(&self, kid: &Thumbprint, purpose: Purpose) -> Option<&Jwk> {
        self.keys.iter().find(|key| key.kid == *kid && key.purpose == purpose)
    }
}
