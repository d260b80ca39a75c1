//! No fresh capability, no execution (C1).
//!
//! Promised: a call passes only with a token of the pinned issuer, for this provider, this
//! environment, this tool and exactly these arguments, inside its lifetime, not older than a kill
//! already seen, and once. Whatever cannot be checked is refused, and the refusal says why.
//!
//! Not promised: memory across restarts. A real provider keeps used tokens in the store that
//! its effects go to; this one forgets them when it ends, and tokens end after a minute.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use counterfoil_core::capability::{CAPABILITY_TYPE, Claims, MAX_LIFE, call_hash};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::{Jwk, Thumbprint};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::Environment;
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::keys::{KeyCache, KeySource};

pub const CAPABILITY: &str = "dev.counterfoil/capability";

const LONGEST_TOKEN: usize = 4096;

// Five seconds: both ends follow ledger time; more would stretch a thirty-second slip.
const LEEWAY: i64 = 5;

/// What this provider was told to demand; a token never changes it.
pub struct Pinned {
    pub issuer: Issuer,
    pub audience: String,
    pub env: Environment,
}

/// The capability that was used up for a call.
pub struct Spent {
    pub jti: Nonce16,
    pub action: ActionId,
    pub decision: Digest,
    /// Opens what both sides commit to.
    pub seed: Nonce16,
}

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the call carries no capability")]
    Missing,
    #[error("the capability is longer than {LONGEST_TOKEN} bytes")]
    TooLong,
    #[error("the capability is no signed token of three parts")]
    Malformed,
    #[error("the capability's header is not {{alg: EdDSA, typ: toolcap+jwt, kid}}")]
    Header,
    #[error("the capability is signed by a key that the gateway does not publish")]
    UnknownKey,
    #[error("the capability's signature does not hold")]
    Signature,
    #[error("the capability is of issuer `{0}`")]
    OtherIssuer(String),
    #[error("the capability is for provider `{0}`")]
    OtherAudience(String),
    #[error("the capability is for environment `{0}`")]
    OtherEnvironment(String),
    #[error(
        "the capability is for an advisory run, or bound to a client certificate, and neither is accepted here"
    )]
    Unsupported,
    #[error("the capability is not valid at {0}, which is the time here")]
    Time(Timestamp),
    #[error("the capability is for tool `{0}`")]
    OtherTool(String),
    #[error("the capability is for other arguments")]
    OtherArguments,
    #[error("the capability was minted before a kill")]
    Killed,
    #[error("the capability was used before")]
    Used,
}

impl Refusal {
    /// For machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "capability_missing",
            Self::TooLong => "capability_too_long",
            Self::Malformed => "capability_malformed",
            Self::Header => "capability_header",
            Self::UnknownKey => "capability_key",
            Self::Signature => "capability_signature",
            Self::OtherIssuer(_) => "capability_issuer",
            Self::OtherAudience(_) => "capability_audience",
            Self::OtherEnvironment(_) => "capability_environment",
            Self::Unsupported => "capability_unsupported",
            Self::Time(_) => "capability_time",
            Self::OtherTool(_) => "capability_tool",
            Self::OtherArguments => "capability_arguments",
            Self::Killed => "capability_killed",
            Self::Used => "capability_used",
        }
    }
}

pub struct Guard {
    pinned: Pinned,
    keys: KeyCache,
    used: BTreeMap<String, i64>,
    generation: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    typ: String,
    kid: Thumbprint,
}

impl Guard {
    #[must_use]
    pub fn new(pinned: Pinned, source: KeySource) -> Self {
        let keys = KeyCache::new(source, pinned.issuer.clone());
        Self { pinned, keys, used: BTreeMap::new(), generation: 0 }
    }

    /// Checks the capability of one call and uses it up. The order is the one to keep: nothing in
    /// a token is believed before its signature holds, and nothing is used up that may not run.
    pub async fn spend(
        &mut self,
        params: &Value,
        tool: &str,
        arguments: &Value,
        now: Timestamp,
    ) -> Result<Spent, Refusal> {
        let token = params["_meta"][CAPABILITY].as_str().ok_or(Refusal::Missing)?;
        let parts = split(token)?;
        let header = read_header(&parts.header)?;
        let key = self.keys.find(&header.kid).await.ok_or(Refusal::UnknownKey)?;
        check_signature(&key, parts.signed, &parts.signature)?;

        let claims = json::parse(&parts.payload, Profile::Strict).map_err(|_| Refusal::Malformed)?;
        let claims: Claims = serde_json::from_value(claims).map_err(|_| Refusal::Malformed)?;
        self.check_place(&claims)?;
        check_time(&claims, &key, now)?;
        self.check_call(&claims, tool, arguments)?;
        self.use_up(&claims, now)
    }

