//! Held calls and grants, as JSON.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Answered, Card};
use counterfoil_core::id::{ActionId, AgentId, GrantId, HoldId, ProviderId, ToolName};
use counterfoil_core::statement::Say;
use counterfoil_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Console, door, said};
use crate::accounts::Role;
use crate::grants::{self, Change, Which};
use crate::holds::{self, Held, Order, Shown, word};
use crate::http::ApiError;

/// As many as a person reads; the rest comes when these are answered.
pub(super) const MOST: u32 = 200;

#[derive(Deserialize)]
pub(super) struct Asked {
    /// Those that ended too.
    #[serde(default)]
    all: bool,
}

/// A hold as programs read it. `card` is null once it was wiped.
#[derive(Serialize)]
pub(super) struct Shows {
    hold: HoldId,
    is: &'static str,
    action: ActionId,
    decision: Digest,
    agent: AgentId,
    provider: ProviderId,
    tool: ToolName,
    once_only: bool,
    asked_at: Timestamp,
    expires_at: Timestamp,
    card_digest: Digest,
    card: Option<Card>,
    answered: Option<Answered>,
}

impl From<Held> for Shows {
    fn from(held: Held) -> Self {
        Self {
            is: word(held.is),
            hold: held.hold,
            action: held.action,
            decision: held.decision,
            agent: held.agent,
            provider: held.provider,
            tool: held.tool,
            once_only: held.once_only,
            asked_at: held.asked_at,
            expires_at: held.expires_at,
            card_digest: held.card_digest,
            card: held.card,
            answered: held.answered,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Holds {
    v: u8,
    holds: Vec<Shows>,
}

/// Newest first.
pub(super) async fn list(
    State(console): State<Console>,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Json<Holds>, ApiError> {
    let operator = door::program(&console, &headers, Role::Viewer).await?;
    let shown = if asked.all { Shown::All } else { Shown::Open };
    let found = holds::list(&console.ledger, operator.project, shown, MOST).await?;
    Ok(Json(Holds { v: 1, holds: found.into_iter().map(Shows::from).collect() }))
}

pub(super) async fn one(
    State(console): State<Console>,
    headers: HeaderMap,
    Path(hold): Path<String>,
) -> Result<Json<Shows>, ApiError> {
    let operator = door::program(&console, &headers, Role::Viewer).await?;
    let found = holds::one(&console.ledger, operator.project, named(&hold)?).await?;
    Ok(Json(found.ok_or(ApiError::NotFound)?.into()))
}

/// `{"answer":"approve_for","minutes":30,"decision":"sha256:…","card":"sha256:…"}`: digests of what was seen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    answer: Say,
    #[serde(default)]
    minutes: Option<u32>,
    decision: Digest,
    card: Digest,
}

#[derive(Serialize)]
pub(super) struct Done {
    v: u8,
    seq: u64,
    answer: Digest,
    until: Option<Timestamp>,
    grants: Vec<GrantId>,
}

pub(super) async fn answer(
    State(console): State<Console>,
    headers: HeaderMap,
    Path(hold): Path<String>,
    body: Body,
) -> Result<Json<Done>, ApiError> {
    let operator = door::program(&console, &headers, Role::Operator).await?;
    let hold = named(&hold)?;
    let Said { answer: say, minutes, decision, card } = said::read(&headers, body).await?;
    let order = Order { hold, decision, card, say, minutes, behalf: operator.behalf, by: operator.by };
    let done = holds::answer(&console.ledger, operator.project, order).await.map_err(said::answer)?;
    Ok(Json(Done { v: 1, seq: done.seq, answer: done.answer, until: done.until, grants: done.grants }))
}

#[derive(Serialize)]
pub(super) struct Grants {
    v: u8,
    grants: Vec<Stands>,
}

#[derive(Serialize)]
struct Stands {
    seq: u64,
    #[serde(flatten)]
    document: GrantDocument,
}

/// Those that stand.
pub(super) async fn grants(
    State(console): State<Console>,
    headers: HeaderMap,
) -> Result<Json<Grants>, ApiError> {
    let operator = door::program(&console, &headers, Role::Viewer).await?;
    let found = grants::list(&console.ledger, operator.project).await?;
    let grants = found.into_iter().map(|grant| Stands { seq: grant.seq, document: grant.document }).collect();
    Ok(Json(Grants { v: 1, grants }))
}

/// `{"change":"shorten","minutes":10,"reason":"…"}`; `remove` has no minutes.
#[derive(Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
enum Asks {
    Remove {
        #[serde(default)]
        reason: Option<String>,
    },
    Shorten {
        minutes: u32,
        #[serde(default)]
        reason: Option<String>,
    },
    Renew {
        minutes: u32,
        #[serde(default)]
        reason: Option<String>,
    },
}

#[derive(Serialize)]
pub(super) struct Changed {
    v: u8,
    seq: u64,
    grants: Vec<GrantId>,
}

pub(super) async fn change(
    State(console): State<Console>,
    headers: HeaderMap,
    Path(grant): Path<String>,
    body: Body,
) -> Result<Json<Changed>, ApiError> {
    let operator = door::program(&console, &headers, Role::Operator).await?;
    let which = Which::One(grant.parse().map_err(|_| ApiError::NotFound)?);
    let (change, reason) = match said::read(&headers, body).await? {
        Asks::Remove { reason } => (Change::Remove, reason),
        Asks::Shorten { minutes, reason } => (Change::Shorten { minutes }, reason),
        Asks::Renew { minutes, reason } => (Change::Renew { minutes }, reason),
    };
    let order = grants::Order { which, change, reason, behalf: operator.behalf };
    let changed = grants::change(&console.ledger, operator.project, order).await.map_err(said::grant)?;
    Ok(Json(Changed { v: 1, seq: changed.seq, grants: changed.grants }))
}

/// A hold that is not there and one that does not read are the same.
pub(super) fn named(hold: &str) -> Result<HoldId, ApiError> {
    hold.parse().map_err(|_| ApiError::NotFound)
}
