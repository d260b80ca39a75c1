//! The disclosure key: openings of a project are sealed to it, so its private half goes to the
//! vendor and nobody else keeps it.
//!
//! P-256 (ECDH-ES), as JWK.

use anyhow::Context;
use josekit::jwe::alg::ecdh_es::EcdhEsJweDecrypter;
use josekit::jwe::{ECDH_ES_A256KW, deserialize_compact};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use zeroize::Zeroizing;

/// A fresh pair: the private JWK as it is handed over, and the public members that are published.
pub struct DisclosurePair {
    private: Zeroizing<String>,
    x: String,
    y: String,
}

impl DisclosurePair {
    pub fn mint() -> anyhow::Result<Self> {
        let pair = EcKeyPair::generate(EcCurve::P256).context("no disclosure key could be made")?;
        let private =
            Zeroizing::new(format!("{:#}\n", serde_json::Value::from_iter(private_members(&pair)?)));
        let public = pair.to_jwk_public_key();
        Ok(Self { private, x: member(&public, "x")?, y: member(&public, "y")? })
    }

    /// The private JWK, to be written once into the vendor's hands.
    pub fn dangerous_private_jwk(&self) -> &str {
        &self.private
    }

    pub fn x(&self) -> &str {
        &self.x
    }

    pub fn y(&self) -> &str {
        &self.y
    }
}

/// The private half, as its holder reads sealed openings with it.
pub struct DisclosureKey(EcdhEsJweDecrypter);

impl DisclosureKey {
    pub fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let jwk = Jwk::from_bytes(text).context("not a JWK")?;
        let decrypter =
            ECDH_ES_A256KW.decrypter_from_jwk(&jwk).context("not the private half of a P-256 key")?;
        Ok(Self(decrypter))
    }

    /// `None` if it is sealed to another key, otherwise than an opening is, or was changed.
    pub fn open(&self, jwe: &str) -> Option<Zeroizing<Vec<u8>>> {
        let (opened, header) = deserialize_compact(jwe, &self.0).ok()?;
        // Compression would let a small opening become any size.
        let plain = header.compression().is_none() && header.content_encryption() == Some("A256GCM");
        plain.then(|| Zeroizing::new(opened))
    }
}

fn private_members(pair: &EcKeyPair) -> anyhow::Result<Vec<(String, serde_json::Value)>> {
    let private = pair.to_jwk_key_pair();
    let mut members = vec![
        ("kty".to_owned(), "EC".into()),
        ("crv".to_owned(), "P-256".into()),
        ("use".to_owned(), "enc".into()),
    ];
    for name in ["x", "y", "d"] {
        members.push((name.to_owned(), member(&private, name)?.into()));
    }
    Ok(members)
}

fn member(jwk: &Jwk, name: &str) -> anyhow::Result<String> {
    let value = jwk.parameter(name).and_then(|value| value.as_str());
    Ok(value.with_context(|| format!("the disclosure key has no `{name}`"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use josekit::jwe::{JweHeader, serialize_compact};

    use super::*;

    #[test]
    fn what_is_sealed_to_the_published_half_opens_with_the_one_handed_over() {
        let pair = DisclosurePair::mint().unwrap();
        let public = format!(r#"{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#, pair.x(), pair.y());
        let encrypter = ECDH_ES_A256KW.encrypter_from_jwk(&Jwk::from_bytes(public).unwrap()).unwrap();
        let mut header = JweHeader::new();
        header.set_content_encryption("A256GCM");
        let sealed = serialize_compact(b"an opening", &header, &encrypter).unwrap();

        let private = Jwk::from_bytes(pair.dangerous_private_jwk()).unwrap();
        let opener = DisclosureKey::parse(pair.dangerous_private_jwk().as_bytes()).unwrap();
        assert_eq!(opener.open(&sealed).unwrap().as_slice(), b"an opening");
        let other = DisclosureKey::parse(DisclosurePair::mint().unwrap().dangerous_private_jwk().as_bytes());
        assert!(other.unwrap().open(&sealed).is_none());
        assert!(
            !format!("{}{}", pair.x(), pair.y()).contains(private.parameter("d").unwrap().as_str().unwrap())
        );
    }
}
