//! Every case of docs/vectors/policy, written by a program that shares no code with this crate.

use counterfoil_core::digest::Digest;
use counterfoil_core::json::canonical;
use counterfoil_core::statement::{Reason, Shape, Verdict};
use counterfoil_policy::{Bundle, Call, Classification, Facts, Listed, Registry, classify, evaluate};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// One case; a member that is not here, or a kind, is a failure.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Case {
    Bundle {
        about: String,
        registry: String,
        rules: String,
        schema: Value,
        rule_trees: Vec<Value>,
        document: Value,
        digest: Digest,
    },
    Classification {
        about: String,
        registry: String,
        provider: String,
        tool: String,
        listed: Value,
        arguments: Value,
        pin: Digest,
        held: Option<Reason>,
        action: Option<String>,
        nouns: Vec<Value>,
        shape: Shape,
    },
    Judgement {
        about: String,
        registry: String,
        rules: String,
        facts: Value,
        facts_digest: Digest,
        verdict: Verdict,
        reason: Reason,
        named: Vec<String>,
    },
    Unloadable {
        refused_because: String,
        registry: String,
        rules: String,
        place: String,
    },
}

fn run(case: Case) {
    match case {
        Case::Bundle { about, registry, rules, schema, rule_trees, document, digest } => {
            let bundle = Bundle::compile(&registry, &rules).expect("good bundle");
            assert_eq!(document["schema"], json!(Digest::of(&canonical(&schema))));
            assert_eq!(document["registry"], json!(bundle.registry_digest()));
            for (rule, tree) in bundle.rules().iter().zip(&rule_trees) {
                assert_eq!(json!(rule.id()), tree["id"]);
                assert_eq!(rule.digest(), Digest::of(&canonical(&tree["tree"])), "{}", rule.id());
            }
            assert_eq!(Digest::of(&canonical(&document)), digest);
            assert_eq!(bundle.digest(), digest, "{about}");
        }
        Case::Classification {
            about,
            registry,
            provider,
            tool,
            listed,
            arguments,
            pin,
            held,
            action,
            nouns,
            shape,
        } => {
            let registry = Registry::parse(&registry).expect("good registry");
            let listed = Listed::read(&listed);
            let call = Call { provider: &provider, tool: &tool, listed: &listed, arguments: &arguments };
            let classification = classify(&registry, &call);
            let why = match &classification {
                Classification::Classified { .. } => None,
                Classification::Held { why, .. } => Some(why.reason()),
            };
            let found: Vec<Value> = classification
                .nouns()
                .iter()
                .map(|n| json!({ "type": n.kind().noun_type(), "value": n.value() }))
                .collect();
            assert_eq!(why, held, "{about}");
            assert_eq!(classification.pin(), pin);
            assert_eq!(classification.known().map(|known| known.action()), action);
            assert_eq!(found, nouns);
            assert_eq!(classification.shape(), shape);
        }
        Case::Judgement { about, registry, rules, facts, facts_digest, verdict, reason, named } => {
            let bundle = Bundle::compile(&registry, &rules).expect("good bundle");
            let facts = Facts::parse(facts.to_string().as_bytes()).expect("good facts");
            assert_eq!(facts.digest(), facts_digest);
            let judgement = evaluate(&bundle, &facts);
            assert_eq!((judgement.verdict, judgement.reason), (verdict, reason), "{about}");
            let rules: Vec<&str> = judgement.rules.iter().map(|rule| rule.as_str()).collect();
            assert_eq!(rules, named);
        }
        Case::Unloadable { refused_because, registry, rules, place } => {
            let Err(errors) = Bundle::compile(&registry, &rules) else {
                panic!("loaded, although: {refused_because}");
            };
            assert!(!errors.is_empty());
            assert!(errors.iter().all(|error| error.place() == place), "{place}: {errors:?}");
        }
    }
}

/// P7, P8, G2, G3
#[test]
fn every_published_case_comes_out_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors/policy");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("docs/vectors/policy is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "json") {
            count += 1;
            println!("{}", path.display());
            let text = fs::read(&path).expect("a case");
            run(serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
        }
    }
    assert!(count >= 60, "only {count} cases");
}
