//! `POST /v1/actions`: a vendor asks about a call that it makes itself.
//!
//! Promised: the same one pipeline as for a call that comes through here, to its last stage but one; a verdict is answered
//! only once it is recorded, and a question that is asked again gets the stored answer. What cannot be read as a question is
//! refused with its place and is none.
//! Not promised: that the vendor keeps to the verdict. That is what its signed statements, and providers that demand
//! capabilities, are for.

use super::{auth, body};
use crate::answer::{Answer, Body as Told, CONFLICT};
use crate::call::{Asked, Caller, Proposed, Received, Wants};
use crate::evidence::IDEMPOTENCY_KEY;
use crate::holds::Manner;
use crate::house::House;
use crate::pipeline;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use counterfoil_core::declared::{Asking, Before, DeclaredSession};
use counterfoil_core::statement::Origin;
use counterfoil_core::verdict::ActionRequest;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why there is no verdict.
enum No {
    /// The request is wrong: the place, and what is wrong there.
    Bad(StatusCode, String, String),
    NotFound,
    Conflict(&'static str),
    /// Nothing is recorded. The same question may be asked again.
    Unavailable,
}

pub async fn ask(State(house): State<Arc<House>>, headers: HeaderMap, body: Body) -> Response {
    let response = match auth::caller(&house, &headers) {
        Ok(caller) => match house.rates.admit(caller.key) {
            Ok(()) => answered(&house, caller, &headers, body).await.unwrap_or_else(No::into_response),
            Err(much) => {
                let wait = much.seconds().to_string();
                (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, wait)]).into_response()
            }
        },
        Err(turned) => auth::turn_away(turned),
    };
    house.metrics.answered(response.status().as_u16());
    response
}

async fn answered(
    house: &Arc<House>,
    caller: Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, No> {
    let whole = |reason: String| ("$".to_owned(), reason);
    let text = body::read(headers, body).await.map_err(|refused| {
        let (path, reason) = whole(refused.message);
        No::Bad(refused.status, path, reason)
    })?;
    let request = ActionRequest::parse(text.as_bytes())
        .map_err(|rejected| No::Bad(StatusCode::BAD_REQUEST, rejected.path, rejected.reason))?;
    let key = idempotency_key(headers)?;
    let wants = wants(headers);
    if caller.project.fault().is_some() {
        return Err(No::Unavailable);
    }
    let asking = Asking {
        v: 1,
        project: caller.project.id,
        key: caller.key,
        external: request.session.clone(),
        idempotency: key.clone(),
        action: request.asked(),
    };
    let asked = house.evidence.asked(&asking).await.map_err(|_| No::Unavailable)?;
    let session = asked.session.ok_or(No::NotFound)?;
    let again = match asked.before {
        Before::Conflict => return Err(No::Conflict(TAKEN)),
        Before::Answered(stored) => {
            let control = caller.project.control.known().ok_or(No::Unavailable)?;
            let told = pipeline::again(&stored, (&caller, wants), &control, house);
            return respond(told.ok_or(No::Unavailable)?);
        }
        Before::Again { action, decision } => Some((action, decision)),
        Before::Nothing if session.closed => return Err(No::Conflict("the session is closed")),
        Before::Nothing => None,
    };
    respond(judge(house, (caller, wants), (request, session), (key, again)).await?)
}

type Again = (counterfoil_core::id::ActionId, counterfoil_core::digest::Digest);

const TAKEN: &str = "the key or the place in the session is taken by another action";

async fn judge(
    house: &Arc<House>,
    (caller, wants): (Caller, Wants),
    (request, session): (ActionRequest, DeclaredSession),
    (key, again): (Option<String>, Option<Again>),
) -> Result<Answer, No> {
    let idempotency = request.asked().idempotency(session.session, key.as_deref());
    let proposed = Proposed { request, session: session.session, idempotency, again };
    let received = Received {
        caller,
        origin: Origin::Sdk,
        provider: None,
        asked: Asked::Verdict(Box::new(proposed)),
        wants,
        manner: Manner::Repeat,
        round: None,
        reopened: None,
        given_up: CancellationToken::new(),
    };
    // A task of its own: a vendor that hangs up and asks again gets what was recorded meanwhile.
    let task = house.clone();
    let running = house.calls.spawn(async move { pipeline::run(received, &task).await });
    running.await.map_err(|_| No::Unavailable)
}

fn respond(answer: Answer) -> Result<Response, No> {
    match (answer.body, answer.receipt) {
        (Told::Result(body), Some(_)) => {
            Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
        }
        (Told::Error { code: CONFLICT, .. }, _) => Err(No::Conflict(TAKEN)),
        (Told::Result(_) | Told::Error { .. }, _) => Err(No::Unavailable),
    }
}

/// A header, since the body is the vendor wire's own.
fn wants(headers: &HeaderMap) -> Wants {
    match headers.get("counterfoil-want").is_some_and(|value| value == "full") {
        true => Wants::Full,
        false => Wants::Reference,
    }
}

/// None where the caller sent none. What the ledger cannot keep as a key is refused here.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, No> {
    let bad =
        |reason: &str| No::Bad(StatusCode::BAD_REQUEST, "Idempotency-Key".to_owned(), reason.to_owned());
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().map_err(|_| bad("not printable ASCII"))?;
    match (1..=255).contains(&text.len()) && values.next().is_none() {
        true => Ok(Some(text.to_owned())),
        false => Err(bad("not one key of 1 to 255 characters")),
    }
}

impl No {
    fn into_response(self) -> Response {
        let (status, said) = match self {
            Self::Bad(status, path, reason) => {
                (status, json!({ "error": "malformed", "path": path, "reason": reason }))
            }
            Self::NotFound => (StatusCode::NOT_FOUND, json!({ "error": "session_unknown" })),
            Self::Conflict(reason) => {
                (StatusCode::CONFLICT, json!({ "error": "conflict", "reason": reason }))
            }
            Self::Unavailable => {
                let said = json!({ "error": "not_recorded" });
                let headers = [(header::RETRY_AFTER, "1")];
                return (StatusCode::SERVICE_UNAVAILABLE, headers, axum::Json(said)).into_response();
            }
        };
        (status, axum::Json(said)).into_response()
    }
}

#[cfg(test)]
mod tests;
