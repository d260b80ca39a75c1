//! The question to Cedar: one agent, one action, one noun, and the context, all checked against the schema.

use super::PolicyError;
use crate::facts::Facts;
use crate::noun::NounValue;
use crate::schema::{self, ENUMERATED};
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression, Schema,
};
use serde_json::{Map, Value, json};
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

    let context =
        Context::from_json_value(context(facts)?, Some((schema, &action))).map_err(|_| PolicyError)?;
    let entities = entities(noun, &kind, agent.clone(), schema)?;
    let request = Request::new(agent, action, resource, context, Some(schema)).map_err(|_| PolicyError)?;
    Ok((request, entities))
}

fn uid(kind: &str, id: &str) -> Result<EntityUid, PolicyError> {
    let kind = EntityTypeName::from_str(kind).map_err(|_| PolicyError)?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

fn context(facts: &Facts) -> Result<Value, PolicyError> {
    let said = serde_json::to_value(&facts.context).map_err(|_| PolicyError)?;
    let mut members = Map::new();
    for (member, name) in ENUMERATED {
        let word = said.get(member).ok_or(PolicyError)?;
        let entity = json!({ "type": format!("Gw::{name}"), "id": word });
        members.insert(member.into(), json!({ "__entity": entity }));
    }
    let now = json!({ "fn": "datetime", "arg": facts.context.now });
    members.insert("now".into(), json!({ "__extn": now }));
    members.insert("provider".into(), json!(facts.provider));
    members.insert("tool".into(), json!(facts.tool));
    if let Some(principal) = &facts.principal {
        members.insert("principal".into(), json!(principal));
    }
    members.insert("args".into(), json!(facts.context.args));
    Ok(members.into())
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
