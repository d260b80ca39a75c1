//! Every case of docs/vectors/policy, written by a program that shares no code with this crate.

use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::json::canonical;
use counterfoil_core::statement::{Effect, Reason, Shape, Verdict};
use counterfoil_policy::{Bundle, Call, Classification, Facts, Grants, Listed, Registry, classify, evaluate};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A kind or a member that is not here is a failure.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Case {
    Bundle(BundleCase),
    Classification(ClassificationCase),
    Judgement(JudgementCase),
    Unloadable(UnloadableCase),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BundleCase {
    about: String,
    registry: String,
    rules: String,
    schema: Value,
    rule_trees: Vec<Value>,
    document: Value,
    digest: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassificationCase {
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgementCase {
    about: String,
    registry: String,
    rules: String,
    facts: Value,
    facts_digest: Digest,
    /// Every grant of the project, of all agents.
    #[serde(default)]
    grants: Vec<GrantDocument>,
    verdict: Verdict,
    reason: Reason,
    named: Vec<String>,
    effect: Effect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnloadableCase {
    refused_because: String,
    registry: String,
    rules: String,
    place: String,
}

impl BundleCase {
    fn run(self) {
        let bundle = Bundle::compile(&self.registry, &self.rules).expect("good bundle");
        assert_eq!(self.document["schema"], json!(Digest::of(&canonical(&self.schema))));
        assert_eq!(self.document["registry"], json!(bundle.registry_digest()));
        for (rule, tree) in bundle.rules().iter().zip(&self.rule_trees) {
            assert_eq!(json!(rule.id()), tree["id"]);
            assert_eq!(rule.digest(), Digest::of(&canonical(&tree["tree"])), "{}", rule.id());
        }
        assert_eq!(Digest::of(&canonical(&self.document)), self.digest);
        assert_eq!(bundle.digest(), self.digest, "{}", self.about);
    }
}

impl ClassificationCase {
    fn run(self) {
        let registry = Registry::parse(&self.registry).expect("good registry");
        let call = Call {
            provider: &self.provider,
            tool: &self.tool,
            listed: &Listed::read(&self.listed),
            arguments: &self.arguments,
        };
        let found = classify(&registry, &call);
        let held = match &found {
            Classification::Classified { .. } => None,
            Classification::Held { why, .. } => Some(why.reason()),
        };
        let nouns = found.nouns().iter();
        let nouns: Vec<Value> =
            nouns.map(|n| json!({ "type": n.kind().noun_type(), "value": n.value() })).collect();
        assert_eq!(held, self.held, "{}", self.about);
        assert_eq!(found.pin(), Some(self.pin));
        assert_eq!(found.known().map(|known| known.action()), self.action);
        assert_eq!(nouns, self.nouns);
        assert_eq!(found.shape(), self.shape);
    }
}

impl JudgementCase {
    fn run(self) {
        let bundle = Bundle::compile(&self.registry, &self.rules).expect("good bundle");
        let facts = Facts::parse(self.facts.to_string().as_bytes()).expect("good facts");
        assert_eq!(facts.digest(), self.facts_digest);
        let found = evaluate(&bundle, &Grants::compile(&self.grants, &bundle), &facts);
        let expected = (self.verdict, self.reason, self.effect);
        assert_eq!((found.verdict, found.reason, found.effect), expected, "{}", self.about);
        let named: Vec<&str> = found.rules.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(named, self.named);
    }
}

impl UnloadableCase {
    fn run(self) {
        let Err(errors) = Bundle::compile(&self.registry, &self.rules) else {
            panic!("loaded, although: {}", self.refused_because);
        };
        assert!(!errors.is_empty());
        assert!(errors.iter().all(|error| error.place() == self.place), "{errors:?}");
    }
}

/// P7, P8, G2, G3, G8
#[test]
fn every_published_case_comes_out_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors/policy");
    let mut count = 0;
    let mut judged = 0;
    for entry in fs::read_dir(folder).expect("docs/vectors/policy is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        count += 1;
        println!("{}", path.display());
        let text = fs::read(&path).expect("a case");
        match serde_json::from_slice(&text).expect("a case of a known kind") {
            Case::Bundle(case) => case.run(),
            Case::Classification(case) => case.run(),
            Case::Judgement(case) => {
                judged += 1;
                case.run();
            }
            Case::Unloadable(case) => case.run(),
        }
    }
    println!("{count} cases, {judged} of them judged");
    assert!(count >= 240, "only {count} cases");
    assert!(judged >= 150, "only {judged} cases are judged");
}
