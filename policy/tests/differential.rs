//! Random registries, rules, grants and facts: this crate against a second, tiny evaluator (G1, G3, G8).
//!
//! Every case compiles a bundle of its own and judges several calls under it; verdict, reason, named rules and effect must
//! all agree.

#[path = "differential/evaluator.rs"]
mod evaluator;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::statement::{Answers, Effect, Environment, Mode, Origin};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{
    Asked, BaseVerdict, Bundle, Call, Facts, Grants, Judgement, Listed, Standing, classify, evaluate, pin_of,
};
use evaluator::{About, Ask, Does, Fields, Grant, If, NOW, Rule, Said, Tool, Value};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;
use std::collections::BTreeSet;

const ACTIONS: [&str; 4] = ["notes.read", "notes.delete", "mail.read", "mail.send"];
const FIELDS: [&str; 3] = ["number", "text", "truth"];
const PATHS: [&str; 7] = ["/", "/a", "/ab", "/a/b", "/a/b/c", "/x/y", "/a/../b"];
const FOLDERS: [&str; 4] = ["/a", "/a/b", "/x", "/ab"];
const ADDRESSES: [&str; 3] = ["a@example.com", "b@example.com", "été@example.com"];
const PRINCIPALS: [&str; 2] = ["u-1", "u-2"];
const DATA: [&str; 3] = ["none", "personal", "unknown"];

fn agent(number: usize) -> String {
    format!("agt_019355a0c0007000800000000000d00{number}")
}

fn entity(kind: &str) -> &'static str {
    if kind == "path" { "Path" } else { "MailAddress" }
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("a time")
}

fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => json!(text),
        Value::Number(number) => json!(number),
        Value::Truth(truth) => json!(truth),
        Value::Absent => json!(null),
    }
}

fn registry(tools: &[Tool]) -> String {
    let pin = pin_of(&json!({ "name": "any" }));
    let mut text = "v = 1\n".to_owned();
    for (number, tool) in tools.iter().enumerate() {
        let (service, verb) = tool.action.split_once('.').expect("an action");
        text += &format!("[provider.p.tool.t{number}]\nservice = \"{service}\"\nverb = \"{verb}\"\n");
        text += &format!("nouns = [{{ type = \"{}\", each = \"/nouns\" }}]\n", tool.noun);
        let kind = |name: &str| match name {
            "number" => "long",
            "text" => "string",
            _ => "bool",
        };
        let fields = tool.fields.iter().map(|n| format!("{n} = {{ at = \"/{n}\", type = \"{}\" }}", kind(n)));
        text += &format!("fields = {{ {} }}\n", fields.collect::<Vec<_>>().join(", "));
        if let Some(data) = tool.data {
            text += &format!("data_class = \"{data}\"\n");
        }
        if tool.pinned {
            text += &format!("pin = \"{pin}\"\n");
        }
    }
    text
}

fn condition(one: &If) -> String {
    let field = |name: &str, then: String| format!("(context.args has {name} && context.args.{name} {then})");
    match one {
        If::AtMost(name, most) => field(name, format!("<= {most}")),
        If::Is(name, is) => field(name, format!("== {}", value(is))),
        If::Env(env) => format!("context.env == Gw::Env::\"{env}\""),
        If::Data(data) => format!("context.data_class == Gw::DataClass::\"{data}\""),
        If::Principal(name) => format!("(context has principal && context.principal == \"{name}\")"),
        If::SomePrincipal => "context has principal".to_owned(),
        If::Not(one) => format!("!({})", condition(one)),
        If::Or(one, other) => format!("({} || {})", condition(one), condition(other)),
        If::And(one, other) => format!("({} && {})", condition(one), condition(other)),
    }
}

