//! The same for people: plain pages, forms, redirects.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;
use counterfoil_core::statement::Say;
use serde::Deserialize;

use super::holds::{MOST, named};
use super::{Console, door, page, said};
use crate::accounts::{self, Role};
use crate::clock;
use crate::grants;
use crate::holds::{self, Order, Shown};
use crate::http::ApiError;

/// What waits, or where to paste a token.
pub(super) async fn front(State(console): State<Console>, headers: HeaderMap) -> Result<Response, ApiError> {
    let Some(operator) = door::reader(&console, &headers).await? else {
        return Ok(page::html(&page::sign_in(None)));
    };
    let ledger = &console.ledger;
    let held = holds::list(ledger, operator.project, Shown::Open, MOST).await?;
    let grants = grants::list(ledger, operator.project).await?;
    let name = &ledger.project(operator.project).await?.name;
    Ok(page::html(&page::front(name, &operator, &held, &grants)))
}

#[derive(Deserialize)]
pub(super) struct Pasted {
    token: String,
}

pub(super) async fn sign_in(
    State(console): State<Console>,
    headers: HeaderMap,
    pasted: Result<Form<Pasted>, FormRejection>,
) -> Result<Response, ApiError> {
    door::from_our_page(&headers)?;
    let Form(Pasted { token }) = pasted.map_err(|_| ApiError::BadRequest("a token is needed"))?;
    let token = token.trim();
    if accounts::operator(console.ledger.database(), token).await?.is_none() {
        let again = page::html(&page::sign_in(Some("That is no operator's token, or it was revoked.")));
        return Ok((StatusCode::UNAUTHORIZED, again).into_response());
    }
    Ok(turned_to("/", door::keep(token, console.mode)))
}

pub(super) async fn sign_out(
    State(console): State<Console>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    door::from_our_page(&headers)?;
    Ok(turned_to("/", door::forget(console.mode)))
}

/// One hold, with its card as long as it has one.
pub(super) async fn hold(
    State(console): State<Console>,
    headers: HeaderMap,
    Path(hold): Path<String>,
) -> Result<Response, ApiError> {
    let Some(operator) = door::reader(&console, &headers).await? else {
        return Ok(page::html(&page::sign_in(None)));
    };
    let found = holds::one(&console.ledger, operator.project, named(&hold)?).await?;
    Ok(page::html(&page::hold(&operator, &found.ok_or(ApiError::NotFound)?, clock::now())))
}

/// What a button sends: the answer, and the digests of what was shown above it.
#[derive(Deserialize)]
pub(super) struct Pressed {
    answer: Button,
    decision: Digest,
    card: Digest,
}

/// `deny`, `approve_once` or `approve_for:<minutes>`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Button(Say, Option<u32>);

impl TryFrom<String> for Button {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        match text.split_once(':') {
            None if text == Say::Deny.as_str() => Ok(Self(Say::Deny, None)),
            None if text == Say::ApproveOnce.as_str() => Ok(Self(Say::ApproveOnce, None)),
            Some((say, minutes)) if say == Say::ApproveFor.as_str() => {
                let minutes = minutes.parse().map_err(|_| "not a number of minutes")?;
                Ok(Self(Say::ApproveFor, Some(minutes)))
            }
            _ => Err("no such answer"),
        }
    }
}

pub(super) async fn answer(
    State(console): State<Console>,
    Path(hold): Path<String>,
    headers: HeaderMap,
    pressed: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, ApiError> {
    let operator = door::writer(&console, &headers, Role::Operator).await?;
    let Form(Pressed { answer: Button(say, minutes), decision, card }) =
        pressed.map_err(|_| ApiError::BadRequest("an answer names decision and card as they were shown"))?;
    let hold = named(&hold)?;
    let order = Order { hold, decision, card, say, minutes, behalf: operator.behalf, by: operator.by };
    match holds::answer(&console.ledger, operator.project, order).await.map_err(said::answer) {
        Ok(_) => Ok(turned_to(&format!("/holds/{hold}"), None)),
        Err(ApiError::Refused(why)) => {
            Ok((StatusCode::CONFLICT, page::html(&page::refused(&hold.to_string(), &why))).into_response())
        }
        Err(other) => Err(other),
    }
}

/// After a post the browser gets a page, so that loading it again sends nothing twice.
fn turned_to(path: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    if let Ok(path) = HeaderValue::from_str(path) {
        headers.insert(LOCATION, path);
    }
    if let Some(cookie) = cookie {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}
