//! One document as one permit, in Cedar's JSON form: no text is put together, so that no noun can end a string.

use super::GrantFault;
use crate::noun::{NounKind, NounValue};
use crate::registry::{FieldKind, Registry, Tool};
use crate::schema;
use cedar_policy::{Policy, PolicyId};
use counterfoil_core::control::GrantDocument;
use counterfoil_core::json::MAX_INTEGER;
use serde_json::{Value, json};

/// `<service>.<verb>`
pub(super) fn action(document: &GrantDocument) -> String {
    format!("{}.{}", document.service, document.verb)
}

pub(super) fn of(document: &GrantDocument, registry: &Registry) -> Result<Policy, GrantFault> {
    if document.v != 1 {
        return Err(GrantFault::Version(document.v));
    }
    let action = action(document);
    let tools: Vec<&Tool> =
        registry.tools().map(|(_, tool)| tool).filter(|tool| tool.action() == action).collect();
    if tools.is_empty() {
        return Err(GrantFault::Action(action));
    }
    let noun = noun(document, &action, &tools)?;
    let entity = |kind: &str, id: &str| json!({ "op": "==", "entity": { "type": kind, "id": id } });
    let mut condition = deadline(document);
    for (name, value) in &document.fields {
        let field = field(name, value, (&action, &tools))?;
        condition = json!({ "&&": { "left": condition, "right": field } });
    }
    let id = document.grant.to_string();
    let tree = json!({
        "effect": "permit",
        "principal": entity(schema::AGENT, &document.agent.to_string()),
        "action": entity(schema::ACTION, &action),
        "resource": entity(&schema::entity_type(noun.kind()), noun.value()),
        "conditions": [{ "kind": "when", "body": condition }],
        "annotations": { "id": id },
    });
    Policy::from_json(Some(PolicyId::new(&id)), tree).map_err(|error| GrantFault::Strict(error.to_string()))
}

fn noun(document: &GrantDocument, action: &str, tools: &[&Tool]) -> Result<NounValue, GrantFault> {
    let named = || GrantFault::NounType {
        action: action.to_owned(),
        noun: document.noun.noun_type.as_str().to_owned(),
    };
    let kind = NounKind::of(document.noun.noun_type.clone()).map_err(|_| named())?;
    let has = |tool: &&Tool| tool.nouns().iter().any(|noun| *noun.kind() == kind);
    if !tools.iter().any(has) {
        return Err(named());
    }
    NounValue::parse(kind, &document.noun.value).map_err(GrantFault::Noun)
}

/// `context.now < datetime("…")`
fn deadline(document: &GrantDocument) -> Value {
    let until = json!([{ "Value": document.until.to_string() }]);
    json!({ "<": { "left": attribute(json!({ "Var": "context" }), "now"), "right": { "datetime": until } } })
}

/// `context.args has n && context.args.n == 3`; for null `!(context.args has n)`.
fn field(name: &str, value: &Value, (action, tools): (&str, &[&Tool])) -> Result<Value, GrantFault> {
    let declared = tools.iter().find_map(|tool| tool.fields().get(name));
    let declared = declared.ok_or_else(|| GrantFault::Field {
        action: action.to_owned(),
        field: name.escape_debug().to_string(),
    })?;
    let args = attribute(json!({ "Var": "context" }), "args");
    let has = json!({ "has": { "left": args, "attr": name } });
    if value.is_null() {
        return Ok(json!({ "!": { "arg": has } }));
    }
    let exact = |number: i64| number.unsigned_abs() <= MAX_INTEGER.unsigned_abs();
    let fits = match (declared.kind(), value) {
        (FieldKind::String, Value::String(_)) | (FieldKind::Bool, Value::Bool(_)) => true,
        (FieldKind::Long, Value::Number(number)) => number.as_i64().is_some_and(exact),
        (FieldKind::String | FieldKind::Bool | FieldKind::Long, _) => false,
    };
    if !fits {
        return Err(GrantFault::FieldType(name.to_owned()));
    }
    let same = json!({ "==": { "left": attribute(args, name), "right": { "Value": value } } });
    Ok(json!({ "&&": { "left": has, "right": same } }))
}

fn attribute(of: Value, name: &str) -> Value {
    json!({ ".": { "left": of, "attr": name } })
}
