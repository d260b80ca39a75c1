//! Capabilities: a slip for one call, without which a provider refuses to execute.
//!
//! Here are the claims and the hash that binds them to a call; minting (a JWS) is the gateway's, refusing is the
//! provider's. Format and vectors: docs/formats/capability.md, docs/vectors/capability.

use crate::digest::Digest;
use crate::id::ActionId;
use crate::issuer::Issuer;
use crate::json::canonical;
use crate::nonce::{Nonce16, base64url};
use crate::statement::Environment;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The media type in a capability's header.
pub const CAPABILITY_TYPE: &str = "toolcap+jwt";
/// The media type in a generation feed's header.
pub const GENERATION_TYPE: &str = "toolgen+jwt";
/// Longest life of a capability, in seconds from the decision.
pub const MAX_LIFE: i64 = 60;

/// For whom a provider's capabilities are where the registry gives it no resource id: one made of the project and its own id.
pub fn default_audience(issuer: &Issuer, provider: &str) -> String {
    format!("urn:counterfoil:{}:{provider}", issuer.name())
}

/// The claims, in the order of their canonical form.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// True for a recorded advisory verdict that is not ALLOW.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adv: Option<bool>,
    /// Digest of the person's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apv: Option<Digest>,
    /// The provider's registered resource id.
    pub aud: String,
    pub call: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Value>,
    /// Digest of the decision's envelope.
    pub dec: Digest,
    pub env: Environment,
    /// Seconds since 1970.
    pub exp: i64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub iat: i64,
    pub iss: Issuer,
    pub jti: Nonce16,
    pub nbf: i64,
    /// The provider seed, so that both sides commit alike.
    pub os: Nonce16,
    /// Digest of the quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qt: Option<Digest>,
    /// For whom, under a name that only this provider sees.
    pub sub: String,
    pub txn: ActionId,
}

/// Which call.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// base64url SHA-256 of the call document, see [`call_hash`].
    pub h: String,
    pub m: String,
    pub t: String,
}

/// SHA-256(JCS({"v":1,"aud","m","t","a":arguments,"i":inputResponses?})) as base64url. The provider computes it from
/// the arguments as they arrived on the wire. Absent arguments count as {}.
pub fn call_hash(
    aud: &str,
    method: &str,
    tool: &str,
    arguments: &Value,
    input_responses: Option<&Value>,
) -> String {
    let mut document = Map::new();
    document.insert("v".into(), json!(1));
    document.insert("aud".into(), json!(aud));
    document.insert("m".into(), json!(method));
    document.insert("t".into(), json!(tool));
    document.insert("a".into(), arguments.clone());
    if let Some(responses) = input_responses {
        document.insert("i".into(), responses.clone());
    }
    base64url(&Sha256::digest(canonical(&document)))
}

/// The claims of the generation feed at `<iss>/gen`: how often the project was killed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationClaims {
    pub exp: i64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub iat: i64,
    pub iss: Issuer,
}
