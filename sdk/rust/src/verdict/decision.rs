//! What the gateway answered, believed only as far as it is signed.
//!
//! The plain members of the answer are for people and for other clients. Here the receipt in it decides: it verifies under
//! the pinned keys, and then every plain member must agree with it.

use super::options::VerdictOptions;
use super::proposal::Proposal;
use super::refusal::{NoVerdict, NoVerdictCode};
use crate::execution::decision_id;
use crate::verify::{Verified, verify_receipt};
use counterfoil_core::commitment::Commitment;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::nonce::base64url;
use counterfoil_core::statement::{Decision, Effect, Mode, Reason, Statement, Verdict};
use serde_json::Value;

/// A stored answer is replayed for sixty seconds at most; five more for two clocks. In milliseconds.
const LONGEST_AGE: i64 = 65_000;
const MOST_AHEAD: i64 = 5_000;

/// A verified decision, whatever it says.
#[derive(Clone, Debug)]
pub struct Decided {
    decision: Decision,
    digest: Digest,
    verified: Verified,
    receipt: Vec<u8>,
    transform: Value,
    pending: Value,
    capability: Option<String>,
}

impl Decided {
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict
    }

    #[must_use]
    pub fn reason(&self) -> Reason {
        self.decision.reason
    }

    #[must_use]
    pub fn action(&self) -> ActionId {
        self.decision.action
    }

    /// `dec_<hex>`
    #[must_use]
    pub fn decision_id(&self) -> String {
        decision_id(&self.digest)
    }

    /// What the receipt shows.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The receipt as text, to be kept.
    #[must_use]
    pub fn receipt(&self) -> &[u8] {
        &self.receipt
    }

    /// What MODIFY asks for. Said by the gateway, not signed.
    #[must_use]
    pub fn transform(&self) -> &Value {
        &self.transform
    }

    /// What STEP_UP and DEFER wait for. Said by the gateway, not signed.
    #[must_use]
    pub fn pending(&self) -> &Value {
        &self.pending
    }

    /// The slip for the provider, where there is one.
    #[must_use]
    pub fn capability(&self) -> Option<&str> {
        self.capability.as_deref()
    }

    /// ALLOW, or any verdict that a recorded shadow window made advisory; everything else is no.
    pub fn cleared(self) -> Result<Cleared, Box<Self>> {
        if self.decision.is_cleared() { Ok(Cleared(self)) } else { Err(Box::new(self)) }
    }
}

/// A decision that lets the call run. Only [`Decided::cleared`] makes one.
#[derive(Clone, Debug)]
pub struct Cleared(Decided);

impl std::ops::Deref for Cleared {
    type Target = Decided;

    fn deref(&self) -> &Decided {
        &self.0
    }
}

pub(super) fn read_decision(
    answer: &Value,
    proposal: &Proposal,
    options: &VerdictOptions,
) -> Result<Decided, NoVerdict> {
    let no = |code, why: &str| NoVerdict::new(code, why);
    let full = &answer["dev.counterfoil/receipt"];
    if full["typ"] != "receipt-full/v1" {
        return Err(no(NoVerdictCode::Unsigned, "the answer has no receipt"));
    }
    let receipt = full["receipt"].to_string().into_bytes();
    let verified = verify_receipt(&receipt, &options.pinned)
        .map_err(|refused| NoVerdict::new(NoVerdictCode::Unsigned, refused.to_string()))?;
    let Statement::Decision(decision) = &verified.statement else {
        return Err(no(NoVerdictCode::Unsigned, "the receipt is of no decision"));
    };
    if !is_ours(decision, &full["openings"], proposal, options) {
        return Err(no(NoVerdictCode::OtherAction, "the decision is about another call"));
    }
    let age = (options.clock)().millis() - decision.at.millis();
    if !(-MOST_AHEAD..=LONGEST_AGE).contains(&age) {
        return Err(NoVerdict::new(NoVerdictCode::Expired, format!("decided at {}", decision.at)));
    }
    let said = &answer["decision"];
    if !agrees(answer, said, decision, &verified.digest) {
        return Err(no(NoVerdictCode::Malformed, "the answer and its receipt say different things"));
    }
    Ok(Decided {
        decision: (**decision).clone(),
        digest: verified.digest,
        receipt,
        transform: said["transform"].clone(),
        pending: said["pending"].clone(),
        capability: answer["dev.counterfoil/capability"].as_str().map(str::to_owned),
        verified,
    })
}

fn agrees(answer: &Value, said: &Value, decision: &Decision, digest: &Digest) -> bool {
    let effect = said["effect"].as_str().unwrap_or("enforced");
    said["verdict"] == decision.verdict.as_str()
        && said["decision_id"] == decision_id(digest)
        && answer["action_id"] == decision.action.to_string()
        && effect == decision.effect.as_str()
}

fn is_ours(decision: &Decision, openings: &Value, proposal: &Proposal, options: &VerdictOptions) -> bool {
    let is_place =
        decision.project == options.project && decision.env == options.env && decision.mode == Mode::Hook;
    let is_tool = decision.tool.as_ref().is_some_and(|tool| tool.as_str() == proposal.tool.name);
    let provider = decision.provider.as_ref().map(|provider| provider.as_str());
    let is_provider = proposal.tool.provider.is_none() || provider == proposal.tool.provider.as_deref();
    let is_call = decision.args.is_some() && decision.args == opened(openings, &proposal.args_hash);
    // A tool that no registry knows has no public label; such a decision is no ALLOW, and may say so.
    let is_unnamed =
        decision.tool.is_none() && decision.verdict != Verdict::Allow && decision.effect == Effect::Enforced;
    is_place && (is_unnamed || (is_tool && is_provider && is_call))
}

/// The commitment that the opening named `args` makes of this value.
fn opened(openings: &Value, value: &str) -> Option<Commitment> {
    let opening = openings.as_array()?.iter().find(|opening| opening[0] == "args")?;
    let salt = opening[1].as_str()?;
    // A salt is twenty-two characters of base64url, and a value a digest: nothing here needs an escape.
    salt.parse::<counterfoil_core::nonce::Nonce16>().ok()?;
    let disclosure = base64url(format!(r#"["{salt}","args","{value}"]"#).as_bytes());
    counterfoil_core::commitment::Disclosure::parse(&disclosure)
        .ok()
        .map(|disclosure| disclosure.commitment())
}
