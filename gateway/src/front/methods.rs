//! The methods that both eras share: the list of tools, and the call of one.

use super::endpoint::Exchange;
use super::refusal::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use super::reply::{self, Era};
use crate::answer::{OURS, WANT};
use crate::call::{Asked, Received, Wants};
use crate::envelope::Request;
use crate::pipeline;
use crate::upstream::{Away, Catalogue, Connection};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Hosts may keep a list for half a minute; it differs between agents at most by when their child was started.
const LIST_TTL_MILLIS: u32 = 30_000;

/// Our own name, as hosts show it.
pub fn server_info(exchange: &Exchange) -> String {
    format!(r#"{{"name":"counterfoil/{}","version":"{}"}}"#, exchange.provider.id, env!("CARGO_PKG_VERSION"))
}

pub async fn connection(exchange: &Exchange) -> Result<Arc<Connection>, Away> {
    let fleet = &exchange.house.fleet;
    fleet.connect(exchange.caller.key, &exchange.provider.start).await
}

/// The provider's tools as it lists them, on one page.
pub async fn list_tools(exchange: &Exchange, request: &Request, era: Era) -> Result<Response, Refusal> {
    // Ours has one page, so every cursor is somebody else's.
    if !matches!(request.params.value().get("cursor"), None | Some(Value::Null)) {
        return Err(Refusal::bad_parameter("$.params.cursor", "unknown cursor"));
    }
    let catalogue = catalogue(exchange)
        .await
        .map_err(|away| Refusal::new(StatusCode::OK, INTERNAL_ERROR, format!("the tool provider {away}")))?;
    let tools = catalogue.texts().join(",");
    let text = match era {
        Era::Legacy => format!(r#"{{"tools":[{tools}]}}"#),
        Era::Modern => format!(
            r#"{{"resultType":"complete","tools":[{tools}],"ttlMs":{LIST_TTL_MILLIS},"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
            server_info(exchange)
        ),
    };
    Ok(reply::result(&request.id, &text))
}

pub async fn catalogue(exchange: &Exchange) -> Result<Arc<Catalogue>, Away> {
    connection(exchange).await?.catalogue().await
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
    let received = Received {
        caller: exchange.caller.clone(),
        origin: exchange.origin,
        provider: Some(exchange.provider.clone()),
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
