//! A vendor's word about what a person said to it.
//!
//! Promised: it lifts a STEP_UP only where every rule that holds the call says `@lift("vendor")`, at no high risk, and only as
//! far as those rules: what the others say, and that something allows it, is asked again without them. It lifts nothing else,
//! and no DENY (G6). A decline denies.
//! Not promised: that there was a person. The verdict says whose word it rests on.

use super::{Judgement, asked, tool};
use crate::bundle::Bundle;
use crate::facts::Facts;
use crate::grants::Grants;
use crate::registry::Risk;
use cedar_policy::PolicyId;
use counterfoil_core::statement::{Mode, Reason, Verdict};
use counterfoil_core::verdict::Answer;
use std::collections::BTreeSet;

pub(super) fn heard(judgement: Judgement, bundle: &Bundle, grants: &Grants, facts: &Facts) -> Judgement {
    let answer = facts.signals.as_ref().and_then(|signals| signals.answer());
    match (answer, judgement.verdict) {
        (Some(Answer::Declines(_)), Verdict::Deny) => judgement,
        (Some(Answer::Declines(_)), _) => Judgement::without_rule(Verdict::Deny, Reason::AnsweredNo),
        (Some(Answer::Approves(_)), Verdict::StepUp) => {
            let lifted = lifted(&judgement, bundle, grants, facts);
            lifted.unwrap_or(Judgement { reason: Reason::PersonRequired, ..judgement })
        }
        (Some(Answer::Approves(_)) | None, _) => judgement,
    }
}

/// What is left without the rules that let the vendor lift them; none where it lifts nothing.
fn lifted(judgement: &Judgement, bundle: &Bundle, grants: &Grants, facts: &Facts) -> Option<Judgement> {
    let lifts = |id| bundle.rule(id).is_some_and(|rule| rule.vendor_lifts());
    let by_rules = judgement.reason == Reason::Rule && !judgement.rules.is_empty();
    let may = by_rules
        && facts.context.mode == Mode::Hook
        && judgement.rules.iter().all(|id| lifts(id.as_str()))
        && tool(bundle, facts).is_some_and(|tool| tool.risk() != Risk::High);
    if !may {
        return None;
    }
    let mut policies = bundle.policies().clone();
    for id in &judgement.rules {
        policies.remove_static(PolicyId::new(id.as_str())).ok()?;
    }
    let left = asked(bundle, grants, facts, &policies);
    match left.verdict {
        Verdict::StepUp => None,
        Verdict::Allow => {
            let rules: BTreeSet<_> = judgement.rules.iter().chain(&left.rules).cloned().collect();
            Some(Judgement { is_vendor_approved: true, rules: rules.into_iter().collect(), ..left })
        }
        Verdict::Deny | Verdict::Modify | Verdict::Defer => Some(left),
    }
}

#[cfg(test)]
mod tests;
