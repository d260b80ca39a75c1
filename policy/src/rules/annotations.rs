//! What a rule says about itself: `@id`, what a forbid does instead of denying, and words for people.

use super::{Effect, MAX_TOLD, RuleFault};
use cedar_policy::pst::{Effect as Written, Template};

/// What the annotations of a rule without a defect say.
#[derive(Debug)]
pub(super) struct Said {
    pub effect: Effect,
    pub told: Option<String>,
    pub vendor_lifts: bool,
}

pub(super) fn read(body: &Template) -> Result<Said, Vec<RuleFault>> {
    let mut faults = Vec::new();
    let word =
        |name: &str| body.annotations.iter().find(|(n, _)| n.as_str() == name).map(|(_, v)| v.as_str());
    for name in body.annotations.keys() {
        match name.as_str() {
            "id" | "verdict" | "narrow" | "needs" | "lift" | "author" | "reason" | "note" => {}
            other => faults.push(RuleFault::Annotation(other.to_owned())),
        }
    }
    let effect = match (body.effect, word("verdict")) {
        (Written::Permit, None) => Some(Effect::Allow),
        (Written::Forbid, None) => Some(Effect::Deny),
        (Written::Forbid, Some("STEP_UP")) => Some(Effect::Hold),
        (Written::Forbid, Some("MODIFY")) => Some(Effect::Narrow),
        (Written::Forbid, Some("DEFER")) => Some(Effect::Defer),
        (Written::Forbid | Written::Permit, Some(_)) => {
            faults.push(RuleFault::Verdict);
            None
        }
    };
    let mut told = None;
    for (name, of, verdict) in
        [("narrow", Effect::Narrow, "@verdict(\"MODIFY\")"), ("needs", Effect::Defer, "@verdict(\"DEFER\")")]
    {
        match word(name) {
            Some(text) if effect == Some(of) && is_told(text) => told = Some(text.to_owned()),
            Some(_) if effect == Some(of) => faults.push(RuleFault::Told(name)),
            None if effect == Some(of) => faults.push(RuleFault::Belongs(name, verdict)),
            Some(_) => faults.push(RuleFault::Belongs(name, verdict)),
            None => {}
        }
    }
    let vendor_lifts = word("lift") == Some("vendor") && effect == Some(Effect::Hold);
    if word("lift").is_some() && !vendor_lifts {
        faults.push(RuleFault::Lift);
    }
    match effect {
        Some(effect) if faults.is_empty() => Ok(Said { effect, told, vendor_lifts }),
        Some(_) | None => Err(faults),
    }
}

fn is_told(text: &str) -> bool {
    (1..=MAX_TOLD).contains(&text.chars().count())
        && !text.chars().any(char::is_control)
        && !text.trim().is_empty()
}
