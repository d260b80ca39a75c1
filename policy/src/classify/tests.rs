use super::*;
use crate::registry::with_pins;
use counterfoil_core::commitment::OpeningSeed;
use serde_json::json;

const REGISTRY: &str = r#"
    v = 1
    [provider.notes.tool.note_write]
    service = "notes"
    verb = "update"
    nouns = [{ type = "path", at = "/path" }]
    operation = "write"
    data_class = "operational"
    fields = { size = { at = "/n", type = "long" }, mode = { at = "/mode", type = "string" } }
    [provider.notes.tool.sync]
    service = "notes"
    verb = "execute"
    nouns = [{ type = "tool" }]
"#;

fn definition(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "properties": { "path": {}, "text": {} } } })
}

fn pinned_registry() -> Registry {
    let pins: Vec<(String, Digest)> = ["note_write", "sync"]
        .into_iter()
        .map(|name| (name.to_owned(), crate::pin_of(&definition(name))))
        .collect();
    let text = with_pins(REGISTRY, "notes", &pins).expect("good registry");
    Registry::parse(&text).expect("good registry")
}

fn classified(registry: &Registry, tool: &str, definition: &Value, arguments: Value) -> Classification {
    let call = Call { provider: "notes", tool, listed: &Listed::read(definition), arguments: &arguments };
    classify(registry, &call)
}

fn why(classification: &Classification) -> Option<Unclassified> {
    match classification {
        Classification::Classified { .. } => None,
        Classification::Held { why, .. } => Some(*why),
    }
}

#[test]
fn a_call_is_what_the_registry_says() {
    let arguments = json!({ "path": "/notes/été.txt", "text": "hello", "n": 3.0, "other": 1 });

    let classification = classified(&pinned_registry(), "note_write", &definition("note_write"), arguments);

    assert_eq!(why(&classification), None);
    let seed = OpeningSeed::from_bytes([7; 16]);
    let commit = seed.commit("noun/0", classification.nouns()[0].value()).commitment();
    let class = classification.class(&[commit]).expect("a class");
    assert_eq!(
        serde_json::to_value(&class).expect("JSON"),
        json!({
            "service": "notes", "verb": "update", "nouns": [{ "type": "path", "commit": commit }],
            "operation": "write", "data_class": "operational", "destination": "unknown",
            "magnitude": "unknown", "reversibility": "unknown",
            "source": {
                "operation": "declared", "data_class": "declared", "destination": "unknown",
                "magnitude": "unknown", "reversibility": "unknown",
            },
        })
    );
    let shape: Vec<String> = classification.shape().into_keys().collect();
    assert_eq!(shape, ["path", "text"]);
}

/// G2
#[test]
fn a_tool_that_the_registry_does_not_know_is_held() {
    let registry = pinned_registry();

    let unknown = classified(&registry, "note_copy", &definition("note_copy"), json!({}));

    assert_eq!(why(&unknown), Some(Unclassified::UnknownTool));
    assert!(unknown.class(&[]).is_none());
    assert!(unknown.shape().is_empty());
}

/// G2: the same name at another provider is another tool.
#[test]
fn a_tool_of_another_provider_is_unknown() {
    let call = Call {
        provider: "other",
        tool: "note_write",
        listed: &Listed::read(&definition("note_write")),
        arguments: &json!({ "path": "/a" }),
    };

    let classification = classify(&pinned_registry(), &call);

    assert_eq!(why(&classification), Some(Unclassified::UnknownTool));
}

/// G2
#[test]
fn a_changed_definition_is_held_and_nothing_is_read_by_it() {
    let mut changed = definition("note_write");
    changed["description"] = json!("now sends mail, too");
    let arguments = json!({ "path": "/notes/a", "text": "hello", "n": 1 });

    let classification = classified(&pinned_registry(), "note_write", &changed, arguments);

    assert_eq!(why(&classification), Some(Unclassified::DefinitionChanged));
    assert_eq!(classification.pin(), Some(crate::pin_of(&changed)));
    assert!(classification.shape().is_empty());
    let known = classification.known().expect("the registry knows it");
    assert!(known.fields().is_empty());
    assert_eq!(known.nouns().len(), 1);
}

/// G2: an entry without a pin is no permission.
#[test]
fn a_tool_without_a_pin_is_held() {
    let registry = Registry::parse(REGISTRY).expect("good registry");
    let arguments = json!({ "path": "/notes/a" });

    let classification = classified(&registry, "note_write", &definition("note_write"), arguments);

    let Classification::Held { why, detail, .. } = classification else {
        panic!("classified");
    };
    assert_eq!(why, Unclassified::DefinitionChanged);
    assert_eq!(detail, "the registry pins no definition of this tool");
}

/// G2
#[test]
fn a_missing_noun_is_held_and_its_value_is_not_repeated() {
    for arguments in [json!({}), json!({ "path": "/notes/../etc" }), json!({ "path": 7 })] {
        let classification =
            classified(&pinned_registry(), "note_write", &definition("note_write"), arguments);

        let Classification::Held { why, detail, known, .. } = classification else {
            panic!("classified");
        };
        assert_eq!(why, Unclassified::NounMissing);
        assert!(!detail.contains("etc"), "{detail}");
        assert!(known.expect("known").nouns().is_empty());
    }
}

#[test]
fn the_tool_itself_is_named_with_its_provider() {
    let classification = classified(&pinned_registry(), "sync", &definition("sync"), json!({}));

    assert_eq!(classification.nouns()[0].value(), "notes/sync");
}

#[test]
fn a_whole_number_is_the_same_field_in_every_spelling() {
    for text in ["3", "3.0", "3e0", "0.3e1"] {
        let number: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(canonical_number(&number), json!(3), "{text}");
    }
    assert_eq!(canonical_number(&json!(0.5)), json!(0.5));
    assert_eq!(canonical_number(&json!("3")), json!("3"));
}

/// G5: what a person saw to be absent stays absent under the grant that the answer gives.
#[test]
fn a_declared_field_that_a_call_does_not_have_is_shown_as_null() {
    let arguments = json!({ "path": "/notes/a.txt", "n": 3, "mode": null });

    let classification = classified(&pinned_registry(), "note_write", &definition("note_write"), arguments);

    let known = classification.known().expect("the registry knows it");
    assert_eq!(json!(known.fields()), json!({ "size": 3 }));
    assert_eq!(json!(known.fields_and_gaps()), json!({ "size": 3, "mode": null }));
}
