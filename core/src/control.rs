//! What decides, as gateways fetch and follow it: `GET /internal/v1/control`.
//!
//! A snapshot is a copy and proves nothing: the record transaction judges every decision again by the head row, so a
//! gateway with an old snapshot is refused as stale, not believed.

use crate::digest::Digest;
use crate::hold::CardNoun;
use crate::id::{AgentId, GrantId, KeyId, ProjectId};
use crate::issuer::Issuer;
use crate::json::canonical;
use crate::key::Jwk;
use crate::nonce::Nonce16;
use crate::statement::{Environment, Scope, ServiceName, Verb, Verdict};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

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
    /// Agents, connections and environments that are killed while the project is not.
    #[serde(default)]
    pub stopped: Vec<Scope>,
    /// Until when a break-glass window stands; null where none does.
    #[serde(default)]
    pub breakglass_until: Option<Timestamp>,
    /// Until when verdicts of published rules are advisory; null where they bind.
    #[serde(default)]
    pub shadow_until: Option<Timestamp>,
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

/// Mortal allows: those that stand at this moment, of all agents.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    pub v: u8,
    /// Random, so that the digest of few or no grants tells nothing.
    pub nonce: Nonce16,
    pub grants: Vec<GrantDocument>,
}

/// The text of one grant: one agent, one verb of one service, one noun, until then. Its digest is the member `document` of
/// grant/v1; the text is clear, so it travels to gateways and in the vendor's own packages only.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantDocument {
    pub v: u8,
    pub nonce: Nonce16,
    pub grant: GrantId,
    pub agent: AgentId,
    pub service: ServiceName,
    pub verb: Verb,
    /// A call that names several nouns needs a grant for each.
    pub noun: CardNoun,
    /// Declared fields of the arguments, as they were when the grant was given; null for one that must be absent.
    pub fields: Map<String, Value>,
    pub until: Timestamp,
}

impl GrantDocument {
    pub fn digest(&self) -> Digest {
        Digest::of(&canonical(&json!(self)))
    }
}

impl Grants {
    /// The digest that a decision about `agent` names: of the agent's own grants, by their documents' digests, sorted.
    pub fn digest_for(&self, agent: AgentId) -> Digest {
        let mut grants: Vec<String> = self.of(agent).map(|grant| grant.digest().to_string()).collect();
        grants.sort_unstable();
        Digest::of(&canonical(&json!({ "v": self.v, "nonce": self.nonce, "agent": agent, "grants": grants })))
    }

    pub fn of(&self, agent: AgentId) -> impl Iterator<Item = &GrantDocument> {
        self.grants.iter().filter(move |grant| grant.agent == agent)
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
