//! Held calls, as gateway and evidence service speak of them: what is parked, what a person is shown, what was answered.
//!
//! Promised: the parked bytes are the gateway's secret, opened by it alone; the card names what the registry names and
//! nothing that the agent said about itself. Both are wiped when the hold ends.
//! Not a public interface: it may change with both programs. Statements about holds: [`crate::statement::Answer`].

use crate::digest::Digest;
use crate::id::{ActionId, AgentId, HoldId, ProjectId, ProviderId, ToolName};
use crate::json::canonical;
use crate::nonce::Nonce16;
use crate::statement::{
    DataClass, Destination, Magnitude, NounType, Operation, Reason, Reversibility, Say, ServiceName, Verb,
};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longest sealed bytes of one parked call, in characters of base64url: a call of 256 KiB and what stands around it.
pub const MAX_SEALED: usize = 384 * 1024;

/// What a gateway hands over beside a held decision.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parked {
    pub hold: HoldId,
    /// The received call and its opening seed, sealed by the gateway to its own key; base64url.
    pub sealed: String,
    /// Which call this is, to find it when it comes again: base64url of an HMAC under a key of the gateways, so that
    /// nobody else can tell calls apart by it.
    pub call: String,
    pub card: Card,
}

/// What a person is shown about a held call. Made from registry and canonical arguments alone.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub v: u8,
    /// Random, so that the card's digest gives nothing away.
    pub nonce: Nonce16,
    pub hold: HoldId,
    pub action: ActionId,
    pub agent: AgentId,
    pub provider: ProviderId,
    pub tool: ToolName,
    /// Null where the registry does not know the tool.
    pub class: Option<CardClass>,
    /// Why nothing allowed it.
    pub reason: Reason,
    pub asked_at: Timestamp,
    /// From then on nobody can answer, and the call is denied.
    pub expires_at: Timestamp,
}

/// What the registry says that the call is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CardClass {
    pub service: ServiceName,
    pub verb: Verb,
    /// Empty where a noun is missing.
    pub nouns: Vec<CardNoun>,
    /// The arguments that the registry declares as fields, and no others; null for one that the call does not have.
    pub fields: Map<String, Value>,
    pub operation: Operation,
    pub data_class: DataClass,
    pub destination: Destination,
    pub magnitude: Magnitude,
    pub reversibility: Reversibility,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CardNoun {
    #[serde(rename = "type")]
    pub noun_type: NounType,
    pub value: String,
}

impl Card {
    /// The member `card` of an answer: SHA-256 of the canonical bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&canonical(&serde_json::to_value(self).expect("a card has string keys only")))
    }

    /// Whether a person may only say no, or yes to this one call (G5): what is not known cannot be granted ahead.
    pub fn is_once_only(&self) -> bool {
        self.class.as_ref().is_none_or(|class| class.nouns.is_empty())
            || matches!(self.reason, Reason::UnknownTool | Reason::NounMissing | Reason::DefinitionChanged)
    }
}

/// `GET /internal/v1/holds/<hold>?project=prj_…&wait_ms=…`: as soon as it is no longer open, or after the wait; and
/// `GET /internal/v1/holds?project=prj_…&agent=agt_…&call=<base64url>`: the newest hold of that call by that agent that is
/// open, or approved and not dispatched. 404 where there is none.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HoldState {
    pub v: u8,
    pub project: ProjectId,
    pub hold: HoldId,
    pub action: ActionId,
    /// Digest of the held decision's envelope.
    pub decision: Digest,
    pub expires_at: Timestamp,
    pub is: HoldIs,
    /// Only while it can still be dispatched.
    pub sealed: Option<String>,
    pub answered: Option<Answered>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldIs {
    Open,
    /// Approved, and its call was not dispatched yet.
    Approved,
    Denied,
    Expired,
    Swept,
    Dispatched,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Digest of the answer's envelope, the member `answers.answer` of the decision that follows it.
    pub answer: Digest,
    pub say: Say,
    pub until: Option<Timestamp>,
}
