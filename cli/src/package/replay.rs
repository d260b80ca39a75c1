//! Replay: every decision that rules produced, evaluated again (P8).
//!
//! Promised: a decision agrees only if its opening opens the very commitments that it carries, the facts in it are of
//! this call, the bundle is the one that the decision names, and the evaluation gives the same verdict, reason and
//! rules. Not promised: that the facts were true; they are what the gateway saw.

use anyhow::{Context, ensure};
use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::package::{Line, Source, name};
use counterfoil_core::statement::{Decision, Reason, Statement};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{Facts, evaluate};
use serde_json::{Value, json};

use super::bundles::Bundles;
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

pub(super) fn replay(source: &dyn Source, bundles: &Bundles, opener: &Opener) -> anyhow::Result<Replayed> {
    let mut replayed = Replayed::default();
    let openings = source.open(name::OPENINGS)?;
    let (Some(openings), true) = (openings, bundles.are_there) else {
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
        match again(&decision, &found, bundles) {
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

fn is_of_rules(reason: Reason) -> bool {
    match reason {
        Reason::Rule
        | Reason::NoRule
        | Reason::UnknownTool
        | Reason::NounMissing
        | Reason::DefinitionChanged
        | Reason::NoSuchTool
        | Reason::NotBindable
        | Reason::Malformed
        | Reason::PolicyError => true,
        Reason::Killed
        | Reason::Revoked
        | Reason::OverCap
        | Reason::Stale
        | Reason::Skew
        | Reason::PersonRequired
        | Reason::Grant
        | Reason::Approved
        | Reason::AnsweredNo
        | Reason::HoldExpired
        | Reason::ControlVerb
        | Reason::BreakGlass => false,
    }
}

enum Again {
    Agrees,
    Unopened(&'static str),
    Differs(String),
}

fn again(decision: &Decision, openings: &[Opening], bundles: &Bundles) -> Again {
    if openings.is_empty() {
        return Again::Unopened("no opening is here that this key opens");
    }
    let opens = openings.iter().find_map(|opening| {
        let facts = Facts::parse(&counterfoil_core::json::canonical(&opening.facts)).ok()?;
        let opened = opening.seed.commit("facts", &facts.digest().to_string()).commitment();
        (opened == decision.facts).then_some((facts, &opening.seed))
    });
    let Some((facts, seed)) = opens else {
        return Again::Differs("its opening opens another commitment".to_owned());
    };
    if let Some(member) = differs_from(&facts.document(), seed, decision) {
        return Again::Differs(format!("its facts have another {member} than the decision"));
    }
    let Some(bundle) = bundles.bundle(&decision.policy) else {
        return Again::Unopened("the texts that decided are not here");
    };
    let judged = evaluate(&bundle, &facts);
    if (judged.verdict, judged.reason, &judged.rules) == (decision.verdict, decision.reason, &decision.rules)
    {
        return Again::Agrees;
    }
    Again::Differs(format!(
        "evaluated again it is {} ({}), and the decision says {} ({})",
        judged.verdict, judged.reason, decision.verdict, decision.reason
    ))
}

/// The first member of the facts that is not the decision's own.
fn differs_from(facts: &Value, seed: &OpeningSeed, decision: &Decision) -> Option<&'static str> {
    let context = &facts["context"];
    let said = [
        ("agent", &facts["agent"], json!(decision.agent)),
        ("pin", &facts["pin"], json!(decision.pin)),
        ("env", &context["env"], json!(decision.env)),
        ("origin", &context["origin"], json!(decision.origin)),
        ("mode", &context["mode"], json!(decision.mode)),
        ("time", &context["now"], json!(decision.at)),
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
mod tests {
    use super::*;
    use counterfoil_core::id::AgentId;
    use counterfoil_core::statement::{Environment, Mode, Origin, Verdict};
    use counterfoil_policy::{Asked, BaseVerdict, Bundle, Refusal};

    const RULES: &str = "";
    const REGISTRY: &str = "v = 1\n";

    fn bundles() -> Bundles {
        let lines = format!(
            "{}\n{}\n",
            json!({ "seq": 1, "kind": "registry", "text": REGISTRY }),
            json!({ "seq": 2, "kind": "rules", "text": RULES })
        );
        struct One(String);
        impl Source for One {
            fn open(&self, _: &str) -> std::io::Result<Option<Box<dyn std::io::Read + '_>>> {
                Ok(Some(Box::new(self.0.as_bytes())))
            }
        }
        Bundles::read(&One(lines)).unwrap()
    }

    fn opening(agent: AgentId, now: Timestamp) -> Opening {
        let asked = Asked {
            agent,
            principal: Some("u-88"),
            origin: Origin::Mcp,
            mode: Mode::Gateway,
            env: Environment::Live,
            provider: Some("notes"),
            tool: Some("a tool that is not listed"),
            args: None,
            now,
            base_verdict: BaseVerdict::StepUp,
        };
        let facts = Facts::refused(&asked, Refusal::NoSuchTool).document();
        Opening { seed: OpeningSeed::from_bytes([7; 16]), facts }
    }

    /// A decision that follows from that opening.
    fn decision() -> Decision {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors/receipts/denied.json");
        let receipt: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let payload = receipt["receipt"]["statement"]["payload"].clone();
        let mut decision: Decision = serde_json::from_value(payload).unwrap();
        let opening = opening(decision.agent, decision.at);
        let facts = Facts::parse(&counterfoil_core::json::canonical(&opening.facts)).unwrap();
        decision.facts = opening.seed.commit("facts", &facts.digest().to_string()).commitment();
        decision.principal = Some(opening.seed.commit("principal", "u-88").commitment());
        (decision.env, decision.origin, decision.mode) = (Environment::Live, Origin::Mcp, Mode::Gateway);
        (decision.verdict, decision.reason) = (Verdict::Deny, Reason::NoSuchTool);
        (decision.tool, decision.class, decision.args, decision.pin) = (None, None, None, None);
        decision.rules = Vec::new();
        decision.policy = Bundle::compile(REGISTRY, RULES).unwrap().digest();
        decision
    }

    fn difference(change: impl FnOnce(&mut Decision)) -> String {
        let mut changed = decision();
        let opening = opening(changed.agent, changed.at);
        change(&mut changed);
        match again(&changed, &[opening], &bundles()) {
            Again::Differs(why) => why,
            Again::Agrees => "agrees".to_owned(),
            Again::Unopened(why) => why.to_owned(),
        }
    }

    /// P8
    #[test]
    fn a_decision_that_its_facts_and_bundle_do_not_give_is_named() {
        let other = AgentId::from_uuid(uuid::Uuid::from_bytes([9; 16]));

        assert_eq!(difference(|_| ()), "agrees");
        assert!(difference(|d| d.verdict = Verdict::Allow).starts_with("evaluated again it is DENY"));
        assert!(difference(|d| d.reason = Reason::NoRule).contains("(no_such_tool)"));
        assert!(difference(|d| d.rules = vec!["notes-read".parse().unwrap()]).contains("evaluated again"));
        assert_eq!(difference(|d| d.agent = other), "its facts have another agent than the decision");
        assert_eq!(
            difference(|d| d.origin = Origin::Stdio),
            "its facts have another origin than the decision"
        );
        assert_eq!(difference(|d| d.principal = None), "its facts have another principal than the decision");
        assert_eq!(
            difference(|d| d.at = d.at.plus_millis(1)),
            "its facts have another time than the decision"
        );
        assert_eq!(difference(|d| d.args = Some(d.facts)), "its facts have another args than the decision");
        assert_eq!(
            difference(|d| d.facts = OpeningSeed::from_bytes([8; 16]).commit("facts", "x").commitment()),
            "its opening opens another commitment"
        );
        assert_eq!(
            difference(|d| d.policy = counterfoil_core::digest::Digest::of(b"another")),
            "the texts that decided are not here"
        );
        assert!(matches!(again(&decision(), &[], &bundles()), Again::Unopened(_)));
    }
}
