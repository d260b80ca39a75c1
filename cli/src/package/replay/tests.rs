//! Decisions made on facts that are written here, and what replay says of them.

use super::*;
use counterfoil_core::control::{GrantDocument, Grants as Given};
use counterfoil_core::id::AgentId;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::session::Summary;
use counterfoil_core::statement::{Answers, Effect, Environment, Mode, Origin, Verdict};
use counterfoil_policy::{
    Asked, BaseVerdict, Bundle, Call, Grants, Listed, Refusal, Standing, classify, pin_of,
};

const RULES: &str = "";
const REGISTRY: &str = "v = 1\n";

/// A package of one file.
struct One(String);

impl Source for One {
    fn open(&self, _: &str) -> std::io::Result<Option<Box<dyn std::io::Read + '_>>> {
        Ok(Some(Box::new(self.0.as_bytes())))
    }
}

fn bundles_of(registry: &str) -> Bundles {
    let lines = format!(
        "{}\n{}\n",
        json!({ "seq": 1, "kind": "registry", "text": registry }),
        json!({ "seq": 2, "kind": "rules", "text": RULES })
    );
    Bundles::read(&One(lines)).unwrap()
}

fn bundles() -> Bundles {
    bundles_of(REGISTRY)
}

fn opening(agent: AgentId, now: Timestamp) -> Opening {
    opening_in(Mode::Gateway, agent, now)
}

fn opening_in(mode: Mode, agent: AgentId, now: Timestamp) -> Opening {
    let asked = Asked {
        agent,
        principal: Some("u-88"),
        origin: Origin::Mcp,
        mode,
        env: Environment::Live,
        provider: Some("notes"),
        tool: Some("a tool that is not listed"),
        args: None,
        now,
        base_verdict: BaseVerdict::StepUp,
        standing: Standing::default(),
    };
    let facts = Facts::refused(&asked, Refusal::NoSuchTool).document();
    Opening { seed: OpeningSeed::from_bytes([7; 16]), facts }
}

