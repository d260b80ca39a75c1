//! `POST /v1/executions` and `GET /v1/acceptances`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use counterfoil_core::receipt::Receipt;
use serde::{Deserialize, Serialize};

use super::accept::{Acceptance, Accepting};
use super::listing::MOST_LISTED;
use super::submission::{LARGEST_SUBMISSION, Sender, Submission};
use crate::accounts;
use crate::http::{ApiError, bearer, demand_json, whole_within};
use crate::ledger::Ledger;

#[derive(Serialize)]
struct Answer {
    ok: bool,
    signature_valid: bool,
    seq: u64,
    repeated: bool,
    receipt: Receipt,
}

/// One statement, in either form. 400 for what does not read, and it is not stored; a bad signature is stored and said.
pub(crate) async fn submit(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, key) = found.ok_or(ApiError::Unauthorized)?;
    demand_json(&headers)?;
    let body = whole_within(body, LARGEST_SUBMISSION).await?;
    let submission =
        Submission::read(body, Sender::Key(key)).map_err(|error| ApiError::Unreadable(error.to_string()))?;
    let mut answers = ledger.accept(project, vec![submission]).await?;
    match answers.pop().ok_or(ApiError::Unavailable)? {
        Acceptance::Spent { seconds } => Err(ApiError::TooMany(seconds)),
        Acceptance::Accepted(Accepting { signature_valid, repeated, receipt }) => {
            let seq = receipt.entry().seq;
            Ok(Json(Answer { ok: true, signature_valid, seq, repeated, receipt }).into_response())
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    after: Option<u64>,
    limit: Option<usize>,
}

/// Acceptances of the caller's project, oldest first, from a place on.
pub(crate) async fn acceptances(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, _) = found.ok_or(ApiError::Unauthorized)?;
    let Ok(Query(Page { after, limit })) = page else {
        return Err(ApiError::BadRequest("`after` is a seq, `limit` a number; nothing else is known"));
    };
    let listing = ledger.acceptances(project, after, limit.unwrap_or(MOST_LISTED)).await?;
    Ok(Json(listing).into_response())
}
