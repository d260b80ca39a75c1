//! Simulation: what other rules would have said about decisions of the past.
//!
//! Promised: the facts are those that each decision was made on, with the grants, answers and windows of that moment, and the
//! registry too; the rules alone are exchanged. Not promised: what agents would have done next.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use anyhow::{Context, ensure};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::package::{Line, Source, name};
use counterfoil_core::statement::{Decision, Mode, Statement};
use counterfoil_policy::{Bundle, Facts, Judgement, LintError, evaluate};

use super::grants::GrantTexts;
use super::openings::{Opener, Openings};
use super::replay::{Texts, WrongKey, facts_of, is_of_rules};
use super::statements::Lines;

/// More changes than a person reads are counted.
const MOST_SHOWN: usize = 1000;

#[derive(Debug, Default)]
pub struct Simulated {
    same: u64,
    changed: u64,
    shown: Vec<String>,
    /// A kill, a limit, a clock or a person decided.
    without_rules: u64,
    /// No body, opening, text or grant of it is here.
    unopened: u64,
    /// Under the registry of their time the rules do not load.
    unloadable: u64,
    /// The new rules ask what the session did, and those of their time did not.
    uncounted: u64,
    first_fault: Option<String>,
}

/// The new rules beside each registry of the past.
struct Rewritten<'r> {
    rules: &'r str,
    bundles: HashMap<Digest, Result<Rc<Bundle>, String>>,
}

pub(super) fn simulate(
    source: &dyn Source,
    texts: Texts<'_>,
    opener: &Opener,
    rules: &str,
) -> anyhow::Result<Simulated> {
    let openings = source.open(name::OPENINGS)?.context("the package was made without rules and openings")?;
    let mut openings = Openings::of(openings, opener)?;
    let statements = source.open(name::STATEMENTS)?.context("statements.jsonl was there before")?;
    let mut lines = Lines::of(statements, name::STATEMENTS);
    let mut rewritten = Rewritten { rules, bundles: HashMap::new() };
    let mut simulated = Simulated::default();
    while let Some(line) = lines.next_line::<Line>()? {
        let Some(body) = line.body else { continue };
        let envelope = Envelope::parse(body.get().as_bytes())?;
        let Statement::Decision(decision) = envelope.statement()? else { continue };
        if !is_of_rules(decision.reason) {
            simulated.without_rules += 1;
            continue;
        }
        let found = openings.of_decision(line.seq, &envelope.digest())?;
        let facts = facts_of(&decision, &found).map(|(facts, _)| facts);
        let Some((facts, registry)) = facts.zip(texts.bundles.registry_of(&decision.policy)) else {
            simulated.unopened += 1;
            continue;
        };
        let bundle = match rewritten.beside(&registry) {
            Ok(bundle) => bundle,
            Err(fault) => {
                simulated.unloadable += 1;
                simulated.first_fault.get_or_insert(fault);
                continue;
            }
        };
        simulated.weigh((line.seq, &decision), &facts, &bundle, texts.grants);
    }
    ensure!(openings.opened > 0 || openings.closed == 0, WrongKey);
    Ok(simulated)
}

impl Rewritten<'_> {
    fn beside(&mut self, registry: &str) -> Result<Rc<Bundle>, String> {
        let compile = || {
            let told = |errors: Vec<LintError>| {
                errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            };
            Bundle::compile(registry, self.rules).map(Rc::new).map_err(told)
        };
        self.bundles.entry(Digest::of(registry.as_bytes())).or_insert_with(compile).clone()
    }
}

impl Simulated {
    fn weigh(
        &mut self,
        (seq, decision): (u64, &Decision),
        facts: &Facts,
        bundle: &Bundle,
        grants: &GrantTexts,
    ) {
        // Evaluated, it would be a DENY for want of counts, which says nothing about the rules.
        if bundle.has_sessions() && facts.session().is_none() && decision.mode == Mode::Gateway {
            self.uncounted += 1;
            return;
        }
        match grants.compiled(facts.grants(), bundle) {
            Some(grants) => self.compare(seq, decision, &evaluate(bundle, &grants, facts)),
            None => self.unopened += 1,
        }
    }

