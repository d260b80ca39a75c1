//! Evaluation: what rules and grants say about the facts.
//!
//! Promised: a pure function, the same for whoever holds bundle, grants and facts (G1, P8). What nothing allows is not
//! allowed; rules have no order. Several nouns are several questions, and the call gets the strongest of the answers:
//! DENY, then STEP_UP, MODIFY, DEFER, ALLOW. Any error is DENY `policy_error` (G3).
//! Not promised: that an allowed call may still be sent; the record transaction decides that.
//!
//! What can turn a verdict into ALLOW is in the facts, and each says which: a grant for a noun that no rule allows
//! (`grant`), a person's answer to a STEP_UP (`approved`), an open break-glass window for what nothing allows
//! (`break_glass`). None of them turns a rule's DENY.

pub(crate) mod request;
mod vendor;

use crate::bundle::Bundle;
use crate::facts::{BaseVerdict, Facts};
use crate::grants::Grants;
use crate::noun::NounValue;
use crate::registry::Tool;
use crate::rules::{Effect, bounds};
use cedar_policy::{Authorizer, Decision, Entities, PolicySet, Request, Response};
use counterfoil_core::id::RuleId;
use counterfoil_core::statement::{Effect as Bound, Mode, Reason, Verdict};
use std::collections::BTreeSet;

/// The verdict, why, the rules and grants that made it, sorted, and whether it binds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: Reason,
    pub rules: Vec<RuleId>,
    pub effect: Bound,
    /// A vendor's word lifted a STEP_UP whose rule lets it (`@lift("vendor")`, G6).
    pub is_vendor_approved: bool,
}

impl Judgement {
    fn without_rule(verdict: Verdict, reason: Reason) -> Self {
        Self::by(verdict, reason, BTreeSet::new())
    }

    fn by(verdict: Verdict, reason: Reason, rules: BTreeSet<RuleId>) -> Self {
        Self {
            verdict,
            reason,
            rules: rules.into_iter().collect(),
            effect: Bound::Enforced,
            is_vendor_approved: false,
        }
    }

    fn error() -> Self {
        Self::without_rule(Verdict::Deny, Reason::PolicyError)
    }

    /// A person has answered this very call: nothing that only asked for a person stands in its way any more. `rules`
    /// stay, and say what was lifted.
    fn answered(self, facts: &Facts) -> Self {
        let liftable = match (self.verdict, self.reason) {
            (Verdict::Allow, _) => true,
            (
                Verdict::StepUp,
                Reason::Rule
                | Reason::NoRule
                | Reason::UnknownTool
                | Reason::NounMissing
                | Reason::DefinitionChanged,
            ) => true,
            (Verdict::StepUp | Verdict::Deny | Verdict::Modify | Verdict::Defer, _) => false,
        };
        match &facts.approval {
            Some(_) if liftable => Self { verdict: Verdict::Allow, reason: Reason::Approved, ..self },
            Some(_) | None => self,
        }
    }

    /// A shadow window softens what published rules refuse or hold, and what they leave to the base verdict. Nothing else.
    fn shadowed(self, facts: &Facts) -> Self {
        let of_rules = matches!(self.reason, Reason::Rule | Reason::NoRule);
        let advisory = self.verdict != Verdict::Allow && of_rules && facts.is_before(facts.shadow_until);
        Self { effect: if advisory { Bound::Advisory } else { Bound::Enforced }, ..self }
    }
}

/// Facts that contradict the registry, a request that does not fit the schema, or a rule that failed.
#[derive(Debug)]
struct PolicyError;

/// Judges. `grants` must be those whose digests the facts name: others are DENY `policy_error`.
pub fn evaluate(bundle: &Bundle, grants: &Grants, facts: &Facts) -> Judgement {
    if facts.stopped {
        return Judgement::without_rule(Verdict::Deny, Reason::Killed);
    }
    if facts.grants != grants.digests(facts.agent) {
        return Judgement::error();
    }
    let judgement = judge(bundle, grants, facts).answered(facts);
    vendor::heard(judgement, bundle, grants, facts).shadowed(facts)
}

