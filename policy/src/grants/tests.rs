//! What a document compiles to, and what it does not. What grants do to verdicts: docs/vectors/policy.

use super::*;
use counterfoil_core::hold::CardNoun;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::time::Timestamp;
use serde_json::{Map, Value, json};

const REGISTRY: &str = r#"
    v = 1
    [provider.post.tool.mail_send]
    service = "mail"
    verb = "send"
    nouns = [{ type = "mail_address", at = "/to" }]
    fields = { n = { at = "/n", type = "long" } }
    [provider.post.tool.mail_read]
    service = "mail"
    verb = "read"
    nouns = [{ type = "path", at = "/folder" }]
"#;

fn bundle() -> Bundle {
    Bundle::compile(REGISTRY, "").expect("good bundle")
}

fn agent(n: u8) -> AgentId {
    format!("agt_019355a0c000700080000000000000{n:02x}").parse().expect("agent")
}

fn document(n: u16, to: &str) -> GrantDocument {
    GrantDocument {
        v: 1,
        nonce: Nonce16::from_bytes([7; 16]),
        grant: format!("grt_019355a0c00070008000000000{n:06x}").parse().expect("grant"),
        agent: agent(1),
        service: "mail".parse().expect("service"),
        verb: serde_json::from_value(json!("send")).expect("verb"),
        noun: CardNoun { noun_type: "mail_address".parse().expect("type"), value: to.to_owned() },
        fields: Map::new(),
        until: Timestamp::parse("2026-11-30T11:50:00.000Z").expect("time"),
    }
}

fn permits(grants: &Grants, agent: AgentId) -> Vec<Value> {
    let policies = grants.policies(agent, "mail.send");
    policies.into_iter().flat_map(PolicySet::policies).map(|p| p.to_json().expect("a tree")).collect()
}

/// G3: one permit, exact in all three places, with its end.
#[test]
fn a_document_is_exactly_one_static_permit() {
    let mut given = document(1, "a@example.com");
    given.fields.insert("n".to_owned(), json!(3));

    let grants = Grants::compile(&[given], &bundle());

    let found = permits(&grants, agent(1));
    let context = json!({ "Var": "context" });
    let args = json!({ ".": { "left": context, "attr": "args" } });
    let end = json!({ "<": { "left": { ".": { "left": context, "attr": "now" } },
                             "right": { "datetime": [{ "Value": "2026-11-30T11:50:00.000Z" }] } } });
    let field = json!({ "&&": { "left": { "has": { "left": args, "attr": "n" } },
        "right": { "==": { "left": { ".": { "left": args, "attr": "n" } }, "right": { "Value": 3 } } } } });
    let expected = json!({
        "effect": "permit",
        "principal": { "op": "==", "entity": { "type": "Gw::Agent", "id": agent(1) } },
        "action": { "op": "==", "entity": { "type": "Gw::Action", "id": "mail.send" } },
        "resource": { "op": "==", "entity": { "type": "Gw::MailAddress", "id": "a@example.com" } },
        "conditions": [{ "kind": "when", "body": { "&&": { "left": end, "right": field } } }],
        "annotations": { "id": "grt_019355a0c00070008000000000000001" },
    });
    assert_eq!(found, [expected]);
    assert_eq!(grants.void(), []);
}

/// G3: what a noun says is never read as a condition.
#[test]
fn a_noun_is_a_string_whatever_stands_in_it() {
    for noun in
        ["\" || true || \"", "*", "a\\\"b", "Gw::MailAddress::\"x\"", "\u{0}", "__entity", "été@пример"]
    {
        let grants = Grants::compile(&[document(1, noun)], &bundle());

        let found = permits(&grants, agent(1));
        assert_eq!(found[0]["resource"]["entity"]["id"], noun);
        assert_eq!(found[0]["resource"]["op"], "==");
    }
}