    fn check_place(&self, claims: &Claims) -> Result<(), Refusal> {
        if claims.iss != self.pinned.issuer {
            return Err(Refusal::OtherIssuer(claims.iss.to_string()));
        }
        if claims.aud != self.pinned.audience {
            return Err(Refusal::OtherAudience(claims.aud.clone()));
        }
        if claims.env != self.pinned.env {
            return Err(Refusal::OtherEnvironment(claims.env.to_string()));
        }
        if claims.adv.is_some() || claims.cnf.is_some() {
            return Err(Refusal::Unsupported);
        }
        Ok(())
    }

    fn check_call(&self, claims: &Claims, tool: &str, arguments: &Value) -> Result<(), Refusal> {
        if claims.call.m != "tools/call" || claims.call.t != tool {
            return Err(Refusal::OtherTool(claims.call.t.clone()));
        }
        let (audience, method) = (&self.pinned.audience, &claims.call.m);
        if claims.call.h != call_hash(audience, method, tool, arguments, None) {
            return Err(Refusal::OtherArguments);
        }
        Ok(())
    }

    fn use_up(&mut self, claims: &Claims, now: Timestamp) -> Result<Spent, Refusal> {
        if claims.generation < self.generation {
            return Err(Refusal::Killed);
        }
        self.generation = claims.generation;

        // Kept a minute longer than any clock here could still accept the token.
        let forget = now.millis() / 1000 - LEEWAY - 60;
        self.used.retain(|_, exp| *exp > forget);
        let jti = claims.jti.to_string();
        if self.used.insert(jti, claims.exp).is_some() {
            return Err(Refusal::Used);
        }
        Ok(Spent { jti: claims.jti, action: claims.txn, decision: claims.dec, seed: claims.os })
    }
}

/// A token taken apart, not yet believed.
struct Parts<'t> {
    /// Header and payload as they were signed.
    signed: &'t [u8],
    header: Vec<u8>,
    payload: Vec<u8>,
    signature: [u8; 64],
}

fn split(token: &str) -> Result<Parts<'_>, Refusal> {
    if token.len() > LONGEST_TOKEN {
        return Err(Refusal::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(Refusal::Malformed)?;
    // A dot is no base64url character, so a fourth part fails here.
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed);
    Ok(Parts {
        signed: signed.as_bytes(),
        header: decode(header)?,
        payload: decode(payload)?,
        signature: decode(signature)?.try_into().map_err(|_| Refusal::Malformed)?,
    })
}

fn read_header(bytes: &[u8]) -> Result<Header, Refusal> {
    let header = json::parse(bytes, Profile::Strict).map_err(|_| Refusal::Malformed)?;
    let header: Header = serde_json::from_value(header).map_err(|_| Refusal::Header)?;
    if header.alg != "EdDSA" || header.typ != CAPABILITY_TYPE {
        return Err(Refusal::Header);
    }
    Ok(header)
}

fn check_signature(key: &Jwk, signed: &[u8], signature: &[u8; 64]) -> Result<(), Refusal> {
    let key = key.public_key().map_err(|_| Refusal::UnknownKey)?;
    key.verify(signed, signature).map_err(|_| Refusal::Signature)
}

fn check_time(claims: &Claims, key: &Jwk, now: Timestamp) -> Result<(), Refusal> {
    let seconds = now.millis() / 1000;
    let short = claims.exp > claims.iat && claims.exp - claims.iat <= MAX_LIFE;
    let begun = claims.iat <= seconds + LEEWAY && claims.nbf <= seconds + LEEWAY;
    let running = seconds < claims.exp + LEEWAY;
    // A key that was replaced signs nothing new, but what it signed just before still counts.
    let by_a_live_key = key.until.is_none_or(|until| claims.iat <= until.millis() / 1000 + LEEWAY);
    if short && begun && running && by_a_live_key { Ok(()) } else { Err(Refusal::Time(now)) }
}
