//! The Cedar schema that a registry implies. Rules are type-checked against it, and so is every request.
//!
//! One action for each `service.verb` that the registry has, inside a group named by the verb; one entity type for
//! each kind of noun; one enumerated type for each closed vocabulary, so that a misspelt word does not load.
//!
//!     principal  Gw::Agent::"agt_…"
//!     action     Gw::Action::"notes.read" in Gw::Action::"read"
//!     resource   Gw::Path::"/notes/a.txt" in Gw::Path::"/notes" in Gw::Path::"/"
//!     context    now, env, origin, mode, provider, tool, principal?, five dimensions, args { declared fields }
//!                session { operations { … }, data_classes { … }, destinations { … }, cleared, refused }
//!
//! `session` is there only where a rule speaks of it, so that other rules need nobody to count. Each word of the three
//! vocabularies is a number, 0 where nothing was done.

use crate::noun::NounKind;
use crate::registry::{FieldKind, Registry};
use counterfoil_core::statement::{
    DataClass, Destination, Environment, Magnitude, Mode, Operation, Origin, Reversibility,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const AGENT: &str = "Gw::Agent";
pub(crate) const ACTION: &str = "Gw::Action";

/// The context members of an enumerated type, and that type.
pub(crate) const ENUMERATED: [(&str, &str); 8] = [
    ("env", "Env"),
    ("origin", "Origin"),
    ("mode", "Mode"),
    ("operation", "Operation"),
    ("data_class", "DataClass"),
    ("destination", "Destination"),
    ("magnitude", "Magnitude"),
    ("reversibility", "Reversibility"),
];

/// The words of each enumerated type, in the order of [`ENUMERATED`].
fn vocabularies() -> [Vec<&'static str>; 8] {
    macro_rules! words {
        ($vocabulary:ident) => {
            $vocabulary::ALL.iter().map(|word| word.as_str()).collect()
        };
    }
    [
        words!(Environment),
        words!(Origin),
        words!(Mode),
        words!(Operation),
        words!(DataClass),
        words!(Destination),
        words!(Magnitude),
        words!(Reversibility),
    ]
}

/// `Gw::Path` and so on.
pub(crate) fn entity_type(kind: &NounKind) -> String {
    format!("Gw::{}", kind.entity_type())
}

/// What one action stands for in the registry.
#[derive(Default)]
struct Action {
    verb: &'static str,
    nouns: BTreeSet<NounKind>,
    fields: BTreeMap<String, FieldKind>,
}

/// The context's counts of what a session did: the member, and the vocabulary that it counts by.
pub(crate) const COUNTED: [&str; 3] = ["operations", "data_classes", "destinations"];

/// The words of each count, in the order of [`COUNTED`].
pub(crate) fn counted() -> [Vec<&'static str>; 3] {
    let [_, _, _, operations, data_classes, destinations, _, _] = vocabularies();
    [operations, data_classes, destinations]
}

/// The schema in Cedar's JSON form, which is also what its digest is taken of.
pub(crate) fn of(registry: &Registry, has_sessions: bool) -> Value {
    let mut actions: BTreeMap<String, Action> = BTreeMap::new();
    for (_, tool) in registry.tools() {
        let action = actions.entry(tool.action()).or_default();
        action.verb = tool.verb().as_str();
        action.nouns.extend(tool.nouns().iter().map(|n| n.kind().clone()));
        let fields = tool.fields().iter();
        action.fields.extend(fields.map(|(name, field)| (name.clone(), field.kind())));
    }
    json!({ "Gw": { "entityTypes": entity_types(&actions), "actions": action_types(&actions, has_sessions) } })
}

fn entity_types(actions: &BTreeMap<String, Action>) -> Value {
    let mut types = Map::new();
    types.insert("Agent".into(), json!({}));
    for ((_, name), words) in ENUMERATED.iter().zip(vocabularies()) {
        types.insert((*name).into(), json!({ "enum": words }));
    }
    let kinds: BTreeSet<&NounKind> = actions.values().flat_map(|a| &a.nouns).collect();
    for kind in kinds {
        let parents = match kind {
            NounKind::Path => vec!["Path"],
            NounKind::Tool | NounKind::Other(_) => vec![],
        };
        let value = json!({ "type": "String" });
        let shape = json!({ "type": "Record", "attributes": { "value": value } });
        let declared = json!({ "memberOfTypes": parents, "shape": shape });
        types.insert(kind.entity_type(), declared);
    }
    types.into()
}

fn action_types(actions: &BTreeMap<String, Action>, has_sessions: bool) -> Value {
    let mut types = Map::new();
    let verbs: BTreeSet<&str> = actions.values().map(|a| a.verb).collect();
    for verb in verbs {
        types.insert(verb.into(), json!({}));
    }
    for (name, action) in actions {
        let resources: Vec<String> = action.nouns.iter().map(NounKind::entity_type).collect();
        let declared = json!({
            "memberOf": [{ "id": action.verb }],
            "appliesTo": {
                "principalTypes": ["Agent"],
                "resourceTypes": resources,
                "context": context_type(&action.fields, has_sessions),
            },
        });
        types.insert(name.clone(), declared);
    }
    types.into()
}

fn context_type(fields: &BTreeMap<String, FieldKind>, has_sessions: bool) -> Value {
    let mut members = Map::new();
    members.insert("now".into(), json!({ "type": "Extension", "name": "datetime" }));
    members.insert("provider".into(), json!({ "type": "String" }));
    members.insert("tool".into(), json!({ "type": "String" }));
    members.insert("principal".into(), json!({ "type": "String", "required": false }));
    for (member, name) in ENUMERATED {
        members.insert(member.into(), json!({ "type": "Entity", "name": name }));
    }
    let args: Map<String, Value> = fields
        .iter()
        .map(|(name, kind)| {
            let kind = match kind {
                FieldKind::String => "String",
                FieldKind::Long => "Long",
                FieldKind::Bool => "Boolean",
            };
            (name.clone(), json!({ "type": kind, "required": false }))
        })
        .collect();
    members.insert("args".into(), json!({ "type": "Record", "attributes": args }));
    if has_sessions {
        members.insert("session".into(), session_type());
    }
    json!({ "type": "Record", "attributes": members })
}

fn session_type() -> Value {
    let mut members = Map::new();
    for (member, words) in COUNTED.iter().zip(counted()) {
        let counts: Map<String, Value> =
            words.into_iter().map(|word| (word.to_owned(), json!({ "type": "Long" }))).collect();
        members.insert((*member).to_owned(), json!({ "type": "Record", "attributes": counts }));
    }
    for member in ["cleared", "refused"] {
        members.insert(member.to_owned(), json!({ "type": "Long" }));
    }
    json!({ "type": "Record", "attributes": members })
}