fn cedar(rule: &Rule) -> String {
    let principal =
        rule.agent.map_or("principal".into(), |n| format!("principal == Gw::Agent::\"{}\"", agent(n)));
    let action = match rule.action {
        None => "action".to_owned(),
        Some(action) if action.contains('.') => format!("action == Gw::Action::\"{action}\""),
        Some(verb) => format!("action in Gw::Action::\"{verb}\""),
    };
    let resource = match rule.about {
        About::Anything => "resource".to_owned(),
        About::Exactly(kind, value) => format!("resource == Gw::{}::\"{value}\"", entity(kind)),
        About::Below(folder) => format!("resource in Gw::Path::\"{folder}\""),
    };
    let mut conditions: Vec<String> = rule.when.iter().map(condition).collect();
    if rule.does == Does::Permit {
        conditions.insert(0, format!("context.now < datetime(\"{}\")", time(rule.ends)));
    }
    let when = if conditions.is_empty() {
        String::new()
    } else {
        format!(" when {{ {} }}", conditions.join(" && "))
    };
    let unless =
        rule.unless.as_ref().map_or(String::new(), |one| format!(" unless {{ {} }}", condition(one)));
    let (effect, says) = match rule.does {
        Does::Permit => ("permit", ""),
        Does::Deny => ("forbid", ""),
        Does::Hold => ("forbid", "@verdict(\"STEP_UP\") "),
        Does::Modify => ("forbid", "@verdict(\"MODIFY\") @narrow(\"less\") "),
        Does::Defer => ("forbid", "@verdict(\"DEFER\") @needs(\"more\") "),
    };
    format!("@id(\"{}\") {says}{effect} ({principal}, {action}, {resource}){when}{unless};\n", rule.id)
}

fn document(grant: &Grant) -> GrantDocument {
    let (service, verb) = grant.action.split_once('.').expect("an action");
    let fields: serde_json::Map<String, serde_json::Value> =
        grant.fields.iter().map(|(name, is)| ((*name).to_owned(), value(is))).collect();
    let document = json!({ "v": 1, "nonce": "AQEBAQEBAQEBAQEBAQEBAQ", "grant": grant.id, "agent": agent(grant.agent),
        "service": service, "verb": verb, "noun": { "type": grant.noun.0, "value": grant.noun.1 }, "fields": fields,
        "until": time(grant.until) });
    serde_json::from_value(document).expect("a document")
}

fn judged(bundle: &Bundle, grants: &Grants, ask: &Ask) -> Judgement {
    let listed = Listed::read(&json!({ "name": if ask.changed { "other" } else { "any" } }));
    let mut arguments = json!({ "nouns": ask.nouns });
    for (name, is) in &ask.fields {
        arguments[*name] = value(is);
    }
    let tool = format!("t{}", ask.tool);
    let call = Call { provider: "p", tool: &tool, listed: &listed, arguments: &arguments };
    let answers: Answers = serde_json::from_value(json!({ "hold": "hld_019355a0c0007000800000000000f001",
        "decision": pin_of(&json!(1)), "answer": pin_of(&json!(2)) }))
    .expect("an answer");
    let agent = agent(ask.agent).parse().expect("an agent");
    let asked = Asked {
        agent,
        principal: ask.principal,
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: if ask.env == "live" { Environment::Live } else { Environment::Test },
        provider: Some("p"),
        tool: Some(&tool),
        args: None,
        now: time(NOW),
        base_verdict: if ask.base_deny { BaseVerdict::Deny } else { BaseVerdict::StepUp },
        standing: Standing {
            grants: grants.digests(agent),
            session: None,
            signals: None,
            approval: ask.approved.then_some(&answers),
            breakglass_until: ask.breakglass.map(time),
            shadow_until: ask.shadow.map(time),
            stopped: ask.stopped,
        },
    };
    let facts = Facts::of(&asked, &classify(bundle.registry(), &call));
    let judgement = evaluate(bundle, grants, &facts);
    let again = Facts::parse(&facts.bytes()).expect("facts");
    assert_eq!(evaluate(bundle, grants, &again), judgement, "P8: the document gives the same judgement");
    judgement
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = (
        select(ACTIONS.to_vec()),
        select(vec!["path", "mail_address"]),
        subsequence(FIELDS.to_vec(), 0..=3),
        prop::option::of(select(DATA.to_vec())),
        prop::bool::weighted(0.95),
    );
    let tool = tool.prop_map(|(action, noun, fields, data, pinned)| Tool {
        action,
        noun,
        fields: fields.into_iter().collect(),
        data,
        pinned,
    });
    prop::collection::vec(tool, 1..4)
}

/// What a rule or grant about one action may mention, so that it type-checks.
struct Reach {
    nouns: Vec<&'static str>,
    fields: Vec<&'static str>,
}

