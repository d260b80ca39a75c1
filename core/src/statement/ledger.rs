//! What the evidence service states: keys, published documents, epochs, kills, incidents.
//!
//! What an operator does is attested on behalf of a pseudonym (`behalf`), with a passkey's `authorization` or null.

use super::class::vocabulary;
use super::governance::Scope;
use super::key_source::{KeySource, present};
use super::{EpochType, IncidentType, KeyType, KillType, nullable};
use crate::digest::Digest;
use crate::entry::Kind;
use crate::envelope::SignatureBytes;
use crate::id::{ProjectId, ProviderId};
use crate::issuer::Issuer;
use crate::key::{PublicKey, Purpose, Thumbprint};
use crate::time::Timestamp;
use crate::tree::Hash;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

vocabulary! {
    KeyEvent { Introduced "introduced", Retired "retired", Revoked "revoked", }
}

/// A person's passkey assertion over what was done. No statement carries one yet, so only null reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Authorization {}

impl Serialize for Authorization {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

impl<'de> Deserialize<'de> for Authorization {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("this version reads no authorization"))
    }
}

/// The members that make the thumbprint, and no others.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublicJwk {
    pub kty: String,
    pub crv: String,
    pub x: String,
}

impl PublicJwk {
    pub fn new(key: &PublicKey) -> Self {
        Self { kty: "OKP".into(), crv: "Ed25519".into(), x: key.x() }
    }
}

/// `key/v1`: from this entry on (or no longer) a key counts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeyStatement {
    pub typ: KeyType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    pub event: KeyEvent,
    pub purpose: Purpose,
    #[serde(deserialize_with = "nullable")]
    pub provider: Option<ProviderId>,
    pub key: PublicJwk,
    pub thumbprint: Thumbprint,
    #[serde(deserialize_with = "nullable")]
    pub replaces: Option<Thumbprint>,
    #[serde(deserialize_with = "nullable")]
    pub compromised_since: Option<Timestamp>,
    /// The key's own signature over [`possession_message`]; null where a key leaves, and where a provider's key comes.
    #[serde(deserialize_with = "nullable")]
    pub possession: Option<SignatureBytes>,
    /// Where a provider's key was fetched; absent, not null, where none was.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source: Option<KeySource>,
}

/// What a new key signs to show that its secret half is there: `counterfoil/possession/v1`, project and thumbprint, a
/// line each.
pub fn possession_message(project: ProjectId, thumbprint: &Thumbprint) -> Vec<u8> {
    format!("counterfoil/possession/v1\n{project}\n{thumbprint}\n").into_bytes()
}

/// Which document was published.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum PublishedType {
    #[serde(rename = "rules/v1")]
    Rules,
    #[serde(rename = "registry/v1")]
    Registry,
}

impl PublishedType {
    pub fn kind(self) -> Kind {
        match self {
            Self::Rules => Kind::Rules,
            Self::Registry => Kind::Registry,
        }
    }
}

/// `rules/v1` and `registry/v1`: this text decides from now on. The text itself travels only in the vendor's package.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub typ: PublishedType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    /// Digest of the text.
    pub document: Digest,
    /// Digest of the bundle that is now in force.
    pub policy: Digest,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub expires_at: Option<Timestamp>,
}

/// Entries of one day by kind.
pub type Counts = BTreeMap<Kind, u64>;

/// `epoch/v1`: the day before, closed. Written by the first append of a new day.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    pub typ: EpochType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    /// The UTC day that is closed, `2026-11-30`.
    pub epoch: String,
    pub first: u64,
    pub last: u64,
    /// Root of the tree of `last` + 1 entries.
    pub root: Hash,
    pub counts: Counts,
}

/// `kill/v1`: from this entry on nothing in its scope is allowed. `floor` is the new control: what was judged before is
/// stale. A kill of the whole project takes every grant and every hold with it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    pub typ: KillType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    /// Absent, not null, where it is the whole project.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

/// `incident/v1`: the log operator says what went wrong with the record itself and releases what it stopped.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    pub typ: IncidentType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub code: String,
    pub behalf: String,
    pub reason: String,
}
