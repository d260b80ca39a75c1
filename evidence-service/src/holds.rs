//! Held calls: what is parked, what a person answers, and how a hold ends that nobody answered.
//!
//! Promised: one answer a hold and one dispatch, whoever races, because every move is made under the lock of the
//! project's head; an answer is bound to the decision and the card that were seen; parked bytes and card are wiped in
//! the same commit that ends the hold. What approves is judged again by the record transaction (`park::lifts`).
//! Not promised: that somebody looks. Silence is no.
//!
//! For operators: docs/operating/holds.md. Statements: docs/formats/governance.md.

mod answer;
pub(crate) mod park;
pub(crate) mod routes;
pub(crate) mod store;
mod sweep;

use std::sync::Arc;

use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Answered, Card, HoldIs};
use counterfoil_core::id::{ActionId, AgentId, HoldId, ProjectId, ProviderId, ToolName};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::grants;
use crate::ledger::seal::Sealed;
use crate::ledger::{AppendError, Ledger};

pub use answer::{AnswerError, Done, Order};
pub(crate) use sweep::sweep;

/// A hold as a person sees it.
#[derive(Clone, Debug)]
pub struct Held {
    pub hold: HoldId,
    pub action: ActionId,
    /// Digest of the held decision's envelope; an answer names it.
    pub decision: Digest,
    pub agent: AgentId,
    pub provider: ProviderId,
    pub tool: ToolName,
    pub is: HoldIs,
    /// Whether it can only be denied, or approved for this one call.
    pub once_only: bool,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// What an answer names as seen.
    pub card_digest: Digest,
    /// None once it is wiped, or where it does not open under this service's key-encryption key.
    pub card: Option<Card>,
    pub answered: Option<Answered>,
}

/// Which holds a list has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shown {
    /// Those that wait for a person.
    Open,
    All,
}

/// Answers a hold. The first answer wins; whatever else is asked of it afterwards is [`AnswerError::Gone`].
pub(crate) async fn answer(
    ledger: &Arc<Ledger>,
    project: ProjectId,
    order: Order,
) -> Result<Done, AnswerError> {
    answer::answer(ledger, project, order).await
}

/// Newest first, at most so many.
pub(crate) async fn list(
    ledger: &Ledger,
    project: ProjectId,
    shown: Shown,
    most: u32,
) -> Result<Vec<Held>, AppendError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    let rows = store::list(&tx, shown, most.into()).await?;
    Ok(rows.into_iter().map(|row| held(ledger, project, row)).collect())
}

/// None where the project has no such hold.
pub(crate) async fn one(
    ledger: &Ledger,
    project: ProjectId,
    hold: HoldId,
) -> Result<Option<Held>, AppendError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    let row = store::one(&tx, hold).await?;
    Ok(row.map(|row| held(ledger, project, row)))
}

/// A kill of the whole project takes every hold and every grant, in the kill's own commit.
pub(crate) async fn taken_by_kill(tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
    store::sweep_all(tx).await?;
    let kill = sealed.placed.last().map_or(0, |placed| placed.entry.seq);
    grants::store::end_all(tx, kill).await
}

fn held(ledger: &Ledger, project: ProjectId, (row, card): (store::HoldRow, Option<String>)) -> Held {
    let card = card.and_then(|card| opened(ledger, project, row.hold, &card));
    let store::HoldRow { hold, action, decision, agent, provider, tool, is, once_only, .. } = row;
    let store::HoldRow { asked_at, expires_at, card_digest, answered, .. } = row;
    Held {
        hold,
        action,
        decision,
        agent,
        provider,
        tool,
        is,
        once_only,
        asked_at,
        expires_at,
        card_digest,
        card,
        answered,
    }
}

/// The card of a hold, as it was sealed when it came.
fn opened(ledger: &Ledger, project: ProjectId, hold: HoldId, card: &str) -> Option<Card> {
    let bytes = ledger.keys().cards.open(card, &park::record(project, hold));
    let bytes = bytes.inspect_err(|error| tracing::error!(%project, %hold, %error, "card")).ok()?;
    let card = serde_json::from_slice(&bytes);
    card.inspect_err(|error| tracing::error!(%project, %hold, %error, "card does not read")).ok()
}

/// What a state is called, in the database and to people.
pub fn word(is: HoldIs) -> &'static str {
    match is {
        HoldIs::Open => "open",
        HoldIs::Approved => "approved",
        HoldIs::Denied => "denied",
        HoldIs::Expired => "expired",
        HoldIs::Swept => "swept",
        HoldIs::Dispatched => "dispatched",
    }
}
