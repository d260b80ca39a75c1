use super::*;
use crate::classify::{Call, classify};
use crate::facts::{Asked, Refusal, Standing};
use crate::listed::Listed;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::AgentId;
use counterfoil_core::session::Summary;
use counterfoil_core::statement::{DataClass, Environment, Mode, Origin};
use counterfoil_core::time::Timestamp;
use serde_json::{Value, json};

/// Judged without any grant.
fn judged_by(bundle: &Bundle, facts: &Facts) -> Judgement {
    evaluate(bundle, &Grants::default(), facts)
}

const AGENT: &str = "agt_019355a0c0007000800000000000d001";
const DEADLINE: &str = r#"context.now < datetime("2027-01-01T00:00:00Z")"#;

fn definition() -> Value {
    json!({ "name": "any", "inputSchema": { "properties": { "path": {}, "n": {} } } })
}

fn registry() -> String {
    let pin = crate::pin_of(&definition());
    format!(
        r#"
        v = 1
        [provider.notes.tool.note_read]
        service = "notes"
        verb = "read"
        nouns = [{{ type = "path", at = "/path" }}]
        data_class = "operational"
        fields = {{ n = {{ at = "/n", type = "long" }} }}
        pin = "{pin}"
        [provider.notes.tool.note_move]
        service = "notes"
        verb = "move"
        nouns = [{{ type = "path", at = "/from" }}, {{ type = "path", at = "/to" }}]
        pin = "{pin}"
        "#
    )
}

