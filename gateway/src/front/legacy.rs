//! The era of sessions: revisions 2025-06-18 and 2025-11-25.
//!
//! Promised: `initialize` opens a session that any replica knows again; every later message names it, and one that is
//! not ours, or has ended, is answered 404, upon which hosts begin anew.

use super::address::Address;
use super::endpoint::Exchange;
use super::headers::{Said, said};
use super::refusal::{INVALID_REQUEST, Refusal};
use super::reply::{self, Era};
use super::session::Session;
use super::{list, methods};
use crate::call::Caller;
use crate::envelope::Request;
use crate::holds::Manner;
use crate::house::House;
use crate::upstream::Holder;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::KeyId;
use counterfoil_core::statement::Origin;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const REVISIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];
const SESSION: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";

pub async fn answer(exchange: &Exchange, request: Request) -> Result<Response, Refusal> {
    if request.method == "initialize" {
        return initialize(exchange, &request).await;
    }
    let (id, session) = session(exchange)?;
    match request.method.as_str() {
        "ping" => Ok(reply::result(&request.id, "{}")),
        "tools/list" => list::tools(exchange, &request, Era::Legacy).await,
        "tools/call" => {
            let given_up = CancellationToken::new();
            let place = (id, request.id.text().to_owned());
            let in_flight = &exchange.house.in_flight;
            let _entered = in_flight.enter(place, given_up.clone());
            methods::call_tool(exchange, request, (Era::Legacy, manner(&session)), given_up).await
        }
        _ => Err(Refusal::method_not_found(StatusCode::OK)),
    }
}

/// Notices of a host. Only one changes anything here.
pub fn hear(exchange: &Exchange, method: &str, params: &Value) -> Result<(), Refusal> {
    // Modern hosts cancel by hanging up and have no session to speak of.
    if said(&exchange.headers, REVISION) == Said::Text(super::modern::REVISION.into()) {
        return Ok(());
    }
    let (session, _) = session(exchange)?;
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        let place = (session, id.to_string());
        exchange.house.in_flight.cancel(&place);
    }
    Ok(())
}

/// The session that a request names, if it is one of this caller at this address.
pub fn session_of(
    house: &House,
    (key, address, origin): (KeyId, &Address, Origin),
    headers: &HeaderMap,
) -> Option<Digest> {
    let Said::Text(id) = said(headers, SESSION) else {
        return None;
    };
    house.sessions.find(&id, (key, address.id(), origin)).ok().map(|_| digest_of(&id))
}

fn digest_of(session: &str) -> Digest {
    Digest::of(session.as_bytes())
}

/// `DELETE` with a session id.
pub fn end(house: &House, caller: &Caller, address: &Address, origin: Origin, parts: &Parts) -> Response {
    let Said::Text(id) = said(&parts.headers, SESSION) else {
        return reply::refusal(None, &no_session(), None);
    };
    match house.sessions.find(&id, (caller.key, address.id(), origin)) {
        Ok(_) => {
            house.sessions.end(&id);
            house.fleet.end_session(digest_of(&id));
            StatusCode::NO_CONTENT.into_response()
        }
        Err(_) => reply::refusal(None, &unknown_session(), None),
    }
}

async fn initialize(exchange: &Exchange, request: &Request) -> Result<Response, Refusal> {
    let asked = request.params.value().get("protocolVersion");
    let Some(asked) = asked.and_then(Value::as_str) else {
        return Err(Refusal::bad_parameter("$.params.protocolVersion", "not a string"));
    };
    // Theirs if we speak it, else our newest, and the host decides whether it stays.
    let revision = REVISIONS.into_iter().find(|known| *known == asked).unwrap_or(REVISIONS[0]);
    let session = exchange.house.sessions.open(&Session {
        v: 1,
        key: exchange.caller.key,
        provider: exchange.address.id().cloned(),
        origin: exchange.origin,
        revision: revision.to_owned(),
        shows_pages: shows_pages(request),
    });
    let holder = Holder { key: exchange.caller.key, session: Some(digest_of(&session)) };
    let instructions = list::instructions(exchange, holder).await;
    let text = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{}{instructions}}}"#,
        methods::server_info(exchange)
    );
    let mut response = reply::result(&request.id, &text);
    let value = HeaderValue::from_str(&session).expect("base64url fits into a header");
    response.headers_mut().insert(SESSION, value);
    Ok(response)
}

/// Only the newest of these revisions has the error that shows a page.
fn manner(session: &Session) -> Manner {
    match session.shows_pages && session.revision == REVISIONS[0] {
        true => Manner::Page,
        false => Manner::Repeat,
    }
}

fn shows_pages(request: &Request) -> bool {
    request.params.value().pointer("/capabilities/elicitation/url").is_some_and(Value::is_object)
}

/// The session that a message belongs to, and its id.
fn session(exchange: &Exchange) -> Result<(String, Session), Refusal> {
    let Said::Text(id) = said(&exchange.headers, SESSION) else {
        return Err(no_session());
    };
    let who = (exchange.caller.key, exchange.address.id(), exchange.origin);
    let session = exchange.house.sessions.find(&id, who).map_err(|_| unknown_session())?;
    match said(&exchange.headers, REVISION) {
        // The session knows its revision; older hosts say nothing.
        Said::Nothing => Ok((id, session)),
        Said::Text(revision) if REVISIONS.contains(&revision.as_str()) => Ok((id, session)),
        Said::Text(revision) => Err(unsupported(&revision)),
        Said::Garbled => Err(unsupported("")),
    }
}

fn unsupported(revision: &str) -> Refusal {
    Refusal::bad(INVALID_REQUEST, "`MCP-Protocol-Version` names a revision that we do not speak")
        .with(json!({"supported": REVISIONS, "requested": revision}))
}

fn no_session() -> Refusal {
    Refusal::bad(INVALID_REQUEST, "`Mcp-Session-Id` is missing: initialize first")
}

fn unknown_session() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, INVALID_REQUEST, "session is not known: initialize again")
}
