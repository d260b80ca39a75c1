//! `decision/v1`: the gateway's verdict on one action, signed before anything runs.

use super::class::{Class, vocabulary};
use super::{DecisionType, nullable};
use crate::commitment::Commitment;
use crate::digest::Digest;
use crate::id::{ActionId, AgentId, HoldId, ProjectId, ProviderId, RuleId, RunId, SessionId, ToolName};
use crate::issuer::Issuer;
use crate::nonce::Nonce16;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

vocabulary! {
    Verdict { Allow "ALLOW", Deny "DENY", StepUp "STEP_UP", Modify "MODIFY", Defer "DEFER", }

    /// Why the verdict is what it is.
    Reason {
        Rule "rule", NoRule "no_rule", UnknownTool "unknown_tool", NounMissing "noun_missing",
        DefinitionChanged "definition_changed", NoSuchTool "no_such_tool", NotBindable "not_bindable",
        Malformed "malformed", PolicyError "policy_error", Killed "killed", Revoked "revoked", OverCap "over_cap",
        Stale "stale", Skew "skew", PersonRequired "person_required", Grant "grant", Approved "approved",
        AnsweredNo "answered_no", HoldExpired "hold_expired", ControlVerb "control_verb", BreakGlass "break_glass",
    }

    /// Which listener a call came in by. Stamped there, never read from the call.
    Origin { Mcp "mcp", Stdio "stdio", Sdk "sdk", Console "console", Commission "commission", }

    /// Whether the gateway itself forwards the call, or a vendor asks before it calls.
    Mode { Gateway "gateway", Hook "hook", }

    /// Whether the verdict binds, or only says what it would have been.
    Effect { Enforced "enforced", Advisory "advisory", }

    Environment { Live "live", Test "test", }

    /// What a reader must know about how a verdict came to be.
    Mark { BreakGlass "break_glass", VendorApproved "vendor_approved", }

    JsonType {
        Null "null", Boolean "boolean", Number "number", String "string", Array "array", Object "object",
    }
}

/// The shape of one argument: its JSON type and its size, rounded up to a power of two.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeField {
    #[serde(rename = "type")]
    pub json_type: JsonType,
    pub size: u64,
}

/// The arguments that the pinned schema names, without their content.
pub type Shape = BTreeMap<String, ShapeField>;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub typ: DecisionType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub env: Environment,
    pub action: ActionId,
    /// The round of the same call before this one.
    #[serde(deserialize_with = "nullable")]
    pub follows: Option<ActionId>,
    /// An earlier decision on the same action that is no longer valid.
    #[serde(deserialize_with = "nullable")]
    pub supersedes: Option<Digest>,
    #[serde(deserialize_with = "nullable")]
    pub session: Option<SessionId>,
    #[serde(deserialize_with = "nullable")]
    pub run: Option<RunId>,
    pub at: Timestamp,
    pub nonce: Nonce16,
    pub origin: Origin,
    pub mode: Mode,
    /// The API key or connection that the call came by.
    pub via: String,
    pub agent: AgentId,
    #[serde(deserialize_with = "nullable")]
    pub principal: Option<Commitment>,
    #[serde(deserialize_with = "nullable")]
    pub provider: Option<ProviderId>,
    /// Null where the provider lists no such tool: a caller's word never becomes a public label.
    #[serde(deserialize_with = "nullable")]
    pub tool: Option<ToolName>,
    /// Digest of the tool's definition as its provider lists it.
    #[serde(deserialize_with = "nullable")]
    pub pin: Option<Digest>,
    #[serde(deserialize_with = "nullable")]
    pub class: Option<Class>,
    #[serde(deserialize_with = "nullable")]
    pub shape: Option<Shape>,
    #[serde(deserialize_with = "nullable")]
    pub args: Option<Commitment>,
    /// Commits to the exact input of the evaluation.
    pub facts: Commitment,
    pub verdict: Verdict,
    pub reason: Reason,
    pub rules: Vec<RuleId>,
    /// Digest of the bundle that was in force.
    pub policy: Digest,
    /// Digest of the agent's grants.
    pub grants: Digest,
    pub control: u64,
    /// Kill generation.
    #[serde(rename = "gen")]
    pub generation: u64,
    pub effect: Effect,
    pub marks: Vec<Mark>,
    #[serde(deserialize_with = "nullable")]
    pub hold: Option<HoldId>,
    #[serde(deserialize_with = "nullable")]
    pub answers: Option<Answers>,
    /// The `jti` of the capability that goes with it.
    #[serde(deserialize_with = "nullable")]
    pub capability: Option<Nonce16>,
    #[serde(deserialize_with = "nullable")]
    pub ask: Option<Ask>,
    #[serde(deserialize_with = "nullable")]
    pub quote: Option<Quote>,
    #[serde(deserialize_with = "nullable")]
    pub plan: Option<PlanStep>,
}

/// The windows at a moment, as an append finds them and an auditor recomputes them: until when each stands, or stood. Time
/// alone ends them too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Windows {
    pub breakglass_until: Option<Timestamp>,
    pub shadow_until: Option<Timestamp>,
}

impl Windows {
    /// Whether every window that a cleared decision leans on stands at `at`. Shadow softens what published rules say and
    /// nothing else.
    pub fn carry(self, decision: &Decision, at: Timestamp) -> bool {
        let stands = |until: Option<Timestamp>| until.is_some_and(|until| at < until);
        let leans_on_shadow = decision.effect == Effect::Advisory;
        let softens = matches!(decision.reason, Reason::Rule | Reason::NoRule);
        let leans_on_breakglass =
            decision.reason == Reason::BreakGlass || decision.marks.contains(&Mark::BreakGlass);
        (!leans_on_shadow || (softens && stands(self.shadow_until)))
            && (!leans_on_breakglass || stands(self.breakglass_until))
    }
}

/// Which person's answer this decision follows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    pub hold: HoldId,
    pub decision: Digest,
    pub answer: Digest,
}

/// The caller's own numbering of its calls: a claim.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub seq: u64,
    #[serde(deserialize_with = "nullable")]
    pub prev: Option<String>,
    pub at: Timestamp,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    pub digest: Digest,
    pub amount: Commitment,
    pub currency: String,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    pub digest: Digest,
    pub step: String,
}

impl Decision {
    /// Whether the call may go out: ALLOW, or any verdict that a recorded shadow window made advisory.
    pub fn is_cleared(&self) -> bool {
        match (self.verdict, self.effect) {
            (Verdict::Allow, _) | (_, Effect::Advisory) => true,
            (Verdict::Deny | Verdict::StepUp | Verdict::Modify | Verdict::Defer, Effect::Enforced) => false,
        }
    }
}
