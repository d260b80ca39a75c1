//! What both eras share: our name, ways to a provider, and the call of a tool.

use super::endpoint::Exchange;
use super::modern::{TASKS, declares};
use super::refusal::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use super::reply::{self, Era};
use super::tasks;
use crate::answer::{Answer, OURS, WANT};
use crate::call::{Asked, Received, Wants};
use crate::envelope::{self, Params, Request};
use crate::holds::{self, APPROVAL, Manner, Round};
use crate::house::{House, Provider};
use crate::pipeline;
use crate::raw::Object;
use crate::upstream::{Away, Catalogue, Connection, Holder};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Our own name, as hosts show it.
pub fn server_info(exchange: &Exchange) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match exchange.address.id() {
        Some(provider) => format!(r#"{{"name":"counterfoil/{provider}","version":"{version}"}}"#),
        None => format!(r#"{{"name":"counterfoil","version":"{version}"}}"#),
    }
}

pub async fn connection_to(
    house: &House,
    holder: Holder,
    provider: &Provider,
) -> Result<Arc<Connection>, Away> {
    house.fleet.connect(holder, &provider.start).await
}

pub async fn catalogue_of(
    house: &House,
    holder: Holder,
    provider: &Provider,
) -> Result<Arc<Catalogue>, Away> {
    connection_to(house, holder, provider).await?.catalogue().await
}

/// One call, by the only way there is.
pub async fn call_tool(
    exchange: &Exchange,
    request: Request,
    (era, manner): (Era, Manner),
    given_up: CancellationToken,
) -> Result<Response, Refusal> {
    let may_be_task = era == Era::Modern && declares(&request, &["extensions", TASKS]);
    let Request { id, params, .. } = request;
    let Some(name) = params.value().get("name").and_then(Value::as_str) else {
        return Err(Refusal::bad_parameter("$.params.name", "not a string"));
    };
    let wants = wants(params.value())?;
    // A name that means no provider is refused where unknown tools are, and recorded like them.
    let (provider, name) = match exchange.address.find(name) {
        Some((provider, name)) => (Some(provider.clone()), name),
        None => (None, name),
    };
    let name = name.to_owned();
    let (params, state) = without_ours(params)?;
    let received = Received {
        caller: exchange.caller.clone(),
        origin: exchange.origin,
        provider,
        wants,
        manner,
        round: None,
        reopened: None,
        given_up: given_up.clone(),
        asked: Asked::Tool { name, params },
    };
    let round = round(state.as_deref(), &received, &exchange.house)?;
    let received = Received { round, ..received };
    // When the host hangs up this future is dropped, and with it the guard: the call is given up, but what was begun
    // comes to its end in a task of its own, observation included.
    let guard = given_up.clone().drop_guard();
    let answer = match may_be_task && received.round.is_none() {
        true => tasks::run(exchange, received, &given_up).await,
        false => run(exchange, received).await,
    };
    let answer = answer?;
    guard.disarm();
    Ok(reply::call(&id, &answer, era))
}

async fn run(exchange: &Exchange, received: Received) -> Result<Answer, Refusal> {
    let house = exchange.house.clone();
    let calls = exchange.house.calls.clone();
    let running = calls.spawn(async move { pipeline::run(received, &house).await });
    running.await.map_err(|_| broken_off())
}

pub fn broken_off() -> Refusal {
    tracing::error!("a call ended without an answer");
    Refusal::new(StatusCode::OK, INTERNAL_ERROR, "internal error")
}

/// The round that a caller comes back from, if its state is one of ours. One that is not for this very call of this
/// caller is refused: what was asked about is what was parked.
fn round(state: Option<&str>, received: &Received, house: &House) -> Result<Option<Round>, Refusal> {
    let (Some(state), Asked::Tool { params, .. }) = (state, &received.asked) else {
        return Ok(None);
    };
    let sealer = &house.holds.sealer;
    let foreign = || Refusal::bad_parameter("$.params.requestState", "not a state of this call");
    let round = Round::parse(state, &received.caller, sealer).ok_or_else(foreign)?;
    let same = match has_answers(params) {
        true => holds::call_of(received, sealer) == Some(round.call.clone()),
        false => holds::asked_of(received, sealer) == Some(round.asked.clone()),
    };
    same.then_some(Some(round)).ok_or_else(foreign)
}

/// Whether a user answered something in an earlier round.
fn has_answers(params: &Params) -> bool {
    let responses = params.value().get("inputResponses").and_then(Value::as_object);
    responses.is_some_and(|responses| !responses.is_empty())
}

/// The call as its provider may see it, and the state of ours that came with it: neither that, nor word of a page that
/// was opened, is any business of a provider.
fn without_ours(params: Params) -> Result<(Params, Option<String>), Refusal> {
    let state = params.value().get("requestState").and_then(Value::as_str).map(str::to_owned);
    let Some(state) = state.filter(|state| holds::is_ours(state)) else {
        return Ok((params, None));
    };
    let cleaned = Object::read(params.text()).ok().and_then(|object| {
        let rest = object.without(|key| key == "requestState");
        let object = Object::read(&rest).ok()?;
        let Some(Ok(responses)) = object.value("inputResponses").map(Object::read) else {
            return envelope::read_params(&rest);
        };
        let responses = responses.without(|key| key == APPROVAL);
        envelope::read_params(&match Object::read(&responses).ok()?.is_empty() {
            true => object.without(|key| key == "inputResponses"),
            false => object.with("inputResponses", &responses),
        })
    });
    let unread = || Refusal::bad_parameter("$.params.requestState", "not a state of this call");
    Ok((cleaned.ok_or_else(unread)?, Some(state)))
}

fn wants(params: &Value) -> Result<Wants, Refusal> {
    let meta = match params.get("_meta") {
        None => return Ok(Wants::Reference),
        Some(Value::Object(meta)) => meta,
        Some(_) => return Err(Refusal::bad_parameter("$.params._meta", "not an object")),
    };
    match meta.get(WANT).map(Value::as_str) {
        None => Ok(Wants::Reference),
        Some(Some("full")) => Ok(Wants::Full),
        Some(_) => Err(Refusal::bad(INVALID_PARAMS, format!("`{OURS}want` can only be \"full\""))),
    }
}
