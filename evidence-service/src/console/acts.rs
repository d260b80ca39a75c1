//! Stopping and resuming, and windows.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use counterfoil_core::statement::Scope;
use counterfoil_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Console, door, said};
use crate::accounts::Role;
use crate::control::acts::{self, Attested, InForce};
use crate::control::windows::{Turn, Window};
use crate::http::ApiError;

/// `{"scope":"agt_…","reason":"…"}`; both may be left out, and then it is the whole project.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    #[serde(default)]
    scope: Option<Scope>,
    #[serde(default)]
    reason: Option<String>,
}

/// `{"turn":"open","minutes":30,"reason":"…"}` or `{"turn":"close","reason":"…"}`.
#[derive(Deserialize)]
#[serde(tag = "turn", rename_all = "snake_case", deny_unknown_fields)]
enum Turned {
    Open { minutes: u32, reason: String },
    Close { reason: String },
}

/// Where the project stands after it.
#[derive(Serialize)]
pub(super) struct Acted {
    v: u8,
    seq: u64,
    control: u64,
    floor: u64,
    #[serde(rename = "gen")]
    generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

impl Acted {
    fn of(stands: InForce, until: Option<Timestamp>) -> Json<Self> {
        let InForce { seq, control, floor, generation } = stands;
        Json(Self { v: 1, seq, control, floor, generation, until })
    }
}

pub(super) async fn kill(
    State(console): State<Console>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Acted>, ApiError> {
    let operator = door::program(&console, &headers, Role::Operator).await?;
    let Stop { scope, reason } = said::read(&headers, body).await?;
    let project = operator.project;
    // In a task of its own: a browser that goes away must not stop a commit half way.
    let killing = tokio::spawn(async move {
        let by = Attested { behalf: &operator.behalf, reason: reason.as_deref() };
        acts::kill(&console.ledger, project, scope, by).await
    });
    let killed = killing.await.map_err(|_| ApiError::Unavailable)?;
    Ok(Acted::of(killed.map_err(said::append)?, None))
}

pub(super) async fn resume(
    State(console): State<Console>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Acted>, ApiError> {
    let operator = door::program(&console, &headers, Role::Admin).await?;
    let Stop { scope, reason } = said::read(&headers, body).await?;
    let resuming = tokio::spawn(async move {
        let by = Attested { behalf: &operator.behalf, reason: reason.as_deref() };
        acts::resume(&console.ledger, operator.project, scope, by).await
    });
    let resumed = resuming.await.map_err(|_| ApiError::Unavailable)?;
    Ok(Acted::of(resumed.map_err(said::append)?, None))
}

pub(super) async fn breakglass(
    State(console): State<Console>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Acted>, ApiError> {
    turn(console, &headers, body, Window::Breakglass).await
}

pub(super) async fn shadow(
    State(console): State<Console>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Acted>, ApiError> {
    turn(console, &headers, body, Window::Shadow).await
}

async fn turn(
    console: Console,
    headers: &HeaderMap,
    body: Body,
    window: Window,
) -> Result<Json<Acted>, ApiError> {
    let operator = door::program(&console, headers, Role::Admin).await?;
    let (turn, reason) = match said::read(headers, body).await? {
        Turned::Open { minutes, reason } => (Turn::Open { minutes }, reason),
        Turned::Close { reason } => (Turn::Close, reason),
    };
    let turning = tokio::spawn(async move {
        let by = Attested { behalf: &operator.behalf, reason: Some(&reason) };
        acts::turn(&console.ledger, operator.project, (window, turn), by).await
    });
    let turned = turning.await.map_err(|_| ApiError::Unavailable)?;
    let (stands, until) = turned.map_err(said::append)?;
    Ok(Acted::of(stands, Some(until)))
}
