//! One POST, from its headers to its answer, and what a refused one leaves behind.
//!
//! Promised: every refusal of a caller with a valid key that concerns, or may concern, a tool call is one recorded DENY;
//! one that asks for an operator's verb is a DENY of its own (`control_verbs`); a message that names another method is not. What a caller is told does not depend on the recording.

use super::address::Address;
use super::guard::Stranger;
use super::rate::TooMuch;
use super::refusal::Refusal;
use super::{auth, body, legacy, modern, reply};
use crate::call::{Asked, Caller, Received, Wants};
use crate::control_verbs::is_control_verb;
use crate::envelope::{self, Id, Message};
use crate::holds::Manner;
use crate::house::{House, Provider};
use crate::pipeline;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use counterfoil_core::statement::Origin;
use std::pin::Pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What is known about a request once its caller is.
pub struct Exchange {
    pub house: Arc<House>,
    pub caller: Caller,
    pub origin: Origin,
    pub address: Address,
    pub headers: HeaderMap,
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The handler of one listener. The origin is the listener's, never the caller's word.
pub fn over(
    origin: Origin,
) -> impl Fn(State<Arc<House>>, Option<Path<String>>, Request) -> Answering + Clone + Send + Sync + 'static {
    move |State(house), provider, request| {
        let provider = provider.map(|Path(id)| id);
        Box::pin(counted(house, origin, provider, request))
    }
}

async fn counted(house: Arc<House>, origin: Origin, provider: Option<String>, request: Request) -> Response {
    let response = answer(house.clone(), origin, provider, request).await;
    house.metrics.answered(response.status().as_u16());
    response
}

async fn answer(house: Arc<House>, origin: Origin, provider: Option<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let stranger = house.names.check(&parts.uri, &parts.headers).err();
    let caller = match auth::caller(&house, &parts.headers) {
        Ok(caller) => caller,
        Err(_) if stranger.is_some() => return StatusCode::FORBIDDEN.into_response(),
        Err(turned) => return auth::turn_away(turned),
    };
    if let Err(too_much) = house.rates.admit(caller.key) {
        return slow_down(too_much);
    }
    let project = caller.project.id;
    let address = match provider {
        Some(id) => house.provider(&id, project).map(Address::One),
        None => Some(Address::All(house.providers_of(project))),
    };
    let named = |address| legacy::session_of(&house, (caller.key, address, origin), &parts.headers);
    let session = address.as_ref().and_then(named);
    let caller = Caller { session, ..caller };
    let door = Door { house, caller, origin, address };
    match parts.method {
        Method::POST => door.post(stranger, parts, body).await,
        _ if stranger.is_some() => StatusCode::FORBIDDEN.into_response(),
        Method::DELETE => door.delete(parts),
        _ => not_allowed(),
    }
}

/// No stream to listen on: we send nothing that was not asked for.
fn not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST, DELETE")]).into_response()
}

fn slow_down(too_much: TooMuch) -> Response {
    let seconds = HeaderValue::from(too_much.seconds());
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)]).into_response()
}

struct Door {
    house: Arc<House>,
    caller: Caller,
    origin: Origin,
    /// None for a provider that the project does not have.
    address: Option<Address>,
}

/// A refusal together with what of the message could be read.
struct Refused {
    refusal: Refusal,
    id: Option<Id>,
    /// The method, where it could be read.
    method: Option<String>,
}

impl Refused {
    /// A task is a call that was held; whoever asks for one that is not his own is written down like any refused call.
    fn names_anothers_task(&self) -> bool {
        let asks = self.method.as_deref().is_some_and(|method| method.starts_with("tasks/"));
        asks && self.refusal.code == super::refusal::INVALID_PARAMS
    }
}

impl Door {
    async fn post(self, stranger: Option<Stranger>, parts: Parts, body: Body) -> Response {
        let (house, caller, origin) = (self.house.clone(), self.caller.clone(), self.origin);
        let provider = match &self.address {
            Some(Address::One(provider)) => Some(provider.clone()),
            Some(Address::All(_)) | None => None,
        };
        match self.speak(stranger, parts, body).await {
            Ok(response) => response,
            Err(refused) => {
                let asked = match refused.method.as_deref() {
                    None | Some("tools/call") => Some(Asked::Unreadable),
                    Some(method) if is_control_verb(method) => Some(Asked::ControlVerb),
                    Some(_) if refused.names_anothers_task() => Some(Asked::Unreadable),
                    Some(_) => None,
                };
                let receipt = match asked {
                    Some(asked) => record_refusal(house, caller, (origin, provider), asked).await,
                    None => None,
                };
                reply::refusal(refused.id.as_ref(), &refused.refusal, receipt.as_deref())
            }
        }
    }

    async fn speak(self, stranger: Option<Stranger>, parts: Parts, body: Body) -> Result<Response, Refused> {
        let unread = |refusal| Refused { refusal, id: None, method: None };
        if let Some(stranger) = stranger {
            let refusal =
                Refusal::new(StatusCode::FORBIDDEN, super::refusal::INVALID_REQUEST, stranger.to_string());
            return Err(unread(refusal));
        }
        let address = self.address.ok_or_else(|| unread(Refusal::no_such_provider()))?;
        let text = body::read(&parts.headers, body).await.map_err(unread)?;
        let exchange = Exchange {
            house: self.house,
            caller: self.caller,
            origin: self.origin,
            address,
            headers: parts.headers,
        };
        converse(&exchange, &text).await.map_err(|refusal| {
            let (id, method) = envelope::glance(&text);
            Refused { refusal, id, method }
        })
    }

    fn delete(self, parts: Parts) -> Response {
        match self.address {
            Some(address) => legacy::end(&self.house, &self.caller, &address, self.origin, &parts),
            None => reply::refusal(None, &Refusal::no_such_provider(), None),
        }
    }
}

async fn converse(exchange: &Exchange, text: &str) -> Result<Response, Refusal> {
    match envelope::read(text)? {
        Message::Request(request) if is_control_verb(&request.method) => Err(Refusal::control_verb()),
        Message::Notification { method, .. } if is_control_verb(&method) => Err(Refusal::control_verb()),
        Message::Request(request) if modern::is_meant(exchange, &request) => {
            modern::answer(exchange, request).await
        }
        Message::Request(request) => legacy::answer(exchange, request).await,
        Message::Notification { method, params } => {
            legacy::hear(exchange, &method, &params)?;
            Ok(StatusCode::ACCEPTED.into_response())
        }
        // We ask nothing, so it answers nothing; legacy hosts send some all the same.
        Message::Response => Ok(StatusCode::ACCEPTED.into_response()),
    }
}

/// One DENY `malformed` or `control_verb`, by the way of every call. None when it could not be recorded; nothing was going to
/// run.
async fn record_refusal(
    house: Arc<House>,
    caller: Caller,
    (origin, provider): (Origin, Option<Arc<Provider>>),
    asked: Asked,
) -> Option<String> {
    let received = Received {
        caller,
        origin,
        provider,
        asked,
        wants: Wants::Reference,
        manner: Manner::Repeat,
        round: None,
        reopened: None,
        given_up: CancellationToken::new(),
    };
    // A task of its own: a caller that hangs up does not undo its refusal.
    let calls = house.calls.clone();
    let running = calls.spawn(async move { pipeline::run(received, &house).await });
    running.await.ok()?.receipt
}
