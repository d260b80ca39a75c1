//! A vendor's own list of what its tools do: `PUT /v1/tool-catalog`, as it arrives and as `received/v1` holds it.
//!
//! Promised: bytes that read have one reading, and the digest names what was stated, whoever signed it and when. Not promised:
//! that a tool does what its entry says. It is the vendor's word: a registry may take it as a source, and calls it `catalogued`.
//!
//!     {"v":1,"tools":[{"name":"send","aliases":["SEND"],"signals":{"op":"send","destination":"external"}}],
//!      "signature":{"kid":"k1","alg":"Ed25519","value":"<base64url>"}}
//!
//! The signature is over JCS of the body without `signature`; `catalog_hash` is the digest of the same bytes.

use crate::digest::Digest;
use crate::envelope::SignatureBytes;
use crate::json::{self, JsonError, Profile, canonical};
use crate::key::{BadSignature, PublicKey};
use crate::statement::{DataClass, Destination, Operation, Reversibility, VendorSignature};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Largest catalogue, in bytes: some eight hundred tools.
pub const MAX_CATALOG: usize = 96 * 1024;
const MAX_NAME: usize = 256;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CatalogError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("catalogue does not read: {0}")]
    Shape(String),
    #[error("`{0}` is stated twice")]
    Twice(String),
    #[error("a name has 1 to {MAX_NAME} bytes")]
    Name,
}

/// A catalogue that was read; its signature is not yet believed.
#[derive(Clone, Debug)]
pub struct Catalog {
    tools: Vec<CatalogTool>,
    kid: String,
    signed: Vec<u8>,
    signature: SignatureBytes,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CatalogTool {
    /// As it arrives on an action, byte for byte.
    pub name: String,
    /// Other names under which the same tool arrived.
    #[serde(default)]
    pub aliases: Vec<String>,
    pub signals: CatalogSignals,
    pub provider: Option<String>,
    pub server: Option<String>,
}

/// Absent is not claimed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CatalogSignals {
    pub op: Option<Operation>,
    pub data_class: Option<DataClass>,
    pub destination: Option<Destination>,
    pub reversible: Option<bool>,
    /// Wins over `reversible`.
    pub reversibility: Option<Reversibility>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    v: u8,
    tools: Vec<CatalogTool>,
}

impl Catalog {
    pub fn parse(bytes: &[u8]) -> Result<Self, CatalogError> {
        let shape = |error: serde_json::Error| CatalogError::Shape(error.to_string());
        let mut body = json::parse_within(bytes, Profile::Foreign, MAX_CATALOG)?;
        let signature = body.as_object_mut().and_then(|members| members.remove("signature"));
        let signature = signature.ok_or_else(|| CatalogError::Shape("no `signature`".to_owned()))?;
        let signature: VendorSignature = serde_json::from_value(signature).map_err(shape)?;
        let Body { v, tools } = Body::deserialize(&body).map_err(shape)?;
        if v != 1 {
            return Err(CatalogError::Shape(format!("version {v}")));
        }
        let mut names = BTreeSet::new();
        for tool in &tools {
            let mut all = tool.aliases.iter().chain([&tool.name]);
            if !all.all(|name| (1..=MAX_NAME).contains(&name.len())) {
                return Err(CatalogError::Name);
            }
            if !names.insert(&tool.name) {
                return Err(CatalogError::Twice(tool.name.clone()));
            }
        }
        let signed = canonical(&body);
        Ok(Self { tools, kid: signature.kid, signed, signature: signature.value })
    }

    pub fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    /// The key id as it was sent: an alias.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// `catalog_hash`: the same facts have the same, whoever signs them.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.signed)
    }

    pub fn verify(&self, key: &PublicKey) -> Result<(), BadSignature> {
        key.verify(&self.signed, &self.signature.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(body: &str) -> String {
        let value = crate::nonce::base64url(&[0; 64]);
        let end = body.strip_suffix('}').expect("an object");
        format!(r#"{end},"signature":{{"kid":"k1","alg":"Ed25519","value":"{value}"}}}}"#)
    }

    #[test]
    fn what_is_stated_has_one_digest_however_it_is_written() {
        let one =
            Catalog::parse(signed(r#"{"v":1,"tools":[{"name":"send","signals":{"op":"send"}}]}"#).as_bytes());
        let other = Catalog::parse(
            signed(r#"{ "tools":[{"signals":{"op":"send"},"name":"send"}], "v":1}"#).as_bytes(),
        );

        let (one, other) = (one.expect("reads"), other.expect("reads"));

        assert_eq!(one.digest(), other.digest());
        assert_eq!((one.tools().len(), one.kid()), (1, "k1"));
    }

    #[test]
    fn what_states_one_tool_twice_or_anything_unknown_does_not_read() {
        let refused = [
            r#"{"v":1,"tools":[{"name":"a","signals":{}},{"name":"a","signals":{}}]}"#,
            r#"{"v":1,"tools":[{"name":"","signals":{}}]}"#,
            r#"{"v":1,"tools":[{"name":"a","aliases":[""],"signals":{}}]}"#,
            r#"{"v":1,"tools":[{"name":"a","signals":{"amount":3}}]}"#,
            r#"{"v":1,"tools":[{"name":"a","signals":{"op":"dance"}}]}"#,
            r#"{"v":1,"tools":[{"name":"a"}]}"#,
            r#"{"v":2,"tools":[]}"#,
            r#"{"v":1,"tools":[],"more":1}"#,
        ];

        for body in refused {
            assert!(Catalog::parse(signed(body).as_bytes()).is_err(), "{body}");
        }
        assert!(Catalog::parse(br#"{"v":1,"tools":[]}"#).is_err());
        assert!(Catalog::parse(signed(r#"{"v":1,"tools":[]}"#).as_bytes()).is_ok());
    }
}
