//! `GET /v1/export?after=<seq>&wait=<seconds>`.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::Exports;
use crate::accounts;
use crate::http::{ApiError, bearer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The newest entry that the reader has; none for everything.
    after: Option<u64>,
    /// Seconds to wait where there is nothing newer.
    #[serde(default)]
    wait: u64,
}

/// Longest wait for an entry.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(crate) async fn export(
    State(exports): State<Exports>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    let found = accounts::api_key(exports.database(), bearer(&headers)?).await?;
    let (project, _) = found.ok_or(ApiError::Unauthorized)?;
    let Query(asked) = asked.map_err(|_| ApiError::BadRequest("`after` and `wait` are numbers"))?;
    let next = asked.after.map_or(0, |after| after.saturating_add(1));
    let wait = Duration::from_secs(asked.wait).min(LONGEST_WAIT);
    let lines = exports.open(project, next, wait).ok_or(ApiError::TooMany(5))?;
    let fixed = HeaderValue::from_static;
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("application/x-ndjson")),
        (CACHE_CONTROL, fixed("no-store")),
    ]);
    Ok((headers, Body::from_stream(lines)).into_response())
}
