//! `POST /internal/v1/probes`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use counterfoil_core::probe::ToldProbe;

use super::Recording;
use crate::accounts::Gateways;
use crate::clock;
use crate::http::{ApiError, demand_json, whole};
use crate::ledger::{AppendError, Ledger};

/// In milliseconds. A probe takes minutes; what lasted longer, or begins later than now, was told of another day.
const LONGEST: i64 = 3_600_000;
const AHEAD: i64 = 5_000;

/// 204 once it is an entry. Told again it is another one: a gateway that does not know whether it was heard waits a day.
pub(crate) async fn probes(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    demand_json(&headers)?;
    let told: ToldProbe =
        serde_json::from_slice(&whole(body).await?).map_err(|_| ApiError::BadRequest("not a probe"))?;
    if !told.adds_up() {
        return Err(ApiError::BadRequest("not a probe of version 1 with some cases, each once"));
    }
    let age = clock::now().millis() - told.began_at.millis();
    if !(-AHEAD..=LONGEST).contains(&age) {
        return Err(ApiError::BadRequest("began_at is not within the last hour"));
    }
    if !token.names_project(told.project) {
        return Err(ApiError::Forbidden);
    }
    // What is begun is finished, whether or not the caller stays to hear of it.
    let appended = tokio::spawn(async move { append(&ledger, told).await }).await;
    appended.map_err(|_| ApiError::Unavailable)??;
    Ok(StatusCode::NO_CONTENT)
}

async fn append(ledger: &Ledger, told: ToldProbe) -> Result<(), AppendError> {
    let project = told.project;
    let issuer = ledger.project(project).await?.issuer.clone();
    ledger.append(project, &Recording { issuer, told, signer: &ledger.keys().ledger }).await?;
    Ok(())
}
