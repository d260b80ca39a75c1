//! What decides, as gateways fetch and follow it: `GET /internal/v1/control`.
//!
//! A snapshot is a copy and proves nothing: the record transaction judges every decision again by the head row, so a
//! gateway with an old snapshot is refused as stale, not believed.

use crate::digest::Digest;
use crate::id::{AgentId, KeyId, ProjectId};
use crate::issuer::Issuer;
use crate::json::canonical;
use crate::key::Jwk;
use crate::nonce::Nonce16;
use crate::statement::{Environment, Verdict};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    pub v: u8,
    /// Digest of everything below but `ledger_time`; a long poll names the one it knows.
    pub version: Digest,
    pub ledger_time: Timestamp,
    pub project: ProjectId,
    pub iss: Issuer,
    pub env: Environment,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub killed: bool,
    /// What nothing allows gets this: STEP_UP or DENY.
    pub base_verdict: Verdict,
    /// Digest of the bundle; null before registry and rules are published, when nothing can be allowed.
    pub policy: Option<Digest>,
    pub documents: Option<Documents>,
    pub grants: Grants,
    /// The project's public disclosure key: a P-256 JWK that openings are sealed to.
    pub disclosure_key: Value,
    pub credentials: Vec<Credential>,
    pub keys: SnapshotKeys,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Documents {
    /// The registry, TOML.
    pub registry: String,
    /// The rules, Cedar.
    pub rules: String,
}

/// Mortal allows. Empty until people can give them.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    pub v: u8,
    /// Random, so that the digest of few or no grants tells nothing.
    pub nonce: Nonce16,
    pub grants: Vec<Value>,
}

impl Grants {
    /// The digest that a decision about `agent` names.
    pub fn digest_for(&self, agent: AgentId) -> Digest {
        Digest::of(&canonical(&json!({
            "v": self.v,
            "nonce": self.nonce,
            "agent": agent,
            "grants": self.grants,
        })))
    }
}

/// An API key as gateways know it: by the digest of its text.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    pub key: KeyId,
    /// SHA-256 of the whole `cfk_…` text.
    pub digest: Digest,
    pub agent: AgentId,
    /// Opaque, or null.
    pub principal: Option<String>,
    pub revoked: bool,
}

/// Public keys that gateways check answers with, and know themselves to be enrolled by.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotKeys {
    pub log: Vec<Jwk>,
    pub ledger: Vec<Jwk>,
    pub decision: Vec<Jwk>,
    pub capability: Vec<Jwk>,
}

/// The answer of a long poll in which nothing changed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Unchanged {
    pub v: u8,
    pub unchanged: bool,
    pub ledger_time: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub killed: bool,
}

impl Snapshot {
    /// The snapshot under the version that its content has.
    #[must_use]
    pub fn with_version(mut self) -> Self {
        let mut content = serde_json::to_value(&self).expect("snapshots have string keys only");
        if let Some(members) = content.as_object_mut() {
            members.remove("version");
            members.remove("ledger_time");
        }
        self.version = Digest::of(&canonical(&content));
        self
    }
}
