//! One refusal, one test (G3). The five attacks are the ones on a permit's scope and deadline.

use super::*;
use crate::lint::Fault;
use crate::schema;
use cedar_policy::Schema;

const REGISTRY: &str = r#"
    v = 1
    [provider.notes.tool.note_read]
    service = "notes"
    verb = "read"
    nouns = [{ type = "path", at = "/path" }]
    fields = { depth = { at = "/depth", type = "long" }, folder = { at = "/folder", type = "string" } }
    [provider.notes.tool.mail_send]
    service = "mail"
    verb = "send"
    nouns = [{ type = "mail_address", at = "/to" }]
    [provider.notes.tool.sync]
    service = "notes"
    verb = "execute"
    nouns = [{ type = "tool" }]
"#;

fn load(text: &str) -> Result<Linted, Vec<LintError>> {
    let registry = Registry::parse(REGISTRY).expect("the registry of these tests is good");
    let schema = Schema::from_json_value(schema::of(&registry, true)).expect("so is its schema");
    super::load(text, &registry, &schema)
}

fn faults(text: &str) -> Vec<RuleFault> {
    let Err(errors) = load(text) else {
        panic!("loaded: {text}");
    };
    errors
        .iter()
        .map(|error| match error.fault() {
            Fault::Rule(fault) => fault.clone(),
            Fault::Text(text) => panic!("not a rule's fault: {text}"),
        })
        .collect()
}

/// A permit with this scope and these clauses.
fn permit(scope: &str, clauses: &str) -> String {
    format!("@id(\"r\") permit ({scope}) {clauses};")
}

const SCOPE: &str = r#"principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes""#;
const DEADLINE: &str = r#"context.now < datetime("2027-01-01T00:00:00Z")"#;

/// A permit that is good but for one more condition.
fn narrowed(condition: &str) -> String {
    permit(SCOPE, &format!("when {{ {DEADLINE} && {condition} }}"))
}

#[test]
fn a_permit_with_action_noun_and_deadline_loads() {
    let linted = load(&permit(SCOPE, &format!("when {{ {DEADLINE} }}"))).expect("good rule");

    let [rule] = linted.rules.as_slice() else {
        panic!("one rule");
    };
    assert_eq!(rule.id().as_str(), "r");
    assert_eq!(rule.effect(), Effect::Allow);
    let deadline = rule.deadline().expect("a permit ends");
    assert_eq!(deadline.to_string(), "2027-01-01T00:00:00.000Z");
}

#[test]
fn a_permit_may_name_one_agent() {
    let scope = r#"principal == Gw::Agent::"agt_019355a0c0007000800000000000d001",
        action == Gw::Action::"mail.send", resource == Gw::MailAddress::"a@example.com""#;

    assert!(load(&permit(scope, &format!("when {{ {DEADLINE} }}"))).is_ok());
}

#[test]
fn conditions_that_only_narrow_load() {
    for condition in [
        r#"context.tool == "note_read""#,
        r#"context.provider != "other""#,
        r#"context.env == Gw::Env::"live""#,
        r#"context.args has depth && context.args.depth <= 3"#,
        r#"context.args has depth && context.args.depth > -3"#,
        r#"context.args has folder && context.args.folder like "a*""#,
        r#"resource.value like "/notes/*.txt""#,
        r#"[Gw::Origin::"mcp", Gw::Origin::"stdio"].contains(context.origin)"#,
        r#"context.now >= datetime("2026-01-01T00:00:00Z")"#,
    ] {
        if let Err(errors) = load(&narrowed(condition)) {
            panic!("{condition}: {errors:?}");
        }
    }
}

#[test]
fn the_deadline_may_stand_in_a_clause_of_its_own() {
    let clauses = format!(r#"when {{ context.tool == "note_read" }} when {{ ({DEADLINE}) }}"#);

    assert!(load(&permit(SCOPE, &clauses)).is_ok());
}

/// Attack 1
#[test]
fn a_permit_on_a_bare_verb_is_refused() {
    let bare = r#"principal, action in Gw::Action::"read", resource in Gw::Path::"/notes""#;
    let equal = r#"principal, action == Gw::Action::"read", resource in Gw::Path::"/notes""#;

    for scope in [bare, equal] {
        let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));
        assert_eq!(found, [RuleFault::Action], "{scope}");
    }
}

/// Attack 2
#[test]
fn a_permit_on_every_action_is_refused() {
    let scope = r#"principal, action, resource in Gw::Path::"/notes""#;

    let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));

    assert_eq!(found, [RuleFault::Action]);
}

#[test]
fn a_permit_on_a_list_of_actions_is_refused() {
    let scope = r#"principal, action in [Gw::Action::"notes.read"], resource in Gw::Path::"/notes""#;

    let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));

    assert_eq!(found, [RuleFault::Action]);
}