fn reach(tools: &[Tool], action: Option<&'static str>) -> Reach {
    let verb = |tool: &Tool| tool.action.split('.').nth(1);
    let of = tools.iter().filter(|tool| action.is_none_or(|a| a == tool.action || Some(a) == verb(tool)));
    let (mut nouns, mut fields) = (BTreeSet::new(), BTreeSet::new());
    for tool in of {
        nouns.insert(tool.noun);
        // A rule on several actions can read no field of one.
        if action.is_some_and(|action| action.contains('.')) {
            fields.extend(&tool.fields);
        }
    }
    Reach { nouns: nouns.into_iter().collect(), fields: fields.into_iter().collect() }
}

fn values(name: &'static str) -> Vec<Value> {
    match name {
        "number" => (0..4).map(Value::Number).collect(),
        "text" => ["a", "b"].map(Value::Text).to_vec(),
        _ => [true, false].map(Value::Truth).to_vec(),
    }
}

fn one_if(fields: &[&'static str]) -> BoxedStrategy<If> {
    let mut choices = vec![
        select(vec!["live", "test"]).prop_map(If::Env).boxed(),
        select(DATA.to_vec()).prop_map(If::Data).boxed(),
        select(PRINCIPALS.to_vec()).prop_map(If::Principal).boxed(),
        Just(If::SomePrincipal).boxed(),
    ];
    for field in fields.iter().copied() {
        choices.push(select(values(field)).prop_map(move |is| If::Is(field, is)).boxed());
        if field == "number" {
            choices.push((0i64..4).prop_map(|most| If::AtMost("number", most)).boxed());
        }
    }
    prop::strategy::Union::new(choices).boxed()
}

/// Only a forbid may say or and not.
fn any_if(fields: &[&'static str]) -> BoxedStrategy<If> {
    let pair = (one_if(fields), one_if(fields));
    prop_oneof![
        3 => one_if(fields),
        1 => one_if(fields).prop_map(|one| If::Not(Box::new(one))),
        1 => pair.clone().prop_map(|(one, other)| If::Or(Box::new(one), Box::new(other))),
        1 => pair.prop_map(|(one, other)| If::And(Box::new(one), Box::new(If::Not(Box::new(other))))),
    ]
    .boxed()
}

fn about(reach: &Reach, permit: bool) -> BoxedStrategy<About> {
    let mut choices = Vec::new();
    if !permit {
        choices.push(Just(About::Anything).boxed());
    }
    if reach.nouns.contains(&"path") {
        choices.push(select(FOLDERS.to_vec()).prop_map(About::Below).boxed());
        choices.push(select(PATHS[..6].to_vec()).prop_map(|path| About::Exactly("path", path)).boxed());
    }
    if reach.nouns.contains(&"mail_address") {
        let exactly = |address| About::Exactly("mail_address", address);
        choices.push(select(ADDRESSES.to_vec()).prop_map(exactly).boxed());
    }
    prop::strategy::Union::new(choices).boxed()
}

fn rule(tools: Vec<Tool>) -> BoxedStrategy<Rule> {
    let does = select(vec![
        Does::Permit,
        Does::Permit,
        Does::Permit,
        Does::Deny,
        Does::Hold,
        Does::Modify,
        Does::Defer,
    ]);
    let actions: Vec<&'static str> = tools.iter().map(|tool| tool.action).collect();
    (does, select(actions), 0..4)
        .prop_flat_map(move |(does, action, how)| {
            let permit = does == Does::Permit;
            let action = match how {
                0 if !permit => None,
                1 if !permit => action.split('.').nth(1),
                _ => Some(action),
            };
            let reach = reach(&tools, action);
            let conditions = if permit { one_if(&reach.fields) } else { any_if(&reach.fields) };
            let unless = if permit {
                Just(None).boxed()
            } else {
                prop::option::weighted(0.3, any_if(&reach.fields)).boxed()
            };
            let ends = prop_oneof![Just(0i64), Just(1), -3i64..3, Just(100_000)];
            (
                prop::option::weighted(0.3, 1usize..3),
                about(&reach, permit),
                ends,
                prop::collection::vec(conditions, 0..2),
                unless,
            )
                .prop_map(move |(agent, about, ends, when, unless)| Rule {
                    id: String::new(),
                    does,
                    agent,
                    action,
                    about,
                    ends: NOW + ends,
                    when,
                    unless,
                })
        })
        .boxed()
}

fn some_fields() -> impl Strategy<Value = Fields> {
    let one =
        |name: &'static str| prop::option::of(select(values(name))).prop_map(move |is| Some((name, is?)));
    (one("number"), one("text"), one("truth"))
        .prop_map(|(number, text, truth)| [number, text, truth].into_iter().flatten().collect())
}

fn noun_of(kind: &'static str) -> BoxedStrategy<&'static str> {
    if kind == "path" { select(PATHS.to_vec()).boxed() } else { select(ADDRESSES.to_vec()).boxed() }
}

/// Some fit the registry, some do not.
fn grant() -> impl Strategy<Value = Grant> {
    let noun = select(vec!["path", "mail_address"]).prop_flat_map(|kind| (Just(kind), noun_of(kind)));
    let fields = prop_oneof![
        3 => Just(Fields::new()),
        2 => some_fields(),
        1 => select(FIELDS.to_vec()).prop_map(|name| Fields::from([(name, Value::Absent)])),
        1 => Just(Fields::from([("number", Value::Text("a"))])),
    ];
    let until = prop_oneof![3 => Just(NOW + 1000), 1 => Just(NOW), 1 => Just(NOW + 1)];
    (1usize..3, select(ACTIONS.to_vec()), noun, fields, until).prop_map(
        |(agent, action, noun, fields, until)| Grant {
            id: String::new(),
            agent,
            action,
            noun,
            fields,
            until,
        },
    )
}

fn ask(tools: Vec<Tool>) -> impl Strategy<Value = Ask> {
    let window = || prop::option::weighted(0.15, prop_oneof![Just(NOW), Just(NOW + 1)]);
    let call = (0..=tools.len()).prop_flat_map(move |tool| {
        let kind = tools.get(tool).map_or("path", |tool| tool.noun);
        (Just(tool), prop::collection::vec(noun_of(kind), 0..4))
    });
    let who = (1usize..3, prop::option::of(select(PRINCIPALS.to_vec())), select(vec!["live", "test"]));
    let flags =
        (prop::bool::weighted(0.05), any::<bool>(), prop::bool::weighted(0.15), prop::bool::weighted(0.03));
    (call, some_fields(), who, flags, window(), window()).prop_map(
        |(
            (tool, nouns),
            fields,
            (agent, principal, env),
            (changed, base_deny, approved, stopped),
            breakglass,
            shadow,
        )| {
            Ask {
                tool,
                agent,
                nouns,
                fields,
                principal,
                env,
                changed,
                base_deny,
                approved,
                breakglass,
                shadow,
                stopped,
            }
        },
    )
}

fn world() -> impl Strategy<Value = (Vec<Tool>, Vec<Rule>, Vec<Grant>, Vec<Ask>)> {
    tools().prop_flat_map(|tools| {
        let rules = prop::collection::vec(rule(tools.clone()), 0..7).prop_map(|mut rules| {
            rules.iter_mut().enumerate().for_each(|(n, rule)| rule.id = format!("r{n}"));
            rules
        });
        let grants = prop::collection::vec(grant(), 0..6).prop_map(|mut grants| {
            let id = |n| format!("grt_019355a0c000700080000000000000{n:02x}");
            grants.iter_mut().enumerate().for_each(|(n, grant)| grant.id = id(n));
            grants
        });
        let asks = prop::collection::vec(ask(tools.clone()), 1..8);
        (Just(tools), rules, grants, asks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// G1, G3, G8
    #[test]
    fn two_evaluators_agree((tools, rules, grants, asks) in world()) {
        let text: String = rules.iter().map(cedar).collect();
        let registry = registry(&tools);
        let bundle = match Bundle::compile(&registry, &text) {
            Ok(bundle) => bundle,
            Err(errors) => {
                // A rule that contradicts itself does not load, and is not what this is about.
                let all = errors.iter().all(|error| error.to_string().contains("policy is impossible"));
                prop_assert!(all, "{:?}\n{}\n{}", errors, registry, text);
                return Err(TestCaseError::reject("a rule contradicts itself"));
            }
        };
        let documents: Vec<GrantDocument> = grants.iter().map(document).collect();
        let compiled = Grants::compile(&documents, &bundle);
        for ask in &asks {
            let found = judged(&bundle, &compiled, ask);
            let found = Said {
                verdict: found.verdict,
                reason: found.reason,
                named: found.rules.iter().map(ToString::to_string).collect(),
                advisory: found.effect == Effect::Advisory,
            };
            prop_assert_eq!(found, evaluator::judge(&tools, &rules, &grants, ask), "{:?}\n{}\n{}", ask, registry, text);
        }
    }
}