fn judge(bundle: &Bundle, grants: &Grants, facts: &Facts) -> Judgement {
    match facts.unclassified {
        None => asked(bundle, grants, facts, bundle.policies()),
        Some(
            reason @ (Reason::NoSuchTool | Reason::NotBindable | Reason::Malformed | Reason::ControlVerb),
        ) => Judgement::without_rule(Verdict::Deny, reason),
        Some(reason @ (Reason::UnknownTool | Reason::NounMissing | Reason::DefinitionChanged))
            if held_rightly(bundle, facts, reason) =>
        {
            Judgement::without_rule(Verdict::StepUp, reason)
        }
        Some(_) => Judgement::error(),
    }
}

fn asked(bundle: &Bundle, grants: &Grants, facts: &Facts, policies: &PolicySet) -> Judgement {
    bounds::with_room_to_judge(|| ask(bundle, grants, facts, policies))
        .unwrap_or_else(|PolicyError| Judgement::error())
}

/// Whether the registry agrees that no rule could be asked.
fn held_rightly(bundle: &Bundle, facts: &Facts, reason: Reason) -> bool {
    match (tool(bundle, facts), reason) {
        (None, Reason::UnknownTool) => facts.action.is_none(),
        (Some(tool), Reason::NounMissing) => {
            says_so(tool, facts) && tool.pin() == facts.pin && facts.resources.is_empty()
        }
        (Some(tool), Reason::DefinitionChanged) => {
            says_so(tool, facts) && (tool.pin().is_none() || tool.pin() != facts.pin)
        }
        _ => false,
    }
}

fn tool<'a>(bundle: &'a Bundle, facts: &Facts) -> Option<&'a Tool> {
    bundle.registry().tool(facts.provider.as_deref()?, facts.tool.as_deref()?)
}

/// Whether the class in the facts is the one that the registry gives this tool. Facts are claims of whoever classified;
/// the registry is what the operator published.
fn says_so(tool: &Tool, facts: &Facts) -> bool {
    use counterfoil_core::statement::{DataClass, Destination, Magnitude, Operation, Reversibility};
    // Where nothing was published, a vendor's signals say it, and they are in the facts as well.
    let declared = match &facts.signals {
        Some(signals) => tool.dimensions().or_claimed(signals),
        None => *tool.dimensions(),
    };
    let said = &facts.context;
    facts.action.as_deref() == Some(&tool.action())
        && said.operation == declared.operation.unwrap_or(Operation::Unknown)
        && said.data_class == declared.data_class.unwrap_or(DataClass::Unknown)
        && said.destination == declared.destination.unwrap_or(Destination::Unknown)
        && said.magnitude == declared.magnitude.unwrap_or(Magnitude::Unknown)
        && said.reversibility == declared.reversibility.unwrap_or(Reversibility::Unknown)
}

/// What rules and grants said about all nouns together.
#[derive(Default)]
struct Tally {
    denies: BTreeSet<RuleId>,
    holds: BTreeSet<RuleId>,
    narrows: BTreeSet<RuleId>,
    defers: BTreeSet<RuleId>,
    allows: BTreeSet<RuleId>,
    /// Some noun was allowed by a grant alone.
    granted: bool,
    /// Some noun was allowed by nothing.
    unmatched: bool,
}

fn ask(
    bundle: &Bundle,
    grants: &Grants,
    facts: &Facts,
    policies: &PolicySet,
) -> Result<Judgement, PolicyError> {
    let nouns = classified(bundle, facts)?;
    let mut tally = Tally::default();
    for noun in &nouns {
        let (request, entities) =
            request::of(noun, facts, (bundle.schema(), bundle.names(), bundle.has_sessions()))?;
        let matched = ask_rules((bundle, policies), (&request, &entities), &mut tally)?;
        if !matched && !ask_grants(grants, facts, (&request, &entities), &mut tally)? {
            tally.unmatched = true;
        }
    }
    tally.judgement(facts)
}

/// The nouns of a call that was classified, at least one.
fn classified(bundle: &Bundle, facts: &Facts) -> Result<Vec<NounValue>, PolicyError> {
    let tool = tool(bundle, facts).ok_or(PolicyError)?;
    // Who asks about a call of his own lists no definition that could be held against a pin.
    let is_pinned = tool.pin().is_some() || facts.context.mode == Mode::Hook;
    if !says_so(tool, facts) || !is_pinned || tool.pin() != facts.pin {
        return Err(PolicyError);
    }
    let nouns: Vec<NounValue> = facts
        .resources
        .iter()
        .map(|resource| resource.noun().map_err(|_| PolicyError))
        .collect::<Result<_, _>>()?;
    let declared = |noun: &NounValue| tool.nouns().iter().any(|n| n.kind() == noun.kind());
    if nouns.is_empty() || !nouns.iter().all(declared) {
        return Err(PolicyError);
    }
    Ok(nouns)
}

