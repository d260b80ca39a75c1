//! Public keys over time, and the JWKS that publishes them.
//!
//! A key that was ever used stays for ever: old receipts are checked with it.
//! `until` is there once the key signs nothing new.
//!
//!     {"iss":"https://<host>/p/<slot>-<id>","keys":[{"kty":"OKP","crv":"Ed25519","x":"…","kid":"…","use":"sig",
//!       "alg":"Ed25519","purpose":"decision","from":"…"}]}

use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Jwk, JwkSet, PublicKey, Purpose};
use counterfoil_core::time::Timestamp;

/// One public key with the time in which new statements were signed by it.
#[derive(Clone, Debug)]
pub struct PublishedKey {
    pub purpose: Purpose,
    pub public: PublicKey,
    pub from: Timestamp,
    pub until: Option<Timestamp>,
}

impl PublishedKey {
    #[must_use]
    pub fn to_jwk(&self) -> Jwk {
        let jwk = Jwk::new(&self.public, self.purpose).valid_from(self.from);
        match self.until {
            Some(until) => jwk.valid_until(until),
            None => jwk,
        }
    }
}

/// The JWKS of one project: its issuer and these keys, in the order given.
#[must_use]
pub fn document(iss: &Issuer, keys: &[PublishedKey]) -> JwkSet {
    JwkSet { iss: iss.clone(), keys: keys.iter().map(PublishedKey::to_jwk).collect() }
}
