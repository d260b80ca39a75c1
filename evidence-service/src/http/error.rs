//! The one table from errors to HTTP.

use axum::Json;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::database::DatabaseError;
use crate::ledger::AppendError;

/// What a caller is told. Causes are logged where they are known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ApiError {
    Unauthorized,
    Forbidden,
    NotFound,
    BadRequest(&'static str),
    /// What was sent does not read, and where: the sender's own words, which no log gets.
    Unreadable(String),
    /// It reads, and may not be done now: why, for somebody who can do something about it.
    Refused(String),
    TooLarge,
    WrongType,
    TooMany(u64),
    Unavailable,
}

impl ApiError {
    fn row(&self) -> (StatusCode, &'static str, &str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "no known key"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "not for this caller"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "nothing here"),
            Self::BadRequest(why) => (StatusCode::BAD_REQUEST, "bad_request", why),
            Self::Unreadable(why) => (StatusCode::BAD_REQUEST, "bad_request", why),
            Self::Refused(why) => (StatusCode::CONFLICT, "refused", why),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large"),
            Self::WrongType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong_type", "send application/json"),
            Self::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many", "slow down"),
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "nothing was recorded; try again")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, message) = self.row();
        let mut response =
            (status, Json(json!({"error": {"code": code, "message": message}}))).into_response();
        let headers = response.headers_mut();
        match self {
            Self::Unauthorized => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::TooMany(seconds) => drop(headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)))),
            Self::Unavailable => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("1"))),
            Self::Forbidden
            | Self::NotFound
            | Self::BadRequest(_)
            | Self::Unreadable(_)
            | Self::Refused(_)
            | Self::TooLarge
            | Self::WrongType => {}
        }
        response
    }
}

impl From<AppendError> for ApiError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::NoSuchProject => Self::NotFound,
            AppendError::Refused(why) => {
                tracing::warn!(why, "refused");
                Self::BadRequest("refused")
            }
            AppendError::Unavailable(_) | AppendError::ReadOnly(_) | AppendError::Unknown => {
                tracing::warn!(%error, "not recorded");
                Self::Unavailable
            }
        }
    }
}

impl From<DatabaseError> for ApiError {
    fn from(error: DatabaseError) -> Self {
        tracing::warn!(%error, "database");
        Self::Unavailable
    }
}

/// The token of `Authorization: Bearer …`, if exactly one is sent.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, ApiError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let (Some(one), None) = (sent.next(), sent.next()) else { return Err(ApiError::Unauthorized) };
    let text = one.to_str().map_err(|_| ApiError::Unauthorized)?;
    let (scheme, token) = text.split_once(' ').ok_or(ApiError::Unauthorized)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(ApiError::Unauthorized) }
}

/// Refuses a body that is not labelled as JSON.
pub(crate) fn demand_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let label = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = label.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(ApiError::WrongType) }
}