/// Attack 3
#[test]
fn a_permit_without_a_deadline_is_refused() {
    for clauses in [
        "",
        "when { true }",
        r#"when { context.tool == "note_read" }"#,
        r#"when { context.now <= datetime("2027-01-01T00:00:00Z") }"#,
        r#"when { context.now > datetime("2027-01-01T00:00:00Z") }"#,
        r#"when { context.now != datetime("2027-01-01T00:00:00Z") }"#,
        r#"when { datetime("2026-01-01T00:00:00Z") < context.now }"#,
        r#"when { context.now < context.now }"#,
    ] {
        let found = faults(&permit(SCOPE, clauses));
        assert_eq!(found, [RuleFault::Deadline(0)], "{clauses}");
    }
}

/// Attack 4
#[test]
fn a_deadline_disguised_by_or_is_refused() {
    for condition in [
        format!("{DEADLINE} || true"),
        format!("true || {DEADLINE}"),
        format!("({DEADLINE} || context.tool == \"x\") && true"),
        format!("!({DEADLINE}) || true"),
    ] {
        let found = faults(&permit(SCOPE, &format!("when {{ {condition} }}")));
        assert!(found.contains(&RuleFault::Deadline(0)), "{condition}: {found:?}");
    }
    let found = faults(&narrowed(r#"(context.tool == "a" || context.tool == "b")"#));
    assert_eq!(found, [RuleFault::Operator("`||`".into())]);
}

/// Attack 5
#[test]
fn a_deadline_hidden_in_unless_is_refused() {
    let clauses = r#"unless { datetime("2027-01-01T00:00:00Z") < context.now }"#;
    let found = faults(&permit(SCOPE, clauses));
    assert_eq!(found, [RuleFault::Unless, RuleFault::Deadline(0)]);

    let both = format!(r#"when {{ {DEADLINE} }} unless {{ context.tool == "x" }}"#);
    assert_eq!(faults(&permit(SCOPE, &both)), [RuleFault::Unless]);
}

#[test]
fn a_deadline_inside_if_or_not_is_refused() {
    let conditional = format!("when {{ if true then {DEADLINE} else true }}");
    let found = faults(&permit(SCOPE, &conditional));
    assert!(found.contains(&RuleFault::Deadline(0)), "{found:?}");
    assert!(found.contains(&RuleFault::Operator("`if`".into())), "{found:?}");

    let negated = r#"when { !(context.now >= datetime("2027-01-01T00:00:00Z")) }"#;
    let found = faults(&permit(SCOPE, negated));
    assert!(found.contains(&RuleFault::Operator("`!`".into())), "{found:?}");
}

#[test]
fn two_deadlines_are_refused() {
    let found = faults(&narrowed(r#"context.now < datetime("2026-12-01T00:00:00Z")"#));

    assert_eq!(found, [RuleFault::Deadline(2)]);
}

#[test]
fn a_deadline_in_another_spelling_is_refused() {
    for text in ["2027-01-01", "2027-01-01T00:00:00+0100", "later"] {
        let found = faults(&permit(SCOPE, &format!("when {{ context.now < datetime(\"{text}\") }}")));
        assert_eq!(found, [RuleFault::DeadlineText(text.into())]);
    }
}

#[test]
fn a_permit_without_a_noun_is_refused() {
    for resource in ["resource", "resource is Gw::Path"] {
        let scope = format!(r#"principal, action == Gw::Action::"notes.read", {resource}"#);
        let found = faults(&permit(&scope, &format!("when {{ {DEADLINE} }}")));
        assert_eq!(found, [RuleFault::Resource], "{resource}");
    }
}

#[test]
fn a_permit_on_the_whole_tree_is_refused() {
    let scope = r#"principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/""#;

    let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));

    assert_eq!(found, [RuleFault::WholeTree]);
}

#[test]
fn a_permit_for_a_kind_or_group_of_principals_is_refused() {
    for principal in
        ["principal is Gw::Agent", r#"principal in Gw::Agent::"agt_019355a0c0007000800000000000d001""#]
    {
        let scope =
            format!(r#"{principal}, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes""#);
        let found = faults(&permit(&scope, &format!("when {{ {DEADLINE} }}")));
        assert_eq!(found, [RuleFault::Principal], "{principal}");
    }
}

#[test]
fn a_pattern_that_starts_with_a_wildcard_is_refused_in_a_permit_only() {
    let found = faults(&narrowed(r#"resource.value like "*.txt""#));
    assert_eq!(found, [RuleFault::LeadingWildcard]);

    let forbid = r#"@id("r") forbid (principal, action == Gw::Action::"notes.read", resource)
        when { resource.value like "*/.git/*" };"#;
    assert!(load(forbid).is_ok());
}

#[test]
fn arithmetic_in_a_permit_is_refused() {
    let found = faults(&narrowed("context.args has depth && context.args.depth + 1 <= 3"));

    assert_eq!(found, [RuleFault::Operator("`+`".into())]);
}

#[test]
fn a_rule_without_an_id_is_refused_by_its_number() {
    let Err(errors) = load("forbid (principal, action, resource);") else {
        panic!("loaded");
    };

    assert_eq!(errors[0].place(), "rules: rule 1");
    assert_eq!(errors[0].fault(), &Fault::Rule(RuleFault::Id));
}

/// T4: rule ids are public.
#[test]
fn an_id_that_is_no_label_is_refused() {
    for id in ["", "a b", "a@example.com", "é"] {
        let text = format!("@id(\"{id}\") forbid (principal, action, resource);");
        assert_eq!(faults(&text), [RuleFault::Id], "{id}");
    }
}

#[test]
fn an_id_used_twice_is_refused() {
    let text = r#"@id("r") forbid (principal, action == Gw::Action::"notes.read", resource);
        @id("r") forbid (principal, action == Gw::Action::"mail.send", resource);"#;

    assert_eq!(faults(text), [RuleFault::DuplicateId]);
}

#[test]
fn a_template_is_refused() {
    let text = r#"@id("r") permit (principal == ?principal, action, resource);"#;

    assert_eq!(faults(text), [RuleFault::Template]);
}

#[test]
fn an_unknown_annotation_is_refused() {
    let text = r#"@id("r") @verdct("STEP_UP") forbid (principal, action, resource);"#;

    assert_eq!(faults(text), [RuleFault::Annotation("verdct".into())]);
}

#[test]
fn a_verdict_is_step_up_and_on_a_forbid_only() {
    let hold = r#"@id("r") @verdict("STEP_UP") forbid (principal, action, resource);"#;
    let linted = load(hold).expect("a forbid may hold");
    assert_eq!(linted.rules[0].effect(), Effect::Hold);

    let allow = r#"@id("r") @verdict("ALLOW") forbid (principal, action, resource);"#;
    assert_eq!(faults(allow), [RuleFault::Verdict]);
    let on_permit = format!(r#"@id("r") @verdict("STEP_UP") permit ({SCOPE}) when {{ {DEADLINE} }};"#);
    assert_eq!(faults(&on_permit), [RuleFault::Verdict]);
}

#[test]
fn an_entity_that_no_call_can_name_is_refused() {
    for resource in [
        r#"Gw::Path::"/notes/""#,
        r#"Gw::Path::"/notes/../etc""#,
        r#"Gw::Path::"notes""#,
        r#"Gw::Tool::"notes/gone""#,
        r#"Gw::Tool::"sync""#,
        r#"Gw::MailAddress::"""#,
    ] {
        let text = format!(r#"@id("r") forbid (principal, action, resource == {resource});"#);
        let found = faults(&text);
        assert!(matches!(found.as_slice(), [RuleFault::NeverOccurs(_)]), "{resource}: {found:?}");
    }
    let agent = r#"@id("r") forbid (principal == Gw::Agent::"bob", action, resource);"#;
    assert!(matches!(faults(agent).as_slice(), [RuleFault::NeverOccurs(_)]));
}

#[test]
fn a_rule_on_an_action_that_the_registry_lacks_is_refused() {
    let scope = r#"principal, action == Gw::Action::"notes.write", resource in Gw::Path::"/notes""#;

    let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));

    assert!(matches!(found.as_slice(), [RuleFault::Strict(_), ..]), "{found:?}");
}

#[test]
fn a_word_outside_its_vocabulary_is_refused() {
    let text = r#"@id("r") forbid (principal, action, resource)
        when { context.data_class == Gw::DataClass::"persnal" };"#;

    assert!(matches!(faults(text).as_slice(), [RuleFault::Strict(_), ..]));
}

#[test]
fn a_rule_that_does_not_type_check_is_refused() {
    for condition in [
        r#"context.tool == 3"#,
        "context.args.depth == 1",
        "context.args has depth && context.args.depth == \"1\"",
        "context.nothing",
        "resource.nothing == 1",
    ] {
        let text = format!(
            r#"@id("r") forbid (principal, action == Gw::Action::"notes.read", resource) when {{ {condition} }};"#
        );
        let found = faults(&text);
        assert!(matches!(found.as_slice(), [RuleFault::Strict(_), ..]), "{condition}: {found:?}");
    }
}

#[test]
fn a_noun_of_the_wrong_kind_is_refused() {
    let scope = r#"principal, action == Gw::Action::"notes.read", resource == Gw::MailAddress::"a""#;

    let found = faults(&permit(scope, &format!("when {{ {DEADLINE} }}")));

    assert!(matches!(found.as_slice(), [RuleFault::Strict(_), ..]), "{found:?}");
}

#[test]
fn a_number_without_canonical_bytes_is_refused() {
    let text = r#"@id("r") forbid (principal, action == Gw::Action::"notes.read", resource)
        when { context.args has depth && context.args.depth == 9007199254740993 };"#;

    assert_eq!(faults(text), [RuleFault::BigNumber(9_007_199_254_740_993)]);
}

#[test]
fn text_that_is_not_cedar_is_refused() {
    assert!(matches!(faults("permit everything;").as_slice(), [RuleFault::Syntax(_)]));
}

#[test]
fn too_many_rules_are_refused() {
    let rule = |i| format!("@id(\"r{i}\") forbid (principal, action, resource);\n");
    let text: String = (0..=MAX_RULES).map(rule).collect();

    assert_eq!(faults(&text), [RuleFault::TooMany]);
}

#[test]
fn every_defect_is_reported_with_its_rule() {
    let text = format!(
        r#"@id("one") permit (principal, action, resource);
        @id("two") permit ({SCOPE}) when {{ {DEADLINE} }};
        @id("three") permit ({SCOPE}) unless {{ false }};"#
    );

    let Err(errors) = load(&text) else {
        panic!("loaded");
    };

    let places: Vec<&str> = errors.iter().map(LintError::place).collect();
    assert_eq!(places, ["rules: one", "rules: one", "rules: one", "rules: three", "rules: three"]);
}

fn forbid(annotations: &str) -> String {
    format!("@id(\"r\") {annotations} forbid (principal, action == Gw::Action::\"notes.read\", resource);")
}

#[test]
fn a_forbid_may_ask_narrow_or_put_off_instead_of_denying() {
    for (annotations, effect, told, vendor_lifts) in [
        ("", Effect::Deny, None, false),
        ("@author(\"ops\") @reason(\"audit\") @note(\"\")", Effect::Deny, None, false),
        ("@verdict(\"STEP_UP\")", Effect::Hold, None, false),
        ("@verdict(\"STEP_UP\") @lift(\"vendor\")", Effect::Hold, None, true),
        ("@verdict(\"MODIFY\") @narrow(\"at most 10\")", Effect::Narrow, Some("at most 10"), false),
        ("@verdict(\"DEFER\") @needs(\"a ticket\")", Effect::Defer, Some("a ticket"), false),
    ] {
        let linted = load(&forbid(annotations)).unwrap_or_else(|errors| panic!("{annotations}: {errors:?}"));
        let rule = &linted.rules[0];
        assert_eq!((rule.effect(), rule.told(), rule.vendor_lifts()), (effect, told, vendor_lifts));
    }
}

#[test]
fn an_annotation_that_says_nothing_is_refused() {
    let narrow = RuleFault::Belongs("narrow", "@verdict(\"MODIFY\")");
    let needs = RuleFault::Belongs("needs", "@verdict(\"DEFER\")");
    let long = "x".repeat(257);
    for (annotations, fault) in [
        ("@verdict(\"MODIFY\")".to_owned(), narrow.clone()),
        ("@verdict(\"DEFER\") @narrow(\"x\")".to_owned(), narrow.clone()),
        ("@narrow(\"x\")".to_owned(), narrow),
        ("@verdict(\"DEFER\")".to_owned(), needs.clone()),
        ("@verdict(\"STEP_UP\") @needs(\"x\")".to_owned(), needs),
        ("@verdict(\"MODIFY\") @narrow(\"\")".to_owned(), RuleFault::Told("narrow")),
        (format!("@verdict(\"MODIFY\") @narrow(\"{long}\")"), RuleFault::Told("narrow")),
        ("@verdict(\"DEFER\") @needs(\"a\\nb\")".to_owned(), RuleFault::Told("needs")),
        ("@verdict(\"ALLOW\")".to_owned(), RuleFault::Verdict),
        ("@verdict".to_owned(), RuleFault::Verdict),
        ("@lift(\"vendor\")".to_owned(), RuleFault::Lift),
        ("@verdict(\"MODIFY\") @narrow(\"x\") @lift(\"vendor\")".to_owned(), RuleFault::Lift),
        ("@verdict(\"STEP_UP\") @lift(\"agent\")".to_owned(), RuleFault::Lift),
    ] {
        let found = faults(&forbid(&annotations));
        assert!(found.contains(&fault), "{annotations}: {found:?}");
    }
    let like_a_grant = forbid("").replace("\"r\"", "\"grt_1\"");
    assert_eq!(faults(&like_a_grant), [RuleFault::GrantId]);
}
