//! Replay: every decision that rules produced, evaluated again (P8).
//!
//! Promised: a decision agrees only if its opening opens the very commitments that it carries, the facts in it are of
//! this call, the bundle is the one that the decision names, and the evaluation gives the same verdict, reason and
//! rules. Not promised: that the facts were true; they are what the gateway saw.

use anyhow::{Context, ensure};
use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::package::{Line, Source, name};
use counterfoil_core::statement::{Decision, Mode, Reason, Statement};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{Facts, evaluate};
use serde_json::{Value, json};

use super::bundles::Bundles;
use super::grants::GrantTexts;
use super::openings::{Opener, Opening, Openings};
use super::statements::Lines;

/// An opening follows its decision in another request: the newest may be on their way.
const ON_ITS_WAY_MILLIS: i64 = 60_000;

/// The holder's mistake, not the package's.
#[derive(Debug, thiserror::Error)]
#[error("this disclosure key opens none of the openings")]
pub(super) struct WrongKey;

#[derive(Clone, Debug, Default)]
pub(super) struct Replayed {
    pub(super) agreed: u64,
    /// Made by a kill, a revocation, a limit or a clock: rules had no say.
    pub(super) without_rules: u64,
    /// Body erased or withheld.
    pub(super) unseen: u64,
    /// Decisions without an opening or without a bundle, and the first of them.
    pub(super) unopened: u64,
    pub(super) first_unopened: Option<String>,
    /// The first that does not agree.
    pub(super) differs: Option<String>,
}

/// What decided, as far as it is in the package.
#[derive(Clone, Copy)]
pub(super) struct Texts<'t> {
    pub(super) bundles: &'t Bundles,
    pub(super) grants: &'t GrantTexts,
}

pub(super) fn replay(source: &dyn Source, texts: Texts<'_>, opener: &Opener) -> anyhow::Result<Replayed> {
    let mut replayed = Replayed::default();
    let openings = source.open(name::OPENINGS)?;
    let (Some(openings), true) = (openings, texts.bundles.are_there) else {
        replayed.unopened = 1;
        replayed.first_unopened = Some("the package was made without rules and openings".to_owned());
        return Ok(replayed);
    };
    let mut openings = Openings::of(openings, opener)?;
    let statements = source.open(name::STATEMENTS)?.context("statements.jsonl was there before")?;
    let mut lines = Lines::of(statements, name::STATEMENTS);
    let mut missing: Vec<(Timestamp, String)> = Vec::new();
    let mut newest = None;
    while let Some(line) = lines.next_line::<Line>()? {
        let Some(body) = line.body else {
            replayed.unseen += 1;
            continue;
        };
        let envelope = Envelope::parse(body.get().as_bytes())?;
        let Statement::Decision(decision) = envelope.statement()? else { continue };
        newest = newest.max(Some(decision.at));
        if !is_of_rules(decision.reason) {
            replayed.without_rules += 1;
            continue;
        }
        let found = openings.of_decision(line.seq, &envelope.digest())?;
        let place = || format!("entry {} ({})", line.seq, decision.action);
        match again(&decision, &found, texts) {
            Again::Agrees => replayed.agreed += 1,
            Again::Unopened(why) => {
                replayed.unopened += 1;
                // Once one is named, no more need be remembered.
                if replayed.first_unopened.is_none() {
                    missing.push((decision.at, format!("{}: {why}", place())));
                    settle(&mut missing, decision.at, &mut replayed);
                }
            }
            Again::Differs(why) => {
                replayed.differs = Some(format!("REPLAY: {}: {why}", place()));
                return Ok(replayed);
            }
        }
    }
    ensure!(openings.opened > 0 || openings.closed == 0, WrongKey);
    if let Some(newest) = newest {
        settle(&mut missing, newest, &mut replayed);
    }
    Ok(replayed)
}

/// Names the first that is missing for good. Younger ones may still come.
fn settle(missing: &mut Vec<(Timestamp, String)>, now: Timestamp, replayed: &mut Replayed) {
    let overdue = |(at, _): &mut (Timestamp, String)| at.millis() + ON_ITS_WAY_MILLIS < now.millis();
    if let Some((_, place)) = missing.extract_if(.., overdue).next() {
        replayed.first_unopened.get_or_insert(place);
    }
}