fn bundle(rules: &str) -> Bundle {
    Bundle::compile(&registry(), rules).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn asked(tool: &'static str) -> Asked<'static> {
    Asked {
        agent: AGENT.parse::<AgentId>().expect("agent"),
        principal: Some("u-88"),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("notes"),
        tool: Some(tool),
        args: None,
        now: Timestamp::parse("2026-11-30T11:20:00.123Z").expect("time"),
        base_verdict: BaseVerdict::StepUp,
        standing: Standing::default(),
    }
}

fn facts(bundle: &Bundle, asked: &Asked<'_>, arguments: Value) -> Facts {
    let call = Call {
        provider: "notes",
        tool: asked.tool.expect("a tool"),
        listed: &Listed::read(&definition()),
        arguments: &arguments,
    };
    Facts::of(asked, &classify(bundle.registry(), &call))
}

/// The judgement on note_read of `path`, as `VERDICT reason rules`.
fn read(rules: &str, path: &str) -> String {
    let bundle = bundle(rules);
    said(&judged_by(&bundle, &facts(&bundle, &asked("note_read"), json!({ "path": path }))))
}

fn said(judgement: &Judgement) -> String {
    let rules: Vec<&str> = judgement.rules.iter().map(RuleId::as_str).collect();
    format!("{} {} {}", judgement.verdict, judgement.reason, rules.join(","))
}

fn permit(id: &str, scope: &str) -> String {
    format!("@id(\"{id}\") permit ({scope}) when {{ {DEADLINE} }};\n")
}

fn read_permit(folder: &str) -> String {
    permit(
        "read",
        &format!(r#"principal, action == Gw::Action::"notes.read", resource in Gw::Path::"{folder}""#),
    )
}

const SECRETS: &str = r#"@id("secrets") forbid (principal, action, resource in Gw::Path::"/notes/secret");"#;

#[test]
fn what_a_rule_allows_is_allowed_and_nothing_beside() {
    let rules = read_permit("/notes");

    assert_eq!(read(&rules, "/notes/a.txt"), "ALLOW rule read");
    assert_eq!(read(&rules, "/notes/deep/er/a.txt"), "ALLOW rule read");
    assert_eq!(read(&rules, "/notes"), "ALLOW rule read");
    for outside in ["/notesx", "/note", "/", "/other/notes/a", "/Notes/a.txt"] {
        assert_eq!(read(&rules, outside), "STEP_UP no_rule ", "{outside}");
    }
}

/// G3
#[test]
fn what_nothing_allows_gets_the_base_verdict() {
    let bundle = bundle("");
    let arguments = json!({ "path": "/notes/a" });
    let hold = facts(&bundle, &asked("note_read"), arguments.clone());
    let deny = Asked { base_verdict: BaseVerdict::Deny, ..asked("note_read") };

    assert_eq!(said(&judged_by(&bundle, &hold)), "STEP_UP no_rule ");
    assert_eq!(said(&judged_by(&bundle, &facts(&bundle, &deny, arguments))), "DENY no_rule ");
}

/// G3
#[test]
fn a_deny_beats_every_hold_and_every_allow() {
    let hold = r#"@id("ask") @verdict("STEP_UP") forbid (principal, action, resource in Gw::Path::"/notes/secret");"#;
    let rules = format!("{}{hold}{SECRETS}", read_permit("/notes"));

    assert_eq!(read(&rules, "/notes/secret/a"), "DENY rule secrets");
    assert_eq!(read(&rules, "/notes/a"), "ALLOW rule read");
}

#[test]
fn a_hold_beats_an_allow() {
    let hold = r#"@id("ask") @verdict("STEP_UP") forbid (principal, action, resource in Gw::Path::"/notes/secret");"#;
    let rules = format!("{}{hold}", read_permit("/notes"));

    assert_eq!(read(&rules, "/notes/secret/a"), "STEP_UP rule ask");
}

/// G3: the deadline itself is too late.
#[test]
fn an_expired_permit_allows_nothing() {
    let bundle = bundle(&read_permit("/notes"));
    let at = |now| Asked { now: Timestamp::parse(now).expect("time"), ..asked("note_read") };
    let judged = |now| said(&judged_by(&bundle, &facts(&bundle, &at(now), json!({ "path": "/notes/a" }))));

    assert_eq!(judged("2026-12-31T23:59:59.999Z"), "ALLOW rule read");
    assert_eq!(judged("2027-01-01T00:00:00.000Z"), "STEP_UP no_rule ");
    assert_eq!(judged("2027-06-01T00:00:00.000Z"), "STEP_UP no_rule ");
}

#[test]
fn every_noun_must_be_allowed() {
    let scope = |folder| {
        format!(r#"principal, action == Gw::Action::"notes.move", resource in Gw::Path::"{folder}""#)
    };
    let rules = permit("a", &scope("/a")) + &permit("b", &scope("/b")) + SECRETS;
    let bundle = bundle(&rules);
    let moved = |from: &str, to: &str| {
        let arguments = json!({ "from": from, "to": to });
        said(&judged_by(&bundle, &facts(&bundle, &asked("note_move"), arguments)))
    };

    assert_eq!(moved("/a/x", "/b/x"), "ALLOW rule a,b");
    assert_eq!(moved("/a/x", "/c/x"), "STEP_UP no_rule ");
    assert_eq!(moved("/c/x", "/a/x"), "STEP_UP no_rule ");
    assert_eq!(moved("/a/x", "/notes/secret/x"), "DENY rule secrets");
    assert_eq!(moved("/notes/secret/x", "/c/x"), "DENY rule secrets");
}

#[test]
fn a_rule_may_name_the_agent_the_verb_or_the_environment() {
    let mine = permit(
        "mine",
        &format!(
            r#"principal == Gw::Agent::"{AGENT}", action == Gw::Action::"notes.read", resource in Gw::Path::"/notes""#
        ),
    );
    assert_eq!(read(&mine, "/notes/a"), "ALLOW rule mine");
    let other = mine.replace("d001", "d002");
    assert_eq!(read(&other, "/notes/a"), "STEP_UP no_rule ");

    let verb = r#"@id("no-reads") forbid (principal, action in Gw::Action::"read", resource);"#;
    assert_eq!(read(verb, "/notes/a"), "DENY rule no-reads");

    let live =
        r#"@id("not-live") forbid (principal, action, resource) when { context.env == Gw::Env::"live" };"#;
    assert_eq!(read(live, "/notes/a"), "DENY rule not-live");
    assert_eq!(read(&live.replace("\"live\"", "\"test\""), "/notes/a"), "STEP_UP no_rule ");

    let dimension = r#"@id("class") forbid (principal, action, resource)
        when { context.data_class == Gw::DataClass::"operational" && context has principal };"#;
    assert_eq!(read(dimension, "/notes/a"), "DENY rule class");
}

/// G3: fields can be bounded.
#[test]
fn a_field_outside_its_bound_is_not_allowed() {
    let rules = r#"@id("few") permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes")
        when { context.now < datetime("2027-01-01T00:00:00Z") && context.args has n && context.args.n <= 10 };"#;
    let bundle = bundle(rules);
    let judged = |arguments| said(&judged_by(&bundle, &facts(&bundle, &asked("note_read"), arguments)));

    assert_eq!(judged(json!({ "path": "/notes/a", "n": 10 })), "ALLOW rule few");
    assert_eq!(judged(json!({ "path": "/notes/a", "n": 10.0 })), "ALLOW rule few");
    assert_eq!(judged(json!({ "path": "/notes/a", "n": 11 })), "STEP_UP no_rule ");
    assert_eq!(judged(json!({ "path": "/notes/a" })), "STEP_UP no_rule ");
    assert_eq!(judged(json!({ "path": "/notes/a", "n": null })), "STEP_UP no_rule ");
}

/// G3: a field of another type is an error, and an error is a deny.
#[test]
fn a_field_of_the_wrong_type_is_a_policy_error() {
    let bundle = bundle(&read_permit("/notes"));

    for n in [json!("10"), json!(1.5), json!([1]), json!({ "__extn": { "fn": "ip", "arg": "::1" } })] {
        let arguments = json!({ "path": "/notes/a", "n": n });
        let judgement = judged_by(&bundle, &facts(&bundle, &asked("note_read"), arguments));
        assert_eq!(said(&judgement), "DENY policy_error ", "{n}");
    }
}

/// G3: Cedar skips a rule that fails, so that a failing forbid would forbid nothing.
#[test]
fn a_rule_that_fails_is_a_deny() {
    let overflow = r#"@id("overflow") forbid (principal, action == Gw::Action::"notes.read", resource)
        when { context.args has n && context.args.n * 9007199254740991 == 0 };"#;
    let bundle = bundle(&(read_permit("/notes") + overflow));
    let judged = |n: i64| {
        let arguments = json!({ "path": "/notes/a", "n": n });
        said(&judged_by(&bundle, &facts(&bundle, &asked("note_read"), arguments)))
    };

    assert_eq!(judged(1), "ALLOW rule read");
    assert_eq!(judged(9_007_199_254_740_991), "DENY policy_error ");
}

#[test]
fn calls_that_were_not_classified_are_held_or_denied_without_a_rule() {
    let bundle = bundle(&read_permit("/notes"));
    let unknown = facts(&bundle, &asked("note_copy"), json!({}));
    let missing = facts(&bundle, &asked("note_read"), json!({}));

    assert_eq!(said(&judged_by(&bundle, &unknown)), "STEP_UP unknown_tool ");
    assert_eq!(said(&judged_by(&bundle, &missing)), "STEP_UP noun_missing ");
    for (refusal, expected) in [
        (Refusal::NoSuchTool, "DENY no_such_tool "),
        (Refusal::NotBindable, "DENY not_bindable "),
        (Refusal::Malformed, "DENY malformed "),
    ] {
        let facts = Facts::refused(&asked("x"), refusal);
        assert_eq!(said(&judged_by(&bundle, &facts)), expected);
    }
}

/// G2: held every time, even where the base verdict is DENY.
#[test]
fn an_unknown_tool_is_held_whatever_the_base_verdict() {
    let bundle = bundle("");
    let deny = Asked { base_verdict: BaseVerdict::Deny, ..asked("note_copy") };

    let judgement = judged_by(&bundle, &facts(&bundle, &deny, json!({})));

    assert_eq!(said(&judgement), "STEP_UP unknown_tool ");
}

#[test]
fn a_changed_definition_is_held() {
    let bundle = bundle(&read_permit("/notes"));
    let call = Call {
        provider: "notes",
        tool: "note_read",
        listed: &Listed::read(&json!({ "name": "other" })),
        arguments: &json!({ "path": "/notes/a" }),
    };
    let facts = Facts::of(&asked("note_read"), &classify(bundle.registry(), &call));

    assert_eq!(said(&judged_by(&bundle, &facts)), "STEP_UP definition_changed ");
}

/// P8: the same judgement from the document alone.
#[test]
fn a_replay_from_the_facts_document_agrees() {
    let rules = read_permit("/notes") + SECRETS;
    let bundle_then = bundle(&rules);
    let bundle_now = bundle(&rules);
    assert_eq!(bundle_then.digest(), bundle_now.digest());

    for arguments in [
        json!({ "path": "/notes/a", "n": 1 }),
        json!({ "path": "/notes/a", "n": 1.0 }),
        json!({ "path": "/notes/a", "n": 1.5 }),
        json!({ "path": "/notes/secret/été" }),
        json!({ "path": "/etc" }),
        json!({ "path": 1 }),
    ] {
        let facts = facts(&bundle_then, &asked("note_read"), arguments.clone());
        let document = facts.bytes();

        let again = Facts::parse(&document).expect("a facts document");

        assert_eq!(again.digest(), facts.digest());
        assert_eq!(judged_by(&bundle_now, &again), judged_by(&bundle_then, &facts), "{arguments}");
    }
}

/// G2: facts cannot reclassify; what contradicts the registry is an error.
#[test]
fn facts_that_contradict_the_registry_are_denied() {
    let bundle = bundle(&read_permit("/notes"));
    let honest = facts(&bundle, &asked("note_read"), json!({ "path": "/notes/a" }));
    assert_eq!(said(&judged_by(&bundle, &honest)), "ALLOW rule read");

    let other_pin = json!(Digest::of(b"other").to_string());
    for (pointer, value) in [
        ("/tool", json!("note_move")),
        ("/tool", json!(null)),
        ("/provider", json!("other")),
        ("/action", json!("notes.move")),
        ("/action", json!(null)),
        ("/pin", other_pin),
        ("/pin", json!(null)),
        ("/resources", json!([])),
        ("/resources/0/value", json!("/notes/../etc")),
        ("/resources/0/type", json!("tool")),
        ("/context/data_class", json!("none")),
        ("/context/args", json!({ "undeclared": 1 })),
        ("/unclassified", json!("unknown_tool")),
        ("/unclassified", json!("definition_changed")),
        ("/unclassified", json!("noun_missing")),
        ("/unclassified", json!("rule")),
    ] {
        let mut document = honest.document();
        *document.pointer_mut(pointer).expect("a member") = value.clone();
        let forged = Facts::parse(document.to_string().as_bytes()).expect("still facts");
        assert_eq!(said(&judged_by(&bundle, &forged)), "DENY policy_error ", "{pointer} = {value}");
    }
}

#[test]
fn a_document_that_is_not_exactly_facts_is_refused() {
    let bundle = bundle("");
    let good = facts(&bundle, &asked("note_read"), json!({ "path": "/notes/a" })).document();

    let mut missing = good.clone();
    missing.as_object_mut().expect("object").remove("principal");
    let mut more = good.clone();
    more["extra"] = json!(1);
    let mut version = good.clone();
    version["v"] = json!(4);
    let mut session = good.clone();
    session["session"] = serde_json::to_value(session_with(&[])).expect("JSON");
    let mut none = good.clone();
    none["v"] = json!(3);
    for bad in [missing, more, version, session, none] {
        assert!(Facts::parse(bad.to_string().as_bytes()).is_err(), "{bad}");
    }
    assert!(Facts::parse(b"{").is_err());
}

fn session_with(data_classes: &[(DataClass, u64)]) -> Summary {
    let first = "act_019355a0c0007000800000000000b001".parse().expect("an action");
    Summary { data_classes: data_classes.iter().copied().collect(), ..Summary::begun_by(first) }
}

/// G13, P8: rules that ask what the session did are told by the facts alone, and facts that say it read back the same.
#[test]
fn what_a_session_did_is_a_fact_for_rules_that_ask() {
    let rules = format!(
        "{}@id(\"after\") forbid (principal, action, resource) when {{ context.session.data_classes.personal > 1 }};",
        read_permit("/notes")
    );
    let bundle = bundle(&rules);
    assert!(bundle.has_sessions());
    let judged = |session: Option<&Summary>| {
        let asked = Asked { standing: Standing { session, ..Standing::default() }, ..asked("note_read") };
        let facts = facts(&bundle, &asked, json!({ "path": "/notes/a" }));
        assert_eq!(Facts::parse(&facts.bytes()).expect("facts").bytes(), facts.bytes());
        said(&judged_by(&bundle, &facts))
    };

    assert_eq!(judged(Some(&session_with(&[]))), "ALLOW rule read");
    assert_eq!(judged(Some(&session_with(&[(DataClass::Personal, 1)]))), "ALLOW rule read");
    assert_eq!(judged(Some(&session_with(&[(DataClass::Personal, 2)]))), "DENY rule after");
    assert_eq!(judged(None), "DENY policy_error ");
}

/// P8: other bundles keep the digest that they had before sessions were counted.
#[test]
fn rules_that_do_not_ask_for_sessions_have_a_schema_without_them() {
    assert!(!bundle(&read_permit("/notes")).has_sessions());
    let asks = read_permit("/notes").replace("};", "&& context.session.cleared < 9 };");
    let asks = Bundle::compile(&registry(), &asks).expect("a bundle");
    assert!(asks.has_sessions());
    assert_eq!(asks.registry_digest(), bundle(&read_permit("/notes")).registry_digest());
}

// The request writes the words of the closed vocabularies itself; they must be the ones that the facts document has.
#[test]
fn the_question_has_the_words_of_the_facts() {
    let facts = facts(&bundle(""), &asked("note_read"), json!({ "path": "/notes/a.txt" }));
    let said = serde_json::to_value(&facts.context).expect("facts");
    for ((member, _), word) in crate::schema::ENUMERATED.iter().zip(request::words(&facts.context)) {
        assert_eq!(said[*member], word, "{member}");
    }
}

/// P8: what was decided before there were grants and windows is replayed, and nothing is read into it.
#[test]
fn facts_of_both_versions_are_read() {
    let bundle = bundle(&read_permit("/notes"));
    let newer = facts(&bundle, &asked("note_read"), json!({ "path": "/notes/a" }));
    let since = ["grants", "approval", "breakglass_until", "shadow_until", "stopped"];
    let mut older = newer.document();
    older["v"] = json!(1);
    for member in since {
        older.as_object_mut().expect("object").remove(member).expect("version 2 has it");
    }
    let bytes = counterfoil_core::json::canonical(&older);

    let read = Facts::parse(&bytes).expect("facts of version 1");

    assert_eq!(read.bytes(), bytes);
    assert_eq!(read.document(), older);
    assert_eq!(read.digest(), Digest::of(&bytes));
    assert_eq!(said(&judged_by(&bundle, &read)), "ALLOW rule read");
    for member in since {
        let mut mixed = older.clone();
        mixed[member] = newer.document()[member].clone();
        assert!(Facts::parse(mixed.to_string().as_bytes()).is_err(), "version 1 with {member}");
        let mut missing = newer.document();
        missing.as_object_mut().expect("object").remove(member);
        assert!(Facts::parse(missing.to_string().as_bytes()).is_err(), "version 2 without {member}");
    }
}
