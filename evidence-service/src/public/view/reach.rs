//! What this agent may do at most: the published rules in sentences, and how they changed between two days.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::RuleId;
use counterfoil_core::statement::Verdict;
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{Effect, Sentence};
use serde::Serialize;

use super::super::gather::Gathered;
use super::super::projection::PublishedText;
use super::super::reach::InForce;

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Reach {
    pub(in crate::public) registry: Option<PublishedText>,
    pub(in crate::public) rules: Option<PublishedText>,
    /// What holds whatever the rules say.
    pub(in crate::public) always: Vec<&'static str>,
    /// Null while nothing is published, or if this build cannot read what is.
    pub(in crate::public) sentences: Option<Vec<SaidRule>>,
    /// Grants of people that stand beside the rules now, counted up to a thousand.
    pub(in crate::public) grants: u64,
    pub(in crate::public) change: Option<Change>,
    /// Publications of rules, newest first.
    pub(in crate::public) versions: Vec<PublishedText>,
}

/// One rule in words.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(in crate::public) struct SaidRule {
    pub(in crate::public) rule: RuleId,
    pub(in crate::public) effect: &'static str,
    pub(in crate::public) text: String,
    pub(in crate::public) digest: Digest,
    /// Its deadline has passed: it allows nothing any more.
    pub(in crate::public) ended: bool,
}

/// What came and went between the ends of two days. A rule that was rewritten is in both lists.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Change {
    pub(in crate::public) from: String,
    pub(in crate::public) to: String,
    pub(in crate::public) came: Vec<SaidRule>,
    pub(in crate::public) went: Vec<SaidRule>,
    pub(in crate::public) stayed: u64,
    /// One of the two cannot be read by this build, or was not published yet.
    pub(in crate::public) incomplete: bool,
}

/// Two days, and what was in force at the end of each.
pub(in crate::public) struct GatheredChange {
    pub(in crate::public) from: String,
    pub(in crate::public) to: String,
    pub(in crate::public) before: InForce,
    pub(in crate::public) after: InForce,
}

impl Reach {
    pub(super) fn of(found: &Gathered) -> Self {
        let base = match found.project.base_verdict {
            Verdict::StepUp => "What no rule allows is held for a person.",
            Verdict::Allow | Verdict::Deny | Verdict::Modify | Verdict::Defer => {
                "What no rule allows is denied."
            }
        };
        Self {
            registry: found.in_force.registry.clone(),
            rules: found.in_force.rules.clone(),
            always: vec![
                base,
                "A denial beats every hold, a hold beats every permission.",
                "A tool that the registry does not know, a call without a readable noun, and a tool whose definition changed are held every time.",
            ],
            sentences: sentences(&found.in_force, found.now),
            grants: found.grants,
            change: found.change.as_ref().map(|change| Change::of(change, found.now)),
            versions: found.versions.clone(),
        }
    }
}

impl Change {
    fn of(found: &GatheredChange, now: Timestamp) -> Self {
        let (before, after) = (sentences(&found.before, now), sentences(&found.after, now));
        let incomplete = before.is_none() || after.is_none();
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let same = |one: &SaidRule, others: &[SaidRule]| others.contains(one);
        let stayed = after.iter().filter(|rule| same(rule, &before)).count() as u64;
        Self {
            from: found.from.clone(),
            to: found.to.clone(),
            came: after.iter().filter(|rule| !same(rule, &before)).cloned().collect(),
            went: before.iter().filter(|rule| !same(rule, &after)).cloned().collect(),
            stayed,
            incomplete,
        }
    }
}

fn sentences(in_force: &InForce, now: Timestamp) -> Option<Vec<SaidRule>> {
    let sentences = in_force.said.as_ref()?.sentences.as_ref()?;
    Some(sentences.iter().map(|sentence| SaidRule::of(sentence, now)).collect())
}

impl SaidRule {
    fn of(sentence: &Sentence, now: Timestamp) -> Self {
        Self {
            rule: sentence.rule.clone(),
            effect: match sentence.effect {
                Effect::Allow => "allow",
                Effect::Hold => "hold",
                Effect::Narrow => "narrow",
                Effect::Defer => "defer",
                Effect::Deny => "deny",
            },
            text: sentence.text.clone(),
            digest: sentence.digest,
            ended: sentence.until.is_some_and(|until| until <= now),
        }
    }
}