pub(super) fn is_of_rules(reason: Reason) -> bool {
    match reason {
        Reason::Rule
        | Reason::NoRule
        | Reason::UnknownTool
        | Reason::NounMissing
        | Reason::DefinitionChanged
        | Reason::NoSuchTool
        | Reason::NotBindable
        | Reason::Malformed
        | Reason::PolicyError
        | Reason::Grant
        | Reason::Approved
        | Reason::BreakGlass => true,
        Reason::Killed
        | Reason::Revoked
        | Reason::OverCap
        | Reason::Stale
        | Reason::Skew
        | Reason::PersonRequired
        | Reason::AnsweredNo
        | Reason::HoldExpired
        | Reason::ControlVerb => false,
    }
}

enum Again {
    Agrees,
    Unopened(&'static str),
    Differs(String),
}

fn again(decision: &Decision, openings: &[Opening], texts: Texts<'_>) -> Again {
    if openings.is_empty() {
        return Again::Unopened("no opening is here that this key opens");
    }
    let Some((facts, seed)) = facts_of(decision, openings) else {
        return Again::Differs("its opening opens another commitment".to_owned());
    };
    if let Some(member) = differs_from(&facts.document(), seed, decision) {
        return Again::Differs(format!("its facts have another {member} than the decision"));
    }
    let Some(bundle) = texts.bundles.bundle(&decision.policy) else {
        return Again::Unopened("the texts that decided are not here");
    };
    let Some(grants) = texts.grants.compiled(facts.grants(), &bundle) else {
        return Again::Unopened("a grant that it saw is not here");
    };
    if texts.grants.digest(facts.grants(), decision.agent).is_some_and(|digest| digest != decision.grants) {
        return Again::Differs("its facts have other grants than the decision".to_owned());
    }
    let judged = evaluate(&bundle, &grants, &facts);
    let said = (decision.verdict, decision.reason, decision.effect, &decision.rules);
    if (judged.verdict, judged.reason, judged.effect, &judged.rules) == said {
        return Again::Agrees;
    }
    Again::Differs(format!(
        "evaluated again it is {} ({}, {}), and the decision says {} ({}, {})",
        judged.verdict, judged.reason, judged.effect, decision.verdict, decision.reason, decision.effect
    ))
}

/// The facts that this decision commits to, and the seed that opens its commitments.
pub(super) fn facts_of<'o>(decision: &Decision, openings: &'o [Opening]) -> Option<(Facts, &'o OpeningSeed)> {
    openings.iter().find_map(|opening| {
        let facts = Facts::parse(&counterfoil_core::json::canonical(&opening.facts)).ok()?;
        let opened = opening.seed.commit("facts", &facts.digest().to_string()).commitment();
        (opened == decision.facts).then_some((facts, &opening.seed))
    })
}

/// The first member of the facts that is not the decision's own.
fn differs_from(facts: &Value, seed: &OpeningSeed, decision: &Decision) -> Option<&'static str> {
    let context = &facts["context"];
    // A vendor declares its sessions itself. Nobody counts those, so the facts have none.
    let session = match decision.mode {
        Mode::Gateway => json!(decision.session),
        Mode::Hook => Value::Null,
    };
    let said = [
        ("agent", &facts["agent"], json!(decision.agent)),
        ("pin", &facts["pin"], json!(decision.pin)),
        ("env", &context["env"], json!(decision.env)),
        ("origin", &context["origin"], json!(decision.origin)),
        ("mode", &context["mode"], json!(decision.mode)),
        ("time", &context["now"], json!(decision.at)),
        ("answer", &facts["approval"], json!(decision.answers)),
        ("session", &facts["session"]["session"], session),
    ];
    let public = said.into_iter().find(|(_, facts, decision)| *facts != decision);
    if let Some((member, ..)) = public {
        return Some(member);
    }
    // A label that the provider does not list stands in the sealed facts alone.
    let labels = [("provider", json!(decision.provider)), ("tool", json!(decision.tool))];
    if let Some((member, _)) = labels.iter().find(|(name, label)| !label.is_null() && facts[*name] != *label)
    {
        return Some(member);
    }
    let opens = |name: &str, value: &Value| value.as_str().map(|value| seed.commit(name, value).commitment());
    if opens("principal", &facts["principal"]) != decision.principal {
        return Some("principal");
    }
    let args = facts["args"].as_str().map(|args| seed.provider().commit("args", args).commitment());
    if args != decision.args {
        return Some("args");
    }
    let nouns = decision.class.as_ref().map(|class| class.nouns.as_slice()).unwrap_or_default();
    let resources = facts["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
    let same = |place: usize| {
        let opened = opens(&format!("noun/{place}"), &resources[place]["value"]);
        opened == Some(nouns[place].commit)
    };
    let all = resources.len() == nouns.len() && (0..nouns.len()).all(same);
    (!all).then_some("noun")
}

#[cfg(test)]
pub(super) mod tests;
