//! `POST /v1/sessions`, `POST /v1/sessions/{external_id}/close`, and what gateways ask before they judge.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use counterfoil_core::declared::{Asked, Asking};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::SessionId;
use serde::Serialize;

use super::change::Opened;
use super::wire::{Declaration, LARGEST, is_external};
use crate::accounts::{self, Gateways};
use crate::http::{ApiError, bearer, demand_json, whole, whole_within};
use crate::ledger::Ledger;

#[derive(Serialize)]
pub(crate) struct Declared {
    session_id: SessionId,
    /// Hash of the entry that opened it.
    head_hash: Digest,
}

#[derive(Serialize)]
pub(crate) struct Closed {
    ok: bool,
}

/// The session of that external id: declared now, or as it was answered before, whatever else is sent with it.
pub(crate) async fn open(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Declared>, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, key) = found.ok_or(ApiError::Unauthorized)?;
    demand_json(&headers)?;
    let body = whole_within(body, LARGEST).await?;
    let declared = Declaration::read(&body).map_err(|error| ApiError::Unreadable(error.to_string()))?;
    let opened = ledger.open_session(project, key, declared).await?;
    let Opened { session, head_hash } = opened.ok_or(ApiError::Unauthorized)?;
    Ok(Json(Declared { session_id: session, head_hash }))
}

/// Closed from now on, or already. 404 for a session that this key did not declare.
pub(crate) async fn close(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    Path(external): Path<String>,
    body: Body,
) -> Result<Json<Closed>, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, key) = found.ok_or(ApiError::Unauthorized)?;
    // Nothing is asked of the body; it is read so that the connection can go on.
    whole_within(body, LARGEST).await?;
    if !is_external(&external) || !ledger.close_session(project, key, &external).await? {
        return Err(ApiError::NotFound);
    }
    Ok(Json(Closed { ok: true }))
}

pub(crate) async fn asked(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Asked>, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    demand_json(&headers)?;
    let asking: Asking =
        serde_json::from_slice(&whole(body).await?).map_err(|_| ApiError::BadRequest("not a question"))?;
    if asking.v != 1 || !is_external(&asking.external) {
        return Err(ApiError::BadRequest("not a question of version 1 about a session"));
    }
    if !token.names_project(asking.project) {
        return Err(ApiError::Forbidden);
    }
    Ok(Json(ledger.asked(&asking).await?))
}
