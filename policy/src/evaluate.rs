//! Evaluation: what the rules say about the facts.
//!
//! Promised: a pure function, the same for whoever holds bundle and facts (G1, P8). What no rule allows is not allowed;
//! a deny beats every hold and every allow; rules have no order. Several nouns are several questions, and the call is
//! allowed only if every answer is yes. Any error is DENY `policy_error` (G3).
//! Not promised: that an allowed call may still be sent; the record transaction decides that.

pub(crate) mod request;

use crate::bundle::Bundle;
use crate::facts::{BaseVerdict, Facts};
use crate::noun::NounValue;
use crate::registry::Tool;
use crate::rules::{Effect, bounds};
use cedar_policy::{Authorizer, Decision};
use counterfoil_core::id::RuleId;
use counterfoil_core::statement::{Reason, Verdict};
use std::collections::BTreeSet;

/// The verdict, why, and the rules that made it, sorted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: Reason,
    pub rules: Vec<RuleId>,
}

impl Judgement {
    fn without_rule(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict, reason, rules: Vec::new() }
    }

    fn by(verdict: Verdict, rules: BTreeSet<RuleId>) -> Self {
        Self { verdict, reason: Reason::Rule, rules: rules.into_iter().collect() }
    }

    fn error() -> Self {
        Self::without_rule(Verdict::Deny, Reason::PolicyError)
    }
}

/// Facts that contradict the registry, a request that does not fit the schema, or a rule that failed.
#[derive(Debug)]
struct PolicyError;

pub fn evaluate(bundle: &Bundle, facts: &Facts) -> Judgement {
    match facts.unclassified {
        None => {
            bounds::with_room_to_judge(|| ask(bundle, facts)).unwrap_or_else(|PolicyError| Judgement::error())
        }
        Some(reason @ (Reason::NoSuchTool | Reason::NotBindable | Reason::Malformed)) => {
            Judgement::without_rule(Verdict::Deny, reason)
        }
        Some(reason @ (Reason::UnknownTool | Reason::NounMissing | Reason::DefinitionChanged))
            if held_rightly(bundle, facts, reason) =>
        {
            Judgement::without_rule(Verdict::StepUp, reason)
        }
        Some(_) => Judgement::error(),
    }
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
    let (said, declared) = (&facts.context, tool.dimensions());
    facts.action.as_deref() == Some(&tool.action())
        && said.operation == declared.operation.unwrap_or(Operation::Unknown)
        && said.data_class == declared.data_class.unwrap_or(DataClass::Unknown)
        && said.destination == declared.destination.unwrap_or(Destination::Unknown)
        && said.magnitude == declared.magnitude.unwrap_or(Magnitude::Unknown)
        && said.reversibility == declared.reversibility.unwrap_or(Reversibility::Unknown)
}

/// What the rules said about all nouns together.
#[derive(Default)]
struct Tally {
    denies: BTreeSet<RuleId>,
    holds: BTreeSet<RuleId>,
    allows: BTreeSet<RuleId>,
    unmatched: bool,
}

fn ask(bundle: &Bundle, facts: &Facts) -> Result<Judgement, PolicyError> {
    let nouns = classified(bundle, facts)?;
    let mut tally = Tally::default();
    for noun in &nouns {
        ask_about(noun, bundle, facts, &mut tally)?;
    }
    Ok(tally.judgement(facts.base_verdict))
}

/// The nouns of a call that was classified, at least one.
fn classified(bundle: &Bundle, facts: &Facts) -> Result<Vec<NounValue>, PolicyError> {
    let tool = tool(bundle, facts).ok_or(PolicyError)?;
    if !says_so(tool, facts) || tool.pin().is_none() || tool.pin() != facts.pin {
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

fn ask_about(noun: &NounValue, bundle: &Bundle, facts: &Facts, tally: &mut Tally) -> Result<(), PolicyError> {
    let (request, entities) = request::of(noun, facts, (bundle.schema(), bundle.names()))?;
    let response = Authorizer::new().is_authorized(&request, bundle.policies(), &entities);
    // Cedar skips a rule that fails. A failing forbid would then forbid nothing.
    if response.diagnostics().errors().next().is_some() {
        return Err(PolicyError);
    }

    let mut matched = false;
    for id in response.diagnostics().reason() {
        matched = true;
        let rule = bundle.rule(id.as_ref()).ok_or(PolicyError)?;
        let rules = match (response.decision(), rule.effect()) {
            (Decision::Deny, Effect::Deny) => &mut tally.denies,
            (Decision::Deny, Effect::Hold) => &mut tally.holds,
            (Decision::Allow, Effect::Allow) => &mut tally.allows,
            (Decision::Allow, Effect::Deny | Effect::Hold) | (Decision::Deny, Effect::Allow) => {
                return Err(PolicyError);
            }
        };
        rules.insert(rule.id().clone());
    }
    match (response.decision(), matched) {
        (Decision::Allow, true) | (Decision::Deny, true) => {}
        (Decision::Deny, false) => tally.unmatched = true,
        (Decision::Allow, false) => return Err(PolicyError),
    }
    Ok(())
}

impl Tally {
    fn judgement(self, base: BaseVerdict) -> Judgement {
        if !self.denies.is_empty() {
            return Judgement::by(Verdict::Deny, self.denies);
        }
        if !self.holds.is_empty() {
            return Judgement::by(Verdict::StepUp, self.holds);
        }
        if !self.unmatched && !self.allows.is_empty() {
            return Judgement::by(Verdict::Allow, self.allows);
        }
        let verdict = match base {
            BaseVerdict::StepUp => Verdict::StepUp,
            BaseVerdict::Deny => Verdict::Deny,
        };
        Judgement::without_rule(verdict, Reason::NoRule)
    }
}

#[cfg(test)]
mod tests;