    fn compare(&mut self, seq: u64, decision: &Decision, judged: &Judgement) {
        let was = (decision.verdict, decision.reason, decision.effect, &decision.rules);
        if was == (judged.verdict, judged.reason, judged.effect, &judged.rules) {
            self.same += 1;
            return;
        }
        self.changed += 1;
        if self.shown.len() < MOST_SHOWN {
            let ids = |rules: &[counterfoil_core::id::RuleId]| {
                rules.iter().map(|rule| format!(" {rule}")).collect::<String>()
            };
            let label = |label: Option<String>| label.unwrap_or_else(|| "-".to_owned());
            self.shown.push(format!(
                "entry {seq} {}/{}: {} {}{} would be {} {}{}",
                label(decision.provider.as_ref().map(ToString::to_string)),
                label(decision.tool.as_ref().map(ToString::to_string)),
                decision.verdict,
                decision.reason,
                ids(&decision.rules),
                judged.verdict,
                judged.reason,
                ids(&judged.rules),
            ));
        }
    }

    /// For a terminal: every change, then the counts.
    pub fn lines(&self) -> String {
        let mut text: String = self.shown.iter().map(|line| format!("{line}\n")).collect();
        // Writing to a String cannot fail.
        if self.changed > self.shown.len() as u64 {
            let _ = writeln!(text, "and {} more", self.changed - self.shown.len() as u64);
        }
        let _ = writeln!(text, "{} would change, {} would not", self.changed, self.same);
        for (count, what) in [
            (self.without_rules, "were made by a kill, a limit, a clock or a person"),
            (self.unopened, "cannot be opened: no body, opening, text or grant of them is here"),
            (self.unloadable, "have a registry under which the rules do not load"),
            (self.uncounted, "do not say what the session did, and these rules ask"),
        ] {
            if count > 0 {
                let _ = writeln!(text, "{count} {what}");
            }
        }
        if let Some(fault) = &self.first_fault {
            let _ = writeln!(text, "the first: {fault}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::replay::tests::{decided_under, with_a_tool};
    use super::*;
    use counterfoil_core::json::canonical;
    use counterfoil_core::session::Summary;
    use counterfoil_policy::Standing;

    const ASKS: &str = r#"
        @id("one-a-session")
        forbid (principal, action, resource) when { context.session.cleared >= 1 };
    "#;

    fn simulated(session: Option<&Summary>, mode: Mode) -> String {
        let bundle = Bundle::compile(&with_a_tool(), ASKS).unwrap();
        let (mut decision, opening) = decided_under(&[], Standing { session, ..Standing::default() });
        decision.mode = mode;
        let facts = Facts::parse(&canonical(&opening.facts)).unwrap();
        let mut simulated = Simulated::default();
        simulated.weigh((7, &decision), &facts, &bundle, &GrantTexts::default());
        simulated.lines()
    }

    /// G13: what nobody counted is no reason to say that the new rules refuse it.
    #[test]
    fn decisions_that_do_not_say_what_the_session_did_are_told_apart() {
        let fresh = Summary::begun_by("act_019355a0c0007000800000000000a001".parse().unwrap());
        let busy = Summary { cleared: 1, ..fresh.clone() };

        let lines = simulated(None, Mode::Gateway);
        assert!(lines.contains("0 would change, 0 would not"), "{lines}");
        assert!(lines.contains("1 do not say what the session did"), "{lines}");
        assert!(simulated(Some(&fresh), Mode::Gateway).starts_with("0 would change, 1 would not"));
        assert!(simulated(Some(&busy), Mode::Gateway).contains("would be DENY rule one-a-session"));
        // A vendor's question has no counts; such rules do refuse it.
        assert!(simulated(None, Mode::Hook).contains("would be DENY policy_error"));
    }
}
