//! `PUT /v1/tool-catalog`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use counterfoil_core::catalog::{Catalog, MAX_CATALOG};
use counterfoil_core::digest::Digest;
use serde::Serialize;

use super::accept::Fate;
use crate::accounts;
use crate::http::{ApiError, bearer, demand_json, whole_within};
use crate::ledger::Ledger;

#[derive(Serialize)]
pub(crate) struct Answer {
    ok: bool,
    /// Digest of what is stated, without the signature.
    catalog_hash: Digest,
    tools: usize,
    signature_valid: bool,
    /// Whether an entry states it already.
    replay: bool,
}

/// 400 for what does not read, and it is not stored; a bad signature is stored and said.
pub(crate) async fn publish(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Answer>, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, _) = found.ok_or(ApiError::Unauthorized)?;
    demand_json(&headers)?;
    let bytes = whole_within(body, MAX_CATALOG).await?;
    let catalog = Catalog::parse(&bytes).map_err(|error| ApiError::Unreadable(error.to_string()))?;
    let (catalog_hash, tools) = (catalog.digest(), catalog.tools().len());
    let (signature_valid, replay) = match ledger.take_catalog(project, catalog, bytes).await? {
        Fate::Recorded { signature_valid } => (signature_valid, false),
        Fate::Stands { signature_valid } => (signature_valid, true),
        Fate::Spent { seconds } => return Err(ApiError::TooMany(seconds)),
    };
    Ok(Json(Answer { ok: true, catalog_hash, tools, signature_valid, replay }))
}
