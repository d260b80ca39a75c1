//! `POST /internal/v1/definitions`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use counterfoil_core::definition::{Definitions, MAX_DEFINITIONS};

use crate::accounts::Gateways;
use crate::http::{ApiError, demand_json, whole};
use crate::ledger::Ledger;

/// 204 once what reads is kept.
pub(crate) async fn definitions(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    demand_json(&headers)?;
    let told: Definitions = serde_json::from_slice(&whole(body).await?)
        .map_err(|_| ApiError::BadRequest("not a list of definitions"))?;
    if told.v != 1 {
        return Err(ApiError::BadRequest("not a list of definitions of version 1"));
    }
    if told.definitions.len() > MAX_DEFINITIONS {
        return Err(ApiError::TooLarge);
    }
    if !token.names_project(told.project) {
        return Err(ApiError::Forbidden);
    }
    super::keep(&ledger, told.project, &told.definitions).await.map_err(|error| {
        tracing::warn!(project = %told.project, %error, "definitions not kept");
        ApiError::Unavailable
    })?;
    Ok(StatusCode::NO_CONTENT)
}
