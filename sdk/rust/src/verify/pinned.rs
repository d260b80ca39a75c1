//! Keys that somebody decided to trust.
//!
//! Promised: a key in a set is what it says it is, or the whole set pins nothing. A key counts for one purpose alone.
//! Not promised: that the set came from whom you think. Fetch it once over HTTPS, keep it, and name it.

use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{JwkSet, JwkSetError, PublicKey, Purpose, Thumbprint};
use counterfoil_core::receipt::Trust;
use counterfoil_core::time::Timestamp;

/// One key of a set.
#[derive(Clone, Debug)]
pub struct PinnedKey {
    kid: Thumbprint,
    purpose: Purpose,
    key: PublicKey,
    until: Option<Timestamp>,
}

impl PinnedKey {
    /// RFC 7638 thumbprint.
    #[must_use]
    pub fn kid(&self) -> &Thumbprint {
        &self.kid
    }

    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// When it was retired.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }
}

/// A JWKS with its issuer, as in `<iss>/jwks.json`.
#[derive(Clone, Debug)]
pub struct KeySet {
    set: JwkSet,
    trust: Trust,
    keys: Vec<PinnedKey>,
}

impl KeySet {
    /// Reads a set that you decided to trust.
    pub fn parse(text: &[u8]) -> Result<Self, JwkSetError> {
        Self::from_set(JwkSet::parse(text)?)
    }

    pub(super) fn from_set(set: JwkSet) -> Result<Self, JwkSetError> {
        let pinned = |jwk: &counterfoil_core::key::Jwk| {
            let (kid, purpose, until) = (jwk.kid.clone(), jwk.purpose, jwk.until);
            jwk.public_key().map(|key| PinnedKey { kid, purpose, key, until })
        };
        let keys = set.keys.iter().map(pinned).collect::<Result<_, _>>()?;
        Ok(Self { trust: Trust::from_set(set.clone())?, set, keys })
    }

    /// `https://<host>/p/<slot>-<public id>`
    #[must_use]
    pub fn issuer(&self) -> &Issuer {
        &self.set.iss
    }

    #[must_use]
    pub fn by_kid(&self, kid: &Thumbprint) -> Option<&PinnedKey> {
        self.keys.iter().find(|key| key.kid == *kid)
    }

    pub(super) fn set(&self) -> &JwkSet {
        &self.set
    }

    pub(crate) fn trust(&self) -> &Trust {
        &self.trust
    }
}
