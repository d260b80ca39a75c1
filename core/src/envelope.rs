//! The signed envelope.
//!
//!     {"payload":{"typ":"decision/v1", …},"signature":{"alg":"Ed25519","kid":"<RFC 7638 thumbprint>","sig":"<base64url>"}}
//!
//! The signature is Ed25519 over JCS(payload); `typ` is inside the signed bytes. The digest of an envelope is
//! SHA-256(JCS(whole envelope)), so the chain covers the signature too.

use crate::digest::Digest;
use crate::json::{self, JsonError, JsonReason, MAX_STRICT, Profile, canonical};
use crate::key::{BadSignature, KeyPurpose, PublicKey, SigningKey, Thumbprint};
use crate::nonce::{base64url, unbase64url_exact};
use crate::statement::{Statement, StatementError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::ops::Range;

/// Largest `received/v1` envelope in bytes: a megabyte of somebody else's bytes, in base64url, and its wrapper.
pub const MAX_RECEIVED: usize = 1536 * 1024;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureBlock {
    pub alg: Alg,
    pub kid: Thumbprint,
    pub sig: SignatureBytes,
}

/// The one algorithm.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Alg {
    Ed25519,
}

/// 64 bytes as base64url.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SignatureBytes(pub [u8; 64]);

impl Serialize for SignatureBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64url(&self.0))
    }
}

impl<'de> Deserialize<'de> for SignatureBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unbase64url_exact(&text)
            .map(Self)
            .ok_or_else(|| D::Error::custom("signature is not 64 bytes as base64url"))
    }
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EnvelopeError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("envelope does not read as {{payload, signature}}: {0}")]
    Shape(String),
    #[error("payload has no `typ`")]
    NoType,
}

/// An envelope as it arrived: strictly parsed, its signature not yet checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Envelope {
    payload: Value,
    signature: SignatureBlock,
    /// JCS of the whole, and where JCS(payload) stands in it: asked for again and again, so written once.
    bytes: Vec<u8>,
    payload_at: Range<usize>,
}

const BEFORE_PAYLOAD: &[u8] = br#"{"payload":"#;
const BEFORE_SIGNATURE: &[u8] = br#","signature":"#;

/// JCS of an envelope from JCS(payload): `payload` sorts before `signature`.
fn whole(payload: &[u8], signature: &SignatureBlock) -> Vec<u8> {
    let mut text = Vec::with_capacity(payload.len() + 256);
    text.extend_from_slice(BEFORE_PAYLOAD);
    text.extend_from_slice(payload);
    text.extend_from_slice(BEFORE_SIGNATURE);
    text.extend(canonical(signature));
    text.push(b'}');
    text
}

impl Envelope {
    pub fn parse(text: &[u8]) -> Result<Self, EnvelopeError> {
        let value = json::parse_within(text, Profile::Strict, MAX_RECEIVED)?;
        let envelope = Self::from_value(value)?;
        let limit = match envelope.typ()? {
            "received/v1" => MAX_RECEIVED,
            _ => MAX_STRICT,
        };
        if envelope.payload_bytes().len() > limit {
            return Err(JsonError::at("$.payload".into(), JsonReason::TooLarge(limit)).into());
        }
        Ok(envelope)
    }

    /// The envelope of a text that came through the strict parser.
    pub(crate) fn from_value(value: Value) -> Result<Self, EnvelopeError> {
        let shape = |why: String| EnvelopeError::Shape(why);
        let Value::Object(mut members) = value else { return Err(shape("not an object".to_owned())) };
        let mut member = |name: &str| {
            members.remove(name).ok_or_else(|| EnvelopeError::Shape(format!("missing field `{name}`")))
        };
        // Taken out as it is: serde would build the payload's maps once more.
        let (payload, signature) = (member("payload")?, member("signature")?);
        if let Some(name) = members.keys().next() {
            return Err(shape(format!("unknown field `{name}`")));
        }
        let signature: SignatureBlock =
            serde_json::from_value(signature).map_err(|error| shape(error.to_string()))?;
        let signed = json::canonical_value(&payload);
        let payload_at = BEFORE_PAYLOAD.len()..BEFORE_PAYLOAD.len() + signed.len();
        Ok(Self { bytes: whole(&signed, &signature), payload, signature, payload_at })
    }

    pub fn typ(&self) -> Result<&str, EnvelopeError> {
        self.payload.get("typ").and_then(Value::as_str).ok_or(EnvelopeError::NoType)
    }

    pub fn payload(&self) -> &Value {
        &self.payload
    }

    pub fn kid(&self) -> &Thumbprint {
        &self.signature.kid
    }

    pub(crate) fn signature(&self) -> SignatureBytes {
        self.signature.sig
    }

    /// JCS(payload): what is signed.
    pub fn payload_bytes(&self) -> &[u8] {
        &self.bytes[self.payload_at.clone()]
    }

    /// JCS of the whole envelope: the body of an entry.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    pub fn verify(&self, key: &PublicKey) -> Result<(), BadSignature> {
        key.verify(self.payload_bytes(), &self.signature.sig.0)
    }

    /// The payload as the statement its `typ` says it is, every member present and none beside.
    pub fn statement(&self) -> Result<Statement, StatementError> {
        Statement::from_payload(&self.payload)
    }
}

/// A statement that we signed or whose signature was checked.
#[derive(Clone, Debug)]
pub struct Signed<T> {
    payload: T,
    bytes: Vec<u8>,
    digest: Digest,
    kid: Thumbprint,
}

impl<T: Serialize> Signed<T> {
    pub fn sign<P: KeyPurpose>(payload: T, key: &SigningKey<P>) -> Self {
        let signed = canonical(&payload);
        let sig = SignatureBytes(key.sign(&signed));
        let signature = SignatureBlock { alg: Alg::Ed25519, kid: key.kid().clone(), sig };
        let bytes = whole(&signed, &signature);
        Self { digest: Digest::of(&bytes), kid: key.kid().clone(), payload, bytes }
    }
}

impl<T> Signed<T> {
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// JCS of the whole envelope.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn kid(&self) -> &Thumbprint {
        &self.kid
    }
}
