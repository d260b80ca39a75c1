//! Openings: what reveals the commitments of one decision, sealed to the project's disclosure key.
//!
//! Promised: nobody on our side can open one; the private half never was here.
//!
//!     JWE compact (RFC 7516), {"alg":"ECDH-ES+A256KW","enc":"A256GCM"}, of
//!     {"seed":"<22 characters>","values":{"args":"sha256:…","noun/0":"/notes/a.txt",…},"facts":{…}}

use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::json;
use josekit::jwe::alg::ecdh_es::EcdhEsJweEncrypter;
use josekit::jwe::{ECDH_ES_A256KW, JweHeader, serialize_compact};
use josekit::jwk::Jwk;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The public half of a project's disclosure key, read once: reading it costs as much as sealing under it.
#[derive(Clone, Debug)]
pub struct DisclosureKey(EcdhEsJweEncrypter);

/// Everything that opens one decision. Held only until it is sealed.
pub struct Opening {
    pub seed: OpeningSeed,
    /// What each commitment's value is, by the name it is committed under.
    pub values: BTreeMap<String, String>,
    pub facts: Value,
}

#[derive(Debug, thiserror::Error)]
#[error("opening could not be sealed")]
pub struct NotSealed;

impl DisclosureKey {
    pub fn parse(jwk: &Value) -> Option<Self> {
        let members = jwk.as_object()?;
        let is = |name: &str, value: &str| members.get(name).and_then(Value::as_str) == Some(value);
        // A private half has no business here, and taking it would mean that somebody sent it around.
        if !is("kty", "EC") || !is("crv", "P-256") || members.contains_key("d") {
            return None;
        }
        let jwk = Jwk::from_map(members.clone()).ok()?;
        ECDH_ES_A256KW.encrypter_from_jwk(&jwk).ok().map(Self)
    }
}

impl Opening {
    /// Takes some 200 µs of elliptic curves in OpenSSL: not for the path of a call.
    pub fn seal(&self, key: &DisclosureKey) -> Result<String, NotSealed> {
        let text = json::canonical(&json!({
            "seed": self.seed.dangerous_text(),
            "values": self.values,
            "facts": self.facts,
        }));
        let mut header = JweHeader::new();
        header.set_content_encryption("A256GCM");
        serialize_compact(&text, &header, &key.0).map_err(|_| NotSealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use josekit::jwe::deserialize_compact;
    use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};

    // T4
    #[test]
    fn only_the_disclosure_key_opens_an_opening() {
        let pair = EcKeyPair::generate(EcCurve::P256).expect("a key pair");
        let public = Value::Object(pair.to_jwk_public_key().as_ref().clone());
        let key = DisclosureKey::parse(&public).expect("a public key");
        let opening = Opening {
            seed: OpeningSeed::from_bytes([7; 16]),
            values: [("principal".to_owned(), "u-88".to_owned())].into(),
            facts: json!({"v": 1}),
        };

        let sealed = opening.seal(&key).expect("sealed");

        let decrypter = ECDH_ES_A256KW.decrypter_from_jwk(&pair.to_jwk_private_key()).expect("a decrypter");
        let (text, header) = deserialize_compact(&sealed, &decrypter).expect("opens");
        assert_eq!(header.algorithm(), Some("ECDH-ES+A256KW"));
        assert_eq!(header.content_encryption(), Some("A256GCM"));
        let text: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(text["seed"], "BwcHBwcHBwcHBwcHBwcHBw");
        assert_eq!(text["values"]["principal"], "u-88");
        assert!(!sealed.contains("u-88"));
    }

    #[test]
    fn a_private_or_foreign_key_is_no_disclosure_key() {
        let pair = EcKeyPair::generate(EcCurve::P256).expect("a key pair");
        let private = Value::Object(pair.to_jwk_private_key().as_ref().clone());
        let other = EcKeyPair::generate(EcCurve::P384).expect("a key pair");
        let other = Value::Object(other.to_jwk_public_key().as_ref().clone());

        assert!(DisclosureKey::parse(&private).is_none());
        assert!(DisclosureKey::parse(&other).is_none());
        assert!(DisclosureKey::parse(&json!({"kty": "OKP"})).is_none());
    }
}
