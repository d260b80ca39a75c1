//! Openings: what reveals the commitments of one decision or session, sealed to the project's disclosure key.
//!
//! Promised: nobody on our side can open one; the private half never was here.
//!
//!     JWE compact (RFC 7516), {"alg":"ECDH-ES+A256KW","enc":"A256GCM"}, of
//!     {"seed":"<22 characters>","values":{"args":"sha256:…","noun/0":"/notes/a.txt",…},"facts":{…}}

mod jwe;

use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::json;
use counterfoil_core::nonce::unbase64url_exact;
use serde_json::Value;
use std::collections::BTreeMap;

/// The public half of a project's disclosure key: a point of P-256, x and y.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DisclosureKey {
    x: [u8; 32],
    y: [u8; 32],
}

/// Everything that opens one decision. Held only until it is sealed.
pub struct Opening {
    pub seed: OpeningSeed,
    /// What each commitment's value is, by the name it is committed under.
    pub values: BTreeMap<String, String>,
    /// The canonical bytes of the document that goes with them: the facts of a decision, what declared a session.
    pub facts: Vec<u8>,
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
        let coordinate = |name| members.get(name).and_then(Value::as_str).and_then(unbase64url_exact);
        let key = Self { x: coordinate("x")?, y: coordinate("y")? };
        jwe::is_on_curve(&key).then_some(key)
    }
}

impl Opening {
    /// Takes some 100 µs of elliptic curves: not for the path of a call.
    pub fn seal(&self, key: &DisclosureKey) -> Result<String, NotSealed> {
        let mut text = br#"{"facts":"#.to_vec();
        text.extend_from_slice(&self.facts);
        let seed = self.seed.dangerous_text();
        text.extend_from_slice(format!(r#","seed":"{seed}","values":"#).as_bytes());
        text.extend(json::canonical(&self.values));
        text.push(b'}');
        jwe::seal(text, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use josekit::jwe::{ECDH_ES_A256KW, deserialize_compact};
    use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
    use serde_json::json;

    // T4
    #[test]
    fn only_the_disclosure_key_opens_an_opening() {
        let pair = EcKeyPair::generate(EcCurve::P256).expect("a key pair");
        let public = Value::Object(pair.to_jwk_public_key().as_ref().clone());
        let key = DisclosureKey::parse(&public).expect("a public key");
        let opening = Opening {
            seed: OpeningSeed::from_bytes([7; 16]),
            values: [("principal".to_owned(), "u-88".to_owned())].into(),
            facts: br#"{"v":1}"#.to_vec(),
        };

        let sealed = opening.seal(&key).expect("sealed");

        let decrypter = ECDH_ES_A256KW.decrypter_from_jwk(&pair.to_jwk_private_key()).expect("a decrypter");
        let (text, header) = deserialize_compact(&sealed, &decrypter).expect("opens");
        assert_eq!(header.algorithm(), Some("ECDH-ES+A256KW"));
        assert_eq!(header.content_encryption(), Some("A256GCM"));
        let text: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(text["seed"], "BwcHBwcHBwcHBwcHBwcHBw");
        assert_eq!(text["values"]["principal"], "u-88");
        assert_eq!(text["facts"], json!({"v": 1}));
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
        let mut off_curve = pair.to_jwk_public_key().as_ref().clone();
        off_curve.insert("y".to_owned(), off_curve["x"].clone());
        assert!(DisclosureKey::parse(&Value::Object(off_curve)).is_none());
        assert!(DisclosureKey::parse(&json!({"kty": "OKP"})).is_none());
    }
}