/// A decision that follows from that opening.
fn decision() -> Decision {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors/receipts/denied.json");
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
    let texts = Texts { bundles: &bundles(), grants: &GrantTexts::default() };
    match again(&changed, &[opening], texts) {
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
    assert!(difference(|d| d.reason = Reason::NoRule).contains("(no_such_tool, enforced)"));
    assert!(difference(|d| d.effect = Effect::Advisory).contains("(no_such_tool, advisory)"));
    assert!(difference(|d| d.rules = vec!["notes-read".parse().unwrap()]).contains("evaluated again"));
    assert_eq!(difference(|d| d.agent = other), "its facts have another agent than the decision");
    assert_eq!(difference(|d| d.origin = Origin::Stdio), "its facts have another origin than the decision");
    assert_eq!(difference(|d| d.principal = None), "its facts have another principal than the decision");
    assert_eq!(difference(|d| d.at = d.at.plus_millis(1)), "its facts have another time than the decision");
    assert_eq!(difference(|d| d.args = Some(d.facts)), "its facts have another args than the decision");
    assert_eq!(
        difference(|d| d.facts = OpeningSeed::from_bytes([8; 16]).commit("facts", "x").commitment()),
        "its opening opens another commitment"
    );
    assert_eq!(
        difference(|d| d.policy = counterfoil_core::digest::Digest::of(b"another")),
        "the texts that decided are not here"
    );
    let texts = Texts { bundles: &bundles(), grants: &GrantTexts::default() };
    assert!(matches!(again(&decision(), &[], texts), Again::Unopened(_)));
}

const NONCE: [u8; 16] = [5; 16];

pub(crate) fn with_a_tool() -> String {
    let pin = pin_of(&json!({ "name": "sync" }));
    format!(
        "v = 1\n[provider.notes.tool.sync]\nservice = \"notes\"\nverb = \"execute\"\nnouns = [{{ type = \"tool\" }}]\npin = \"{pin}\"\n"
    )
}

fn grant(agent: AgentId) -> GrantDocument {
    let document = json!({ "v": 1, "nonce": Nonce16::from_bytes([6; 16]), "grant": "grt_019355a0c0007000800000000000e001",
        "agent": agent, "service": "notes", "verb": "execute", "noun": { "type": "tool", "value": "notes/sync" },
        "fields": {}, "until": "2030-01-01T00:00:00.000Z" });
    serde_json::from_value(document).unwrap()
}

fn packed(grants: &[GrantDocument]) -> GrantTexts {
    let line = |(seq, document): (usize, &GrantDocument)| {
        format!("{}\n", json!({ "seq": seq, "nonce": Nonce16::from_bytes(NONCE), "document": document }))
    };
    GrantTexts::read(&One(grants.iter().enumerate().map(line).collect())).unwrap()
}

/// A decision about notes/sync, on these facts of what people did, and its opening.
pub(crate) fn decided_under(given: &[GrantDocument], standing: Standing<'_>) -> (Decision, Opening) {
    let mut decision = decision();
    let bundle = Bundle::compile(&with_a_tool(), RULES).unwrap();
    let grants = Grants::compile(given, &bundle);
    let standing = Standing { grants: grants.digests(decision.agent), ..standing };
    let listed = Listed::read(&json!({ "name": "sync" }));
    let classification = classify(
        bundle.registry(),
        &Call { provider: "notes", tool: "sync", listed: &listed, arguments: &json!({}) },
    );
    let asked = Asked {
        agent: decision.agent,
        principal: Some("u-88"),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("notes"),
        tool: Some("sync"),
        args: None,
        now: decision.at,
        base_verdict: BaseVerdict::StepUp,
        standing,
    };
    let facts = Facts::of(&asked, &classification);
    let seed = OpeningSeed::from_bytes([7; 16]);
    let judged = evaluate(&bundle, &grants, &facts);
    decision.facts = seed.commit("facts", &facts.digest().to_string()).commitment();
    decision.pin = classification.pin();
    decision.class = classification.class(&[seed.commit("noun/0", "notes/sync").commitment()]);
    decision.provider = Some("notes".parse().unwrap());
    decision.tool = Some("sync".parse().unwrap());
    (decision.verdict, decision.reason, decision.effect) = (judged.verdict, judged.reason, judged.effect);
    decision.rules = judged.rules;
    decision.policy = bundle.digest();
    decision.answers = standing.approval.cloned();
    decision.session = standing.session.map(|done| done.session);
    let given = Given { v: 1, nonce: Nonce16::from_bytes(NONCE), grants: given.to_vec() };
    decision.grants = given.digest_for(decision.agent);
    (decision, Opening { seed, facts: facts.document() })
}

fn approved(answer: &Answers) -> (Decision, Opening) {
    decided_under(&[], Standing { approval: Some(answer), ..Standing::default() })
}

fn said(decision: &Decision, opening: Opening, grants: &GrantTexts) -> String {
    let texts = Texts { bundles: &bundles_of(&with_a_tool()), grants };
    match again(decision, &[opening], texts) {
        Again::Differs(why) => why,
        Again::Agrees => "agrees".to_owned(),
        Again::Unopened(why) => why.to_owned(),
    }
}

/// P8
#[test]
fn a_decision_by_a_grant_is_replayed_with_its_document_alone() {
    let document = grant(decision().agent);
    let given = std::slice::from_ref(&document);
    let (decision, _) = decided_under(given, Standing::default());
    assert_eq!((decision.verdict, decision.reason), (Verdict::Allow, Reason::Grant));
    let opening = || decided_under(given, Standing::default()).1;
    let mut longer = document.clone();
    longer.until = longer.until.plus_millis(1);

    assert_eq!(said(&decision, opening(), &packed(given)), "agrees");
    assert_eq!(said(&decision, opening(), &packed(&[longer.clone(), document.clone()])), "agrees");
    let missing = "a grant that it saw is not here";
    assert_eq!(said(&decision, opening(), &packed(&[longer])), missing);
    assert_eq!(said(&decision, opening(), &GrantTexts::default()), missing);

    let other = Decision { grants: decision.policy, ..decision.clone() };
    let why = "its facts have other grants than the decision";
    assert_eq!(said(&other, opening(), &packed(given)), why);
    let by_rule = Decision { reason: Reason::Rule, ..decision };
    assert!(said(&by_rule, opening(), &packed(given)).starts_with("evaluated again it is ALLOW (grant"));
}

/// P8
#[test]
fn decisions_by_an_answer_or_under_a_window_are_replayed() {
    let answer = Answers {
        hold: "hld_019355a0c0007000800000000000f001".parse().unwrap(),
        decision: pin_of(&json!(1)),
        answer: pin_of(&json!(2)),
    };
    let later = decision().at.plus_millis(1);
    let nothing = Standing::default();
    for (standing, reason, effect) in [
        (Standing { breakglass_until: Some(later), ..nothing }, Reason::BreakGlass, Effect::Enforced),
        (Standing { shadow_until: Some(later), ..nothing }, Reason::NoRule, Effect::Advisory),
    ] {
        let (decision, opening) = decided_under(&[], standing);
        assert_eq!((decision.reason, decision.effect), (reason, effect));
        assert!(is_of_rules(decision.reason));
        assert_eq!(said(&decision, opening, &GrantTexts::default()), "agrees");
    }
    let (mut approved, opening) = approved(&answer);
    assert_eq!((approved.verdict, approved.reason), (Verdict::Allow, Reason::Approved));
    assert_eq!(said(&approved, opening, &GrantTexts::default()), "agrees");
    approved.answers = None;
    let (_, opening) = self::approved(&answer);
    assert_eq!(
        said(&approved, opening, &GrantTexts::default()),
        "its facts have another answer than the decision"
    );
}

/// G13, P8: the session that the gateway counted on is the one it names.
#[test]
fn a_decision_names_the_session_that_its_facts_counted() {
    let other = "ses_019355a0c0007000800000000000f009".parse().unwrap();
    let done = Summary::begun_by(decision().action);
    let counted = || decided_under(&[], Standing { session: Some(&done), ..Standing::default() });
    let why = "its facts have another session than the decision";

    let (mut named, opening) = counted();
    assert_eq!(named.session, Some(done.session));
    assert_eq!(said(&named, opening, &GrantTexts::default()), "agrees");
    named.session = Some(other);
    assert_eq!(said(&named, counted().1, &GrantTexts::default()), why);
    assert_eq!(difference(|d| d.session = Some(other)), why);
}

/// P8: what a vendor declared is named in its decisions, and counted by nobody.
#[test]
fn a_decision_that_names_a_vendors_session_is_replayed() {
    let mut asked = decision();
    let opening = opening_in(Mode::Hook, asked.agent, asked.at);
    let facts = Facts::parse(&counterfoil_core::json::canonical(&opening.facts)).unwrap();
    asked.facts = opening.seed.commit("facts", &facts.digest().to_string()).commitment();
    asked.mode = Mode::Hook;
    asked.session = Some("ses_019355a0c0007000800000000000f009".parse().unwrap());

    let texts = Texts { bundles: &bundles(), grants: &GrantTexts::default() };
    assert!(matches!(again(&asked, &[opening], texts), Again::Agrees));
}