type Question<'q> = (&'q Request, &'q Entities);

/// Whether some rule speaks about this noun.
fn ask_rules(
    (bundle, policies): (&Bundle, &PolicySet),
    (request, entities): Question<'_>,
    tally: &mut Tally,
) -> Result<bool, PolicyError> {
    let response = Authorizer::new().is_authorized(request, policies, entities);
    without_errors(&response)?;
    let mut matched = false;
    for id in response.diagnostics().reason() {
        matched = true;
        let rule = bundle.rule(id.as_ref()).ok_or(PolicyError)?;
        let rules = match (response.decision(), rule.effect()) {
            (Decision::Deny, Effect::Deny) => &mut tally.denies,
            (Decision::Deny, Effect::Hold) => &mut tally.holds,
            (Decision::Deny, Effect::Narrow) => &mut tally.narrows,
            (Decision::Deny, Effect::Defer) => &mut tally.defers,
            (Decision::Allow, Effect::Allow) => &mut tally.allows,
            (Decision::Allow, Effect::Deny | Effect::Hold | Effect::Narrow | Effect::Defer)
            | (Decision::Deny, Effect::Allow) => return Err(PolicyError),
        };
        rules.insert(rule.id().clone());
    }
    match (response.decision(), matched) {
        (Decision::Allow, false) => Err(PolicyError),
        (Decision::Allow | Decision::Deny, _) => Ok(matched),
    }
}

/// Whether one of the agent's own grants allows a noun about which no rule speaks.
fn ask_grants(
    grants: &Grants,
    facts: &Facts,
    (request, entities): Question<'_>,
    tally: &mut Tally,
) -> Result<bool, PolicyError> {
    let action = facts.action.as_deref().ok_or(PolicyError)?;
    let Some(policies) = grants.policies(facts.agent, action) else {
        return Ok(false);
    };
    let response = Authorizer::new().is_authorized(request, policies, entities);
    without_errors(&response)?;
    if response.decision() == Decision::Deny {
        return Ok(false);
    }
    let ids: Vec<RuleId> = response
        .diagnostics()
        .reason()
        .map(|id| AsRef::<str>::as_ref(id).parse().map_err(|_| PolicyError))
        .collect::<Result<_, _>>()?;
    // Cedar allows for a reason or not at all.
    if ids.is_empty() {
        return Err(PolicyError);
    }
    tally.allows.extend(ids);
    tally.granted = true;
    Ok(true)
}

/// Cedar skips a rule that fails. A failing forbid would then forbid nothing.
fn without_errors(response: &Response) -> Result<(), PolicyError> {
    match response.diagnostics().errors().next() {
        Some(_) => Err(PolicyError),
        None => Ok(()),
    }
}

impl Tally {
    /// The strongest verdict of all nouns. Under break-glass a noun that nothing allows is no obstacle; what rules say is.
    fn judgement(self, facts: &Facts) -> Result<Judgement, PolicyError> {
        let left = self.unmatched && !facts.is_before(facts.breakglass_until);
        let unallowed = |base| left && facts.base_verdict == base;
        let judgement = if !self.denies.is_empty() {
            Judgement::by(Verdict::Deny, Reason::Rule, self.denies)
        } else if unallowed(BaseVerdict::Deny) {
            Judgement::without_rule(Verdict::Deny, Reason::NoRule)
        } else if !self.holds.is_empty() {
            Judgement::by(Verdict::StepUp, Reason::Rule, self.holds)
        } else if unallowed(BaseVerdict::StepUp) {
            Judgement::without_rule(Verdict::StepUp, Reason::NoRule)
        } else if !self.narrows.is_empty() {
            Judgement::by(Verdict::Modify, Reason::Rule, self.narrows)
        } else if !self.defers.is_empty() {
            Judgement::by(Verdict::Defer, Reason::Rule, self.defers)
        } else if self.unmatched {
            Judgement::by(Verdict::Allow, Reason::BreakGlass, self.allows)
        } else if self.allows.is_empty() {
            return Err(PolicyError);
        } else {
            let reason = if self.granted { Reason::Grant } else { Reason::Rule };
            Judgement::by(Verdict::Allow, reason, self.allows)
        };
        Ok(judgement)
    }
}

#[cfg(test)]
mod tests;
