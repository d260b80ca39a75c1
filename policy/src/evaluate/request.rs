//! The question to Cedar: one agent, one action, one noun, and the context, all checked against the schema.

use super::PolicyError;
use crate::facts::Facts;
use crate::noun::NounValue;
use crate::schema::{self, ENUMERATED};
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression, Schema,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::str::FromStr;

pub(super) fn of(
    noun: &NounValue,
    facts: &Facts,
    schema: &Schema,
) -> Result<(Request, Entities), PolicyError> {
    let agent = uid(schema::AGENT, &facts.agent.to_string())?;
    let action = uid(schema::ACTION, facts.action.as_deref().ok_or(PolicyError)?)?;
    let kind = schema::entity_type(noun.kind());
    let resource = uid(&kind, noun.value())?;

    let context = context(facts)?;
    let entities = entities(noun, &kind, agent.clone(), schema)?;
    let request = Request::new(agent, action, resource, context, Some(schema)).map_err(|_| PolicyError)?;
    Ok((request, entities))
}

fn uid(kind: &str, id: &str) -> Result<EntityUid, PolicyError> {
    let kind = EntityTypeName::from_str(kind).map_err(|_| PolicyError)?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

/// Built as expressions: the same context by way of Cedar's JSON takes as long as the evaluation itself. The request
/// holds it against the schema.
fn context(facts: &Facts) -> Result<Context, PolicyError> {
    let said = serde_json::to_value(&facts.context).map_err(|_| PolicyError)?;
    let mut members = Vec::with_capacity(ENUMERATED.len() + 5);
    for (member, name) in ENUMERATED {
        let word = said.get(member).and_then(Value::as_str).ok_or(PolicyError)?;
        let entity = uid(&format!("Gw::{name}"), word)?;
        members.push((member.to_owned(), RestrictedExpression::new_entity_uid(entity)));
    }
    let now = RestrictedExpression::new_datetime(facts.context.now.to_string());
    members.push(("now".to_owned(), now));
    members.push(("provider".to_owned(), text(&facts.provider)?));
    members.push(("tool".to_owned(), text(&facts.tool)?));
    if let Some(principal) = &facts.principal {
        members.push(("principal".to_owned(), text(principal)?));
    }
    let args = facts.context.args.iter().map(|(name, value)| Ok((name.clone(), expression(value)?)));
    let args: Vec<_> = args.collect::<Result<_, PolicyError>>()?;
    let args = RestrictedExpression::new_record(args).map_err(|_| PolicyError)?;
    members.push(("args".to_owned(), args));
    Context::from_pairs(members).map_err(|_| PolicyError)
}

/// A label as the facts write it; one that is null is no text.
fn text(label: &impl serde::Serialize) -> Result<RestrictedExpression, PolicyError> {
    expression(&serde_json::to_value(label).map_err(|_| PolicyError)?)
}

/// A declared field: text, whole number or truth. Nothing else can be declared.
fn expression(value: &Value) -> Result<RestrictedExpression, PolicyError> {
    match value {
        Value::String(text) => Ok(RestrictedExpression::new_string(text.clone())),
        Value::Bool(truth) => Ok(RestrictedExpression::new_bool(*truth)),
        Value::Number(number) => number.as_i64().map(RestrictedExpression::new_long).ok_or(PolicyError),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(PolicyError),
    }
}

/// The agent, the noun, and for a path every folder around it, each inside the next.
fn entities(
    noun: &NounValue,
    kind: &str,
    agent: EntityUid,
    schema: &Schema,
) -> Result<Entities, PolicyError> {
    let mut all = vec![Entity::with_uid(agent)];
    let mut chain = vec![noun.value()];
    chain.extend(noun.ancestors());
    for (i, value) in chain.iter().enumerate() {
        let parents: HashSet<EntityUid> = match chain.get(i + 1) {
            Some(parent) => HashSet::from([uid(kind, parent)?]),
            None => HashSet::new(),
        };
        let text = RestrictedExpression::new_string((*value).to_owned());
        let attributes = HashMap::from([("value".to_owned(), text)]);
        let entity = Entity::new(uid(kind, value)?, attributes, parents).map_err(|_| PolicyError)?;
        all.push(entity);
    }
    Entities::from_entities(all, Some(schema)).map_err(|_| PolicyError)
}
