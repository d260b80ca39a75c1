//! What people do about what may run: answers to held calls, grants, resumption, windows; and how a hold ends without
//! anybody's answer.
//!
//! An operator's act is attested by the ledger key on behalf of a pseudonym, with a passkey's `authorization` or null.
//! Whatever changes what decides carries the numbers that are in force after it.
//!
//! Source: docs/formats/governance.md.

use super::class::{ServiceName, Verb, vocabulary};
use super::key_source::present;
use super::ledger::Authorization;
use super::public_text::PublicText;
use super::{AnswerType, BreakglassType, GrantType, HoldType, ResumeType, ShadowType, nullable};
use super::{Decision, Environment};
use crate::digest::Digest;
use crate::id::{ActionId, AgentId, GrantId, HoldId, IdError, KeyId, ProjectId};
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

vocabulary! {
    /// How a hold ends that nobody answered.
    HoldEvent { Expired "expired", Swept "swept", }

    /// What a person says to a held call. "Tell me more" decides nothing and is no statement.
    Say { Deny "deny", ApproveOnce "approve_once", ApproveFor "approve_for", }

    /// How the person was known: by an operator's token, or only as somebody who runs programs on the same machine.
    AnsweredBy { Login "login", Local "local", }

    GrantEvent { Given "given", Renewed "renewed", Shortened "shortened", Removed "removed", }

    WindowEvent { Opened "opened", Closed "closed", }
}

/// What a kill or its resumption is about, by its own id: `agt_…`, `key_…`, `live` or `test`. Absent from the statement
/// where it is the whole project.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    Agent(AgentId),
    /// All calls that come by one API key.
    Connection(KeyId),
    Environment(Environment),
}

impl Scope {
    /// Whether the call of this decision is one that it stops.
    pub fn covers(&self, decision: &Decision) -> bool {
        match self {
            Self::Agent(agent) => decision.agent == *agent,
            Self::Connection(key) => decision.via == key.to_string(),
            Self::Environment(env) => decision.env == *env,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Connection(key) => key.fmt(f),
            Self::Environment(env) => env.fmt(f),
        }
    }
}

impl FromStr for Scope {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let agent = text.parse().map(Self::Agent);
        let connection = || text.parse().map(Self::Connection);
        let environment = || Environment::ALL.iter().find(|env| env.as_str() == text).copied();
        agent
            .or_else(|_| connection())
            .or_else(|_| environment().map(Self::Environment).ok_or(()))
            .map_err(|()| IdError::new(text, "an agent (agt_…), a connection (key_…), `live` or `test`"))
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `hold/v1`: a held call that will not be answered any more. It opened with its decision, whose `hold` names it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    pub typ: HoldType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub event: HoldEvent,
    pub hold: HoldId,
    pub action: ActionId,
    /// Digest of the held decision's envelope.
    pub decision: Digest,
}

/// `answer/v1`: a person's answer to one hold, bound to the exact decision and to the card that was shown.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub typ: AnswerType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    pub by: AnsweredBy,
    pub hold: HoldId,
    pub action: ActionId,
    /// Digest of the held decision's envelope.
    pub decision: Digest,
    /// Digest of the card; a card holds a nonce, so it cannot be guessed.
    pub card: Digest,
    pub answer: Say,
    /// The grants that `approve_for` gives, by the same commit: one for each noun of the call. Else empty.
    pub grants: Vec<GrantId>,
    /// The last moment at which the answer lifts its hold, or until which its grant stands; null for `deny`.
    #[serde(deserialize_with = "nullable")]
    pub until: Option<Timestamp>,
}

/// Statements that count in `control`, and share what such a statement must say.
macro_rules! attested {
    ($(#[$about:meta])* $name:ident $typ:ident { $($(#[$doc:meta])* $field:ident: $is:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            pub typ: $typ,
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
            $($(#[$doc])* pub $field: $is,)*
        }
    };
}

attested! {
    /// `grant/v1`: one agent may do one thing to one noun until then; or may not any more.
    Grant GrantType {
        event: GrantEvent,
        grant: GrantId,
        agent: AgentId,
        service: ServiceName,
        verb: Verb,
        /// Digest of the grant's text, which holds nouns in clear and a nonce and travels only in the vendor's package.
        document: Digest,
        /// From then on it allows nothing; at most 30 days after `at`.
        until: Timestamp,
        /// Digest of the answer that gave it; null for what an operator did to a grant that stands.
        #[serde(deserialize_with = "nullable")]
        answer: Option<Digest>,
        #[serde(deserialize_with = "nullable")]
        reason: Option<PublicText>,
    }
}

attested! {
    /// `resume/v1`: what a kill stopped may be judged again. Grants and holds that the kill took stay gone.
    Resume ResumeType {
        /// As in the kill that it ends.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        #[serde(deserialize_with = "nullable")]
        reason: Option<PublicText>,
    }
}

attested! {
    /// `breakglass/v1`: until then what nothing allows runs, but for what the deny floor refuses, and is marked.
    Breakglass BreakglassType {
        event: WindowEvent,
        until: Timestamp,
        reason: PublicText,
    }
}

attested! {
    /// `shadow/v1`: until then what published rules refuse or hold is said and not enforced.
    Shadow ShadowType {
        event: WindowEvent,
        until: Timestamp,
        reason: PublicText,
    }
}