#[test]
fn a_document_that_the_registry_does_not_type_is_named_and_the_others_stand() {
    let with = |change: &dyn Fn(&mut GrantDocument)| {
        let mut document = document(2, "b@example.com");
        change(&mut document);
        document
    };
    let field = |value: Value| with(&|d| drop(d.fields.insert("n".to_owned(), value.clone())));
    let noun_type = |kind: &str, value: &str| {
        with(&|d| d.noun = CardNoun { noun_type: kind.parse().expect("type"), value: value.to_owned() })
    };
    let action = || "mail.send".to_owned();
    for (document, fault) in [
        (with(&|d| d.v = 2), GrantFault::Version(2)),
        (with(&|d| d.service = "post".parse().expect("service")), GrantFault::Action("post.send".to_owned())),
        (noun_type("path", "/a"), GrantFault::NounType { action: action(), noun: "path".to_owned() }),
        (noun_type("agent", "x"), GrantFault::NounType { action: action(), noun: "agent".to_owned() }),
        (
            with(&|d| drop(d.fields.insert("gone".to_owned(), json!(1)))),
            GrantFault::Field { action: action(), field: "gone".to_owned() },
        ),
        (field(json!("3")), GrantFault::FieldType("n".to_owned())),
        (field(json!(1.5)), GrantFault::FieldType("n".to_owned())),
        (field(json!(9_007_199_254_740_992_i64)), GrantFault::FieldType("n".to_owned())),
        (field(json!([1])), GrantFault::FieldType("n".to_owned())),
        (field(json!({ "__extn": { "fn": "ip", "arg": "::1" } })), GrantFault::FieldType("n".to_owned())),
    ] {
        let bad = VoidGrant { grant: document.grant, agent: document.agent, why: fault };
        let grants = Grants::compile(&[document.clone(), self::document(1, "a@example.com")], &bundle());

        assert_eq!(grants.void(), [bad]);
        assert_eq!(permits(&grants, agent(1)).len(), 1);
        // Void or not, the facts name every document of the agent.
        assert_eq!(grants.digests(agent(1)).len(), 2);
    }
}

#[test]
fn two_documents_with_one_id_are_none_and_one_twice_is_one() {
    let (one, other) = (document(1, "a@example.com"), document(1, "b@example.com"));

    let twice = Grants::compile(&[one.clone(), one.clone()], &bundle());
    assert_eq!(permits(&twice, agent(1)).len(), 1);

    let both = Grants::compile(&[one, other], &bundle());
    assert!(permits(&both, agent(1)).is_empty());
    assert!(both.void().iter().all(|void| void.why == GrantFault::Duplicate));
}

#[test]
fn five_hundred_grants_of_one_agent_are_compiled_and_one_more_is_none() {
    let mut documents: Vec<GrantDocument> =
        (0..500).map(|n| document(n, &format!("a{n}@example.com"))).collect();
    let grants = Grants::compile(&documents, &bundle());
    assert_eq!(permits(&grants, agent(1)).len(), 500);

    documents.push(document(500, "b@example.com"));
    let mut elsewhere = document(501, "b@example.com");
    elsewhere.agent = agent(2);
    documents.push(elsewhere);
    let grants = Grants::compile(&documents, &bundle());

    assert!(permits(&grants, agent(1)).is_empty());
    assert_eq!(grants.void().len(), 501);
    assert_eq!(permits(&grants, agent(2)).len(), 1);
}

#[test]
fn the_order_of_documents_does_not_matter_and_digests_are_sorted() {
    let documents: Vec<GrantDocument> = (1..6).map(|n| document(n, "a@example.com")).collect();
    let backwards: Vec<GrantDocument> = documents.iter().rev().cloned().collect();

    let (one, other) = (Grants::compile(&documents, &bundle()), Grants::compile(&backwards, &bundle()));

    assert_eq!(one.digests(agent(1)), other.digests(agent(1)));
    assert!(one.digests(agent(1)).is_sorted());
    assert_eq!(one.digests(agent(2)), []);
}
