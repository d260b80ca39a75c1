//! What gateways fetch and follow: `GET /internal/v1/control` and `GET /internal/v1/projects`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use counterfoil_core::control::Unchanged;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{InstanceId, ProjectId};
use serde::Deserialize;
use serde_json::json;

use super::snapshot;
use crate::accounts::Gateways;
use crate::clock;
use crate::http::ApiError;
use crate::ledger::Ledger;

/// A long poll is held no longer than this, whatever it asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
pub(crate) struct Follow {
    project: ProjectId,
    known: Option<Digest>,
    /// The gateway process that asks: it lives.
    instance: Option<InstanceId>,
    #[serde(default)]
    wait_ms: u64,
}

/// The snapshot as soon as it is another than the known one; else, after the wait, that nothing changed.
pub(crate) async fn control(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    Query(asked): Query<Follow>,
) -> Result<Response, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    if !token.names_project(asked.project) {
        return Err(ApiError::Forbidden);
    }
    if let Some(instance) = asked.instance {
        ledger.heard(asked.project, instance).await;
    }
    let wait = Duration::from_millis(asked.wait_ms).min(LONGEST_WAIT);
    let mut snapshot = snapshot::follow(&ledger, asked.project, asked.known, wait).await?;
    snapshot.ledger_time = clock::now();
    if asked.known != Some(snapshot.version) {
        return Ok(Json(snapshot).into_response());
    }
    let unchanged = Unchanged {
        v: 1,
        unchanged: true,
        ledger_time: snapshot.ledger_time,
        control: snapshot.control,
        floor: snapshot.floor,
        generation: snapshot.generation,
        killed: snapshot.killed,
    };
    Ok(Json(unchanged).into_response())
}

/// The projects that this token names.
pub(crate) async fn projects(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    let answer = json!({"v": 1, "ledger_time": clock::now(), "projects": token.projects});
    Ok(Json(answer).into_response())
}
