//! How gateways learn what became of a hold: `GET /internal/v1/holds/<hold>` and `GET /internal/v1/holds`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use counterfoil_core::hold::{HoldIs, HoldState};
use counterfoil_core::id::{AgentId, HoldId, ProjectId};
use serde::Deserialize;

use super::store;
use crate::accounts::Gateways;
use crate::clock;
use crate::database::DatabaseError;
use crate::http::ApiError;
use crate::ledger::Ledger;

/// A long poll is held no longer than this, whatever it asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A person has just answered, and the call waits for nothing else.
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[derive(Deserialize)]
pub(crate) struct Follow {
    project: ProjectId,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Deserialize)]
pub(crate) struct OfCall {
    project: ProjectId,
    agent: AgentId,
    call: String,
}

/// The hold as soon as it is no longer open; else, after the wait, as it then is.
pub(crate) async fn hold(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    Path(hold): Path<String>,
    Query(asked): Query<Follow>,
) -> Result<Json<HoldState>, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    if !token.names_project(asked.project) {
        return Err(ApiError::Forbidden);
    }
    let hold: HoldId = hold.parse().map_err(|_| ApiError::NotFound)?;
    let wait = Duration::from_millis(asked.wait_ms).min(LONGEST_WAIT);
    let began = Instant::now();
    while began.elapsed() < wait {
        match is(&ledger, asked.project, hold).await? {
            Some(HoldIs::Open) => tokio::time::sleep(LOOK_EVERY.min(wait)).await,
            Some(_) => break,
            None => return Err(ApiError::NotFound),
        }
    }
    state(&ledger, asked.project, hold).await?.map(Json).ok_or(ApiError::NotFound)
}

/// The newest hold of that call by that agent that is open, or approved and not dispatched.
pub(crate) async fn of_call(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    Query(asked): Query<OfCall>,
) -> Result<Json<HoldState>, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    if !token.names_project(asked.project) {
        return Err(ApiError::Forbidden);
    }
    let found = {
        let mut client = ledger.database().app().await?;
        let tx = client.begin(asked.project).await?;
        store::of_call(&tx, asked.agent, &asked.call, clock::now()).await?
    };
    let hold = found.ok_or(ApiError::NotFound)?;
    state(&ledger, asked.project, hold).await?.map(Json).ok_or(ApiError::NotFound)
}

async fn is(ledger: &Ledger, project: ProjectId, hold: HoldId) -> Result<Option<HoldIs>, DatabaseError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    store::state(&tx, hold).await
}

async fn state(
    ledger: &Ledger,
    project: ProjectId,
    hold: HoldId,
) -> Result<Option<HoldState>, DatabaseError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    let found = store::with_sealed(&tx, hold).await?;
    Ok(found.map(|(row, sealed)| HoldState {
        v: 1,
        project,
        hold: row.hold,
        action: row.action,
        decision: row.decision,
        expires_at: row.expires_at,
        is: row.is,
        sealed,
        answered: row.answered,
    }))
}
