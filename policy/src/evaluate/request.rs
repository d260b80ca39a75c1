//! The question to Cedar: one agent, one action, one noun, and the context, all checked against the schema.

use super::PolicyError;
use crate::facts::{self, Facts};
use crate::noun::{NounKind, NounValue};
use crate::schema::{self, COUNTED, ENUMERATED};
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression, Schema,
};
use counterfoil_core::session::Summary;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::str::FromStr;

/// Names that every request has, kept by the bundle: Cedar reads a name with its parser, which takes longer than all
/// the rest.
pub(crate) struct Names {
    agent: EntityTypeName,
    action: EntityTypeName,
    path: EntityTypeName,
    tool: EntityTypeName,
    /// In the order of [`ENUMERATED`].
    enumerated: [EntityTypeName; 8],
}

impl Names {
    pub(crate) fn read() -> Self {
        Self {
            agent: known(schema::AGENT),
            action: known(schema::ACTION),
            path: known(&schema::entity_type(&NounKind::Path)),
            tool: known(&schema::entity_type(&NounKind::Tool)),
            enumerated: ENUMERATED.map(|(_, name)| known(&format!("Gw::{name}"))),
        }
    }
}

fn known(name: &str) -> EntityTypeName {
    EntityTypeName::from_str(name).expect("a name of the schema")
}

pub(super) fn of(
    noun: &NounValue,
    facts: &Facts,
    (schema, names, has_sessions): (&Schema, &Names, bool),
) -> Result<(Request, Entities), PolicyError> {
    let agent = uid(&names.agent, &facts.agent.to_string());
    let action = uid(&names.action, facts.action.as_deref().ok_or(PolicyError)?);
    let kind = match noun.kind() {
        NounKind::Path => names.path.clone(),
        NounKind::Tool => names.tool.clone(),
        kind @ NounKind::Other(_) => {
            EntityTypeName::from_str(&schema::entity_type(kind)).map_err(|_| PolicyError)?
        }
    };
    let resource = uid(&kind, noun.value());

    let context = context(facts, names, has_sessions)?;
    let entities = entities(noun, &kind, agent.clone(), schema)?;
    let request = Request::new(agent, action, resource, context, Some(schema)).map_err(|_| PolicyError)?;
    Ok((request, entities))
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

/// Built as expressions: the same context by way of Cedar's JSON takes as long as the evaluation itself. The request
/// holds it against the schema.
fn context(facts: &Facts, names: &Names, has_sessions: bool) -> Result<Context, PolicyError> {
    let mut members = Vec::with_capacity(ENUMERATED.len() + 5);
    let words = words(&facts.context);
    for (((member, _), kind), word) in ENUMERATED.iter().zip(&names.enumerated).zip(words) {
        members.push(((*member).to_owned(), RestrictedExpression::new_entity_uid(uid(kind, word))));
    }
    let now = RestrictedExpression::new_datetime(facts.context.now.to_string());
    members.push(("now".to_owned(), now));
    members.push(("provider".to_owned(), text(facts.provider.as_deref().ok_or(PolicyError)?)));
    members.push(("tool".to_owned(), text(facts.tool.as_deref().ok_or(PolicyError)?)));
    if let Some(principal) = &facts.principal {
        members.push(("principal".to_owned(), text(principal)));
    }
    let args = facts.context.args.iter().map(|(name, value)| Ok((name.clone(), expression(value)?)));
    let args: Vec<_> = args.collect::<Result<_, PolicyError>>()?;
    let args = RestrictedExpression::new_record(args).map_err(|_| PolicyError)?;
    members.push(("args".to_owned(), args));
    if has_sessions {
        // Rules that ask and facts that do not say: an error, never a session that did nothing.
        members.push(("session".to_owned(), session(facts.session.as_ref().ok_or(PolicyError)?)?));
    }
    Context::from_pairs(members).map_err(|_| PolicyError)
}

fn session(done: &Summary) -> Result<RestrictedExpression, PolicyError> {
    let named = [named(&done.operations)?, named(&done.data_classes)?, named(&done.destinations)?];
    let counts = schema::counted().into_iter().zip(&named).map(|(words, named)| counts(words, named));
    let counts: Vec<_> = counts.collect::<Result<_, _>>()?;
    let mut members: Vec<_> = COUNTED.iter().map(|name| (*name).to_owned()).zip(counts).collect();
    members.push(("cleared".to_owned(), long(done.cleared)?));
    members.push(("refused".to_owned(), long(done.refused)?));
    RestrictedExpression::new_record(members).map_err(|_| PolicyError)
}

/// Counts by the words that their enumerations have in JSON.
fn named(counts: &impl Serialize) -> Result<Map<String, Value>, PolicyError> {
    match serde_json::to_value(counts) {
        Ok(Value::Object(named)) => Ok(named),
        Ok(_) | Err(_) => Err(PolicyError),
    }
}

/// A number for every word, 0 for one that did not occur.
fn counts(words: Vec<&'static str>, named: &Map<String, Value>) -> Result<RestrictedExpression, PolicyError> {
    let count = |word: &str| match named.get(word) {
        None => Ok(0),
        Some(count) => count.as_u64().ok_or(PolicyError),
    };
    let members = words.into_iter().map(|word| Ok((word.to_owned(), long(count(word)?)?)));
    let members: Vec<_> = members.collect::<Result<_, PolicyError>>()?;
    RestrictedExpression::new_record(members).map_err(|_| PolicyError)
}

fn long(count: u64) -> Result<RestrictedExpression, PolicyError> {
    i64::try_from(count).map(RestrictedExpression::new_long).map_err(|_| PolicyError)
}

/// The words of the closed vocabularies, in the order of [`ENUMERATED`].
pub(super) fn words(context: &facts::Context) -> [&'static str; 8] {
    [
        context.env.as_str(),
        context.origin.as_str(),
        context.mode.as_str(),
        context.operation.as_str(),
        context.data_class.as_str(),
        context.destination.as_str(),
        context.magnitude.as_str(),
        context.reversibility.as_str(),
    ]
}

fn text(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

/// A declared field: text, whole number or truth. Nothing else can be declared.
fn expression(value: &Value) -> Result<RestrictedExpression, PolicyError> {
    match value {
        Value::String(said) => Ok(text(said)),
        Value::Bool(truth) => Ok(RestrictedExpression::new_bool(*truth)),
        Value::Number(number) => number.as_i64().map(RestrictedExpression::new_long).ok_or(PolicyError),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(PolicyError),
    }
}

/// The agent, the noun, and for a path every folder around it, each inside the next.
fn entities(
    noun: &NounValue,
    kind: &EntityTypeName,
    agent: EntityUid,
    schema: &Schema,
) -> Result<Entities, PolicyError> {
    let mut all = vec![Entity::with_uid(agent)];
    let mut chain = vec![noun.value()];
    chain.extend(noun.ancestors());
    for (i, value) in chain.iter().enumerate() {
        let parents: HashSet<EntityUid> = match chain.get(i + 1) {
            Some(parent) => HashSet::from([uid(kind, parent)]),
            None => HashSet::new(),
        };
        let attributes = HashMap::from([("value".to_owned(), text(value))]);
        let entity = Entity::new(uid(kind, value), attributes, parents).map_err(|_| PolicyError)?;
        all.push(entity);
    }
    Entities::from_entities(all, Some(schema)).map_err(|_| PolicyError)
}
