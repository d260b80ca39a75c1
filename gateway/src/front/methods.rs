//! What both eras share: our name, ways to a provider, and the call of a tool.

use super::endpoint::Exchange;
use super::refusal::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use super::reply::{self, Era};
use crate::answer::{OURS, WANT};
use crate::call::{Asked, Received, Wants};
use crate::envelope::Request;
use crate::house::{House, Provider};
use crate::pipeline;
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
    era: Era,
    given_up: CancellationToken,
) -> Result<Response, Refusal> {
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
    let received = Received {
        caller: exchange.caller.clone(),
        origin: exchange.origin,
        provider,
        wants,
        given_up: given_up.clone(),
        asked: Asked::Tool { name: name.to_owned(), params },
    };
    // When the host hangs up this future is dropped, and with it the guard: the call is given up, but what was begun
    // comes to its end in a task of its own, observation included.
    let guard = given_up.drop_guard();
    let house = exchange.house.clone();
    let calls = exchange.house.calls.clone();
    let running = calls.spawn(async move { pipeline::run(received, &house).await });
    let answer = running.await.map_err(|_| {
        tracing::error!("a call ended without an answer");
        Refusal::new(StatusCode::OK, INTERNAL_ERROR, "internal error")
    })?;
    guard.disarm();
    Ok(reply::call(&id, &answer, era))
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
