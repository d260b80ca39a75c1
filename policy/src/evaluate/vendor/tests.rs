use crate::classify::{Classification, Question, classify_question, meant};
use crate::facts::{Asked, BaseVerdict, Facts, Standing};
use crate::{Bundle, Grants, Judgement, evaluate};
use counterfoil_core::statement::{Environment, Mode, Origin, Source};
use counterfoil_core::time::Timestamp;
use counterfoil_core::verdict::Signals;
use serde_json::{Value, json};

const REGISTRY: &str = r#"
    v = 1
    [provider.mail.tool.send]
    service = "mail"
    verb = "send"
    operation = "send"
    risk = "medium"
    nouns = [{ type = "address", at = "/to" }]
    fields = { to = { at = "/to", type = "string" } }
    [provider.mail.tool.wipe]
    service = "mail"
    verb = "delete"
    nouns = [{ type = "tool" }]
    [provider.chat.tool.post]
    service = "chat"
    verb = "send"
    risk = "low"
    nouns = [{ type = "tool" }]
    [provider.forum.tool.post]
    service = "forum"
    verb = "send"
    nouns = [{ type = "tool" }]
"#;
const ACTION: &str = "act_019355a0c0007000800000000000e001";

fn bundle(more: &str) -> Bundle {
    let rules = format!(
        r#"
        @id("send") permit (principal, action == Gw::Action::"mail.send", resource == Gw::Address::"tok_1")
        when {{ context.now < datetime("2027-01-01T00:00:00Z") }};
        @id("wipe") permit (principal, action == Gw::Action::"mail.delete", resource == Gw::Tool::"mail/wipe")
        when {{ context.now < datetime("2027-01-01T00:00:00Z") }};
        {more}"#
    );
    Bundle::compile(REGISTRY, &rules).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn signals(sent: Value) -> Signals {
    serde_json::from_value(sent).expect("signals")
}

fn classified(bundle: &Bundle, tool: &str, shown: &Value, signals: &Signals) -> Classification {
    let (provider, tool) = meant(bundle.registry(), None, tool).expect("a tool");
    classify_question(bundle.registry(), &Question { provider, tool, shown, signals })
}

fn facts(bundle: &Bundle, tool: &str, shown: &Value, sent: &Value, mode: Mode) -> Facts {
    let signals = signals(sent.clone());
    let (provider, name) = meant(bundle.registry(), None, tool).expect("a tool");
    let asked = Asked {
        agent: "agt_019355a0c0007000800000000000d001".parse().expect("agent"),
        principal: None,
        origin: Origin::Sdk,
        mode,
        env: Environment::Live,
        provider: Some(provider.as_str()),
        tool: Some(name.as_str()),
        args: None,
        now: Timestamp::parse("2026-11-30T11:20:00.123Z").expect("time"),
        base_verdict: BaseVerdict::StepUp,
        standing: Standing { signals: Some(&signals), ..Standing::default() },
    };
    Facts::of(&asked, &classified(bundle, tool, shown, &signals))
}

fn judged(bundle: &Bundle, tool: &str, sent: Value) -> String {
    let facts = facts(bundle, tool, &json!({"to": "tok_1"}), &sent, Mode::Hook);
    let read = Facts::parse(&facts.bytes()).expect("reads back");
    assert_eq!(read, facts);
    let Judgement { verdict, reason, rules, is_vendor_approved, .. } =
        evaluate(bundle, &Grants::default(), &read);
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    let mark = if is_vendor_approved { " vendor_approved" } else { "" };
    format!("{verdict} {reason} {}{mark}", rules.join(","))
}

fn approves() -> Value {
    json!({"resolves_action": ACTION, "human_decision": "APPROVE"})
}

const HOLD: &str = r#"@id("ask") @verdict("STEP_UP") @lift("vendor")
    forbid (principal, action == Gw::Action::"mail.send", resource);"#;
const HOLD_FIRMLY: &str = r#"@id("ask-us") @verdict("STEP_UP")
    forbid (principal, action == Gw::Action::"mail.send", resource);"#;
const DENY: &str = r#"@id("never") forbid (principal, action == Gw::Action::"mail.send", resource);"#;
const NARROW: &str = r#"@id("less") @verdict("MODIFY") @narrow("one recipient")
    forbid (principal, action == Gw::Action::"mail.send", resource);"#;

/// G6
#[test]
fn a_vendors_word_lifts_only_where_every_rule_says_so() {
    assert_eq!(judged(&bundle(HOLD), "send", json!({})), "STEP_UP rule ask");
    assert_eq!(judged(&bundle(HOLD), "send", approves()), "ALLOW rule ask,send vendor_approved");

    let firm = bundle(&format!("{HOLD}{HOLD_FIRMLY}"));
    assert_eq!(judged(&firm, "send", approves()), "STEP_UP person_required ask,ask-us");
    assert_eq!(judged(&bundle(HOLD_FIRMLY), "send", approves()), "STEP_UP person_required ask-us");
    assert_eq!(judged(&bundle(&format!("{HOLD}{DENY}")), "send", approves()), "DENY rule never");
    assert_eq!(judged(&bundle(&format!("{HOLD}{NARROW}")), "send", approves()), "MODIFY rule less");
}

/// G6, G3: what nothing allows, and what is at high risk, no vendor's word lets go.
#[test]
fn a_vendors_word_is_no_permit_and_no_answer_at_high_risk() {
    assert_eq!(judged(&bundle(""), "wipe", json!({})), "ALLOW rule wipe");
    let hold_wipe = r#"@id("ask") @verdict("STEP_UP") @lift("vendor")
        forbid (principal, action == Gw::Action::"mail.delete", resource);"#;
    assert_eq!(judged(&bundle(hold_wipe), "wipe", approves()), "STEP_UP person_required ask");

    let facts = facts(&bundle(HOLD), "send", &json!({"to": "tok_2"}), &approves(), Mode::Hook);
    let elsewhere = evaluate(&bundle(HOLD), &Grants::default(), &facts);
    assert_eq!((elsewhere.verdict.as_str(), elsewhere.reason.as_str()), ("STEP_UP", "person_required"));
}

/// G6: also where somebody put such words into the facts of a call that is forwarded here.
#[test]
fn a_vendors_word_lifts_nothing_in_gateway_mode() {
    let facts = facts(&bundle(HOLD), "send", &json!({"to": "tok_1"}), &approves(), Mode::Gateway);
    assert_ne!(evaluate(&bundle(HOLD), &Grants::default(), &facts).verdict.as_str(), "ALLOW");
}

/// G6
#[test]
fn a_decline_denies_and_words_about_nothing_are_inert() {
    let declines = json!({"resolves_action": ACTION, "human_decision": "DECLINE"});
    assert_eq!(judged(&bundle(""), "send", declines.clone()), "DENY answered_no ");
    assert_eq!(judged(&bundle(DENY), "send", declines), "DENY rule never");

    assert_eq!(judged(&bundle(""), "send", json!({"human_decision": "DECLINE"})), "ALLOW rule send");
    assert_eq!(judged(&bundle(HOLD), "send", json!({"human_authorized": true})), "STEP_UP rule ask");
}

/// G2: what was published stands; a claim fills only what was left open, and says that it is one.
#[test]
fn a_signal_fills_what_the_registry_leaves_open() {
    let bundle = bundle("");
    let sent =
        signals(json!({"op": "read", "destination": "external", "record_count": 7, "inferred": "magnitude",
        "inference_model": "m", "inference_slice": "s",
        "inference_prompt_hash": counterfoil_core::digest::Digest::of(b"p")}));

    let found = classified(&bundle, "send", &json!({"to": "tok_1"}), &sent);

    let commitment = counterfoil_core::commitment::OpeningSeed::from_bytes([7; 16]).commit("noun/0", "tok_1");
    let class = found.class(&[commitment.commitment()]).expect("a class");
    assert_eq!((class.operation.as_str(), class.source.operation), ("send", Source::Declared));
    assert_eq!((class.destination.as_str(), class.source.destination), ("external", Source::Catalogued));
    assert_eq!((class.magnitude.as_str(), class.source.magnitude), ("bulk", Source::Inferred));
    assert_eq!((class.data_class.as_str(), class.source.data_class), ("unknown", Source::Unknown));
    assert_eq!(found.shape().keys().collect::<Vec<_>>(), ["to"]);
}

/// G2
#[test]
fn a_name_that_is_nobodys_or_two_providers_is_unknown() {
    let bundle = bundle("");
    let meant =
        |provider, tool| meant(bundle.registry(), provider, tool).map(|(id, _)| id.as_str().to_owned());

    assert_eq!(meant(None, "send").as_deref(), Some("mail"));
    assert_eq!(meant(None, "post"), None, "two have it");
    assert_eq!(meant(Some("chat"), "post").as_deref(), Some("chat"));
    assert_eq!(meant(Some("mail"), "post"), None);
    assert_eq!(meant(None, "rm"), None);
}

/// G2
#[test]
fn a_noun_that_the_vendor_does_not_show_is_missing() {
    let bundle = bundle("");
    let facts = facts(&bundle, "send", &json!({}), &json!({}), Mode::Hook);
    let judgement = evaluate(&bundle, &Grants::default(), &facts);

    assert_eq!((judgement.verdict.as_str(), judgement.reason.as_str()), ("STEP_UP", "noun_missing"));
}

/// P8: facts that say more than registry and signals together are no facts.
#[test]
fn a_class_that_neither_registry_nor_signals_give_is_an_error() {
    let bundle = bundle("");
    let honest =
        facts(&bundle, "send", &json!({"to": "tok_1"}), &json!({"destination": "internal"}), Mode::Hook);
    let mut document = honest.document();
    document["context"]["destination"] = json!("external");
    let forged = Facts::parse(document.to_string().as_bytes()).expect("facts");

    assert_eq!(evaluate(&bundle, &Grants::default(), &honest).verdict.as_str(), "ALLOW");
    assert_eq!(evaluate(&bundle, &Grants::default(), &forged).reason.as_str(), "policy_error");
}
