//! Capabilities: the slip without which a provider refuses to execute.
//!
//! Promised: a slip names one call of one recorded decision and lives at most thirty seconds, never past a minute from
//! the decision. Its bytes are canonical (header and claims in JCS order), so that two gateways mint the same.
//! Not promised: that a provider looks at it. docs/formats/capability.md says how one should.
//!
//!     base64url({"alg":"EdDSA","kid":"…","typ":"toolcap+jwt"}) . base64url(claims) . base64url(Ed25519)

use counterfoil_core::capability::{
    CAPABILITY_TYPE, Call, Claims, GENERATION_TYPE, GenerationClaims, MAX_LIFE, call_hash,
};
use counterfoil_core::digest::Digest;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Capability, SigningKey};
use counterfoil_core::nonce::{Nonce16, base64url};
use counterfoil_core::statement::{Decision, Effect, Verdict};
use counterfoil_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// Seconds from minting; less where the decision is older.
const LIFE: i64 = 30;
/// A provider's clock may be this far behind ours (FORMATS, section 7).
const BEFORE: i64 = 5;
/// The generation feed is old after this many seconds.
const FEED_LIFE: i64 = 10;

/// What a slip is for.
pub struct Slip<'a> {
    pub decision: &'a Decision,
    pub digest: Digest,
    pub jti: Nonce16,
    pub aud: &'a str,
    pub sub: String,
    /// The provider seed.
    pub os: Nonce16,
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub input_responses: Option<&'a Value>,
}

impl Slip<'_> {
    pub fn mint(&self, now: Timestamp, key: &SigningKey<Capability>) -> String {
        sign(CAPABILITY_TYPE, &self.claims(now), key)
    }

    fn claims(&self, now: Timestamp) -> Claims {
        let iat = now.millis() / 1000;
        let decided = self.decision.at.millis() / 1000;
        Claims {
            adv: (self.decision.effect == Effect::Advisory && self.decision.verdict != Verdict::Allow)
                .then_some(true),
            apv: self.decision.answers.as_ref().map(|answers| answers.answer),
            aud: self.aud.to_owned(),
            call: Call {
                h: call_hash(self.aud, "tools/call", self.tool, self.arguments, self.input_responses),
                m: "tools/call".to_owned(),
                t: self.tool.to_owned(),
            },
            cnf: None,
            dec: self.digest,
            env: self.decision.env,
            exp: (iat + LIFE).min(decided + MAX_LIFE),
            generation: self.decision.generation,
            iat,
            iss: self.decision.iss.clone(),
            jti: self.jti,
            nbf: iat - BEFORE,
            os: self.os,
            qt: None,
            sub: self.sub.clone(),
            txn: self.decision.action,
        }
    }
}

/// What `<iss>/gen` serves: providers that follow it refuse slips of an earlier generation.
pub fn generation_feed(
    iss: &Issuer,
    generation: u64,
    now: Timestamp,
    key: &SigningKey<Capability>,
) -> String {
    let iat = now.millis() / 1000;
    let claims = GenerationClaims { exp: iat + FEED_LIFE, generation, iat, iss: iss.clone() };
    sign(GENERATION_TYPE, &claims, key)
}

/// JWS compact serialization (RFC 7515). Not by a JOSE library: those order the header's members by their own taste.
fn sign(typ: &str, claims: &impl Serialize, key: &SigningKey<Capability>) -> String {
    let header = json!({"alg": "EdDSA", "kid": key.kid(), "typ": typ});
    let mut token = format!("{}.{}", base64url(&canonical(&header)), base64url(&canonical(claims)));
    let signature = key.sign(token.as_bytes());
    token.push('.');
    token.push_str(&base64url(&signature));
    token
}

#[cfg(test)]
mod tests;
