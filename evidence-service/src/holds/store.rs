//! SQL of held calls. Whatever changes a row runs under the lock of the project's head.

use std::collections::HashMap;

use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Answered, HoldIs};
use counterfoil_core::id::{ActionId, AgentId, HoldId, ProviderId, ToolName};
use counterfoil_core::statement::{Decision, Say};
use counterfoil_core::time::Timestamp;
use serde_json::Value;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::park::Parking;
use super::{Shown, word};
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::head::Head;
use crate::ledger::store::{digest, number, signed, time, unreadable};

statements! {
    PARK = "insert into holds (project_id, hold, action, decision, seq, agent, provider, tool, call, state, once_only, \
            asked_at, expires_at, card_digest, sealed, card) \
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    // Without what is sealed: this is read under the head's lock.
    BY_ID = "select hold, action, decision, seq, agent, provider, tool, state, once_only, asked_at, expires_at, \
             card_digest, answer, said, until from holds where project_id = $1 and hold = any($2)";
    WITH_CARD = "select hold, action, decision, seq, agent, provider, tool, state, once_only, asked_at, expires_at, \
                 card_digest, answer, said, until, card from holds where project_id = $1 and hold = $2";
    LISTED = "select hold, action, decision, seq, agent, provider, tool, state, once_only, asked_at, expires_at, \
              card_digest, answer, said, until, card from holds \
              where project_id = $1 and (state = 'open' or not $2) order by hold desc limit $3";
    WITH_SEALED = "select hold, action, decision, seq, agent, provider, tool, state, once_only, asked_at, expires_at, \
                   card_digest, answer, said, until, \
                   sealed \
                   from holds where project_id = $1 and hold = $2";
    STATE = "select state from holds where project_id = $1 and hold = $2";
    NEWEST_OF_CALL = "select hold from holds where project_id = $1 and agent = $2 and call = $3 \
                      and state in ('open', 'approved') and expires_at >= $4 and (until is null or until >= $4) \
                      order by hold desc limit 1";
    DUE = "select hold, state from holds where project_id = $1 and state in ('open', 'approved') \
           and (expires_at <= $2 or until < $2) order by expires_at limit $3";
    ANSWERED = "update holds set state = $3, answer = $4, said = $5, until = $6, \
                sealed = case when $3 = 'approved' then sealed end, card = case when $3 = 'approved' then card end \
                where project_id = $1 and hold = $2 and state = 'open'";
    DISPATCHED = "update holds set state = 'dispatched', sealed = null, card = null \
                  where project_id = $1 and hold = any($2) and state = 'approved'";
    EXPIRED = "update holds set state = 'expired', sealed = null, card = null \
               where project_id = $1 and hold = any($2) and state = 'open'";
    LAPSED = "update holds set state = 'expired', sealed = null, card = null \
              where project_id = $1 and hold = any($2) and state = 'approved' and (expires_at < $3 or until < $3)";
    // A hold without its decision, or answered by what no entry says.
    ASTRAY = "select h.seq from holds h where h.project_id = $1 and (not exists ( \
                  select 1 from entries e where e.project_id = $1 and e.seq = h.seq and e.kind = 'decision' \
                  and e.body_digest = h.decision and e.action = h.action and e.agent = h.agent) \
              or h.answer is not null and not exists ( \
                  select 1 from entries a where a.project_id = $1 and a.action = h.action and a.kind = 'answer' \
                  and a.body_digest = h.answer and a.decision = h.decision)) order by h.seq limit 1";
    SWEEP_ALL = "update holds set state = 'swept', sealed = null, card = null \
                 where project_id = $1 and state in ('open', 'approved')";
}

/// A hold without what is sealed.
#[derive(Clone, Debug)]
pub(crate) struct HoldRow {
    pub(crate) hold: HoldId,
    pub(crate) action: ActionId,
    pub(crate) decision: Digest,
    /// Of the held decision.
    pub(crate) seq: u64,
    pub(crate) agent: AgentId,
    pub(crate) provider: ProviderId,
    pub(crate) tool: ToolName,
    pub(crate) is: HoldIs,
    pub(crate) once_only: bool,
    pub(crate) asked_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) card_digest: Digest,
    pub(crate) answered: Option<Answered>,
}

/// A decision of one commit, with what it parks.
pub(crate) struct Decided<'a> {
    pub(crate) seq: u64,
    pub(crate) digest: Digest,
    pub(crate) decision: &'a Decision,
    pub(crate) parking: Option<&'a Parking>,
}

/// What the decisions of one commit open, and what they dispatch.
pub(crate) async fn open_and_dispatch(
    tx: &ProjectTx<'_>,
    head: &Head,
    decided: &[Decided<'_>],
) -> Result<(), DatabaseError> {
    for one in decided {
        if let Some(parking) = one.parking {
            // Judged before a kill that came first: it was swept before anybody saw it.
            let is_late = head.killed || one.decision.generation != head.generation;
            park(tx, one, parking, if is_late { HoldIs::Swept } else { HoldIs::Open }).await?;
        }
    }
    let cleared = decided.iter().filter(|one| one.decision.is_cleared());
    let dispatched: Vec<Uuid> =
        cleared.filter_map(|one| one.decision.answers.as_ref().map(|answers| answers.hold.uuid())).collect();
    match dispatched.len() {
        0 => Ok(()),
        count => tx.change(count as u64, DISPATCHED, &[&tx.project().uuid(), &dispatched]).await,
    }
}

async fn park(
    tx: &ProjectTx<'_>,
    one: &Decided<'_>,
    parking: &Parking,
    is: HoldIs,
) -> Result<(), DatabaseError> {
    let kept = |text: &String| (is == HoldIs::Open).then(|| text.clone());
    let provider = one.decision.provider.as_ref();
    let parameters: [&(dyn ToSql + Sync); 16] = [
        &tx.project().uuid(),
        &parking.hold.uuid(),
        &one.decision.action.uuid(),
        &one.digest.bytes().as_slice(),
        &signed(one.seq)?,
        &one.decision.agent.uuid(),
        &provider.map(ToString::to_string).unwrap_or_default(),
        &parking.tool.to_string(),
        &parking.call,
        &word(is),
        &parking.once_only,
        &parking.asked_at.millis(),
        &parking.expires_at.millis(),
        &parking.card_digest.bytes().as_slice(),
        &kept(&parking.sealed),
        &kept(&parking.card),
    ];
    tx.change(1, PARK, &parameters).await
}

/// The named holds, as far as there are any.
pub(crate) async fn named(
    tx: &ProjectTx<'_>,
    holds: &[Uuid],
) -> Result<HashMap<HoldId, HoldRow>, DatabaseError> {
    let rows = tx.rows(BY_ID, &[&tx.project().uuid(), &holds]).await?;
    rows.iter().map(|row| row_of(row).map(|row| (row.hold, row))).collect()
}

/// A hold with its sealed card.
pub(super) async fn one(
    tx: &ProjectTx<'_>,
    hold: HoldId,
) -> Result<Option<(HoldRow, Option<String>)>, DatabaseError> {
    let row = tx.maybe_row(WITH_CARD, &[&tx.project().uuid(), &hold.uuid()]).await?;
    row.map(|row| Ok((row_of(&row)?, row.try_get("card")?))).transpose()
}

pub(super) async fn list(
    tx: &ProjectTx<'_>,
    shown: Shown,
    most: i64,
) -> Result<Vec<(HoldRow, Option<String>)>, DatabaseError> {
    let open = shown == Shown::Open;
    let rows = tx.rows(LISTED, &[&tx.project().uuid(), &open, &most]).await?;
    rows.iter().map(|row| Ok((row_of(row)?, row.try_get("card")?))).collect()
}

/// A hold with the gateway's sealed bytes, while they can be dispatched.
pub(super) async fn with_sealed(
    tx: &ProjectTx<'_>,
    hold: HoldId,
) -> Result<Option<(HoldRow, Option<String>)>, DatabaseError> {
    let row = tx.maybe_row(WITH_SEALED, &[&tx.project().uuid(), &hold.uuid()]).await?;
    row.map(|row| Ok((row_of(&row)?, row.try_get("sealed")?))).transpose()
}

/// Cheap enough to ask several times a second.
pub(super) async fn state(tx: &ProjectTx<'_>, hold: HoldId) -> Result<Option<HoldIs>, DatabaseError> {
    let row = tx.maybe_row(STATE, &[&tx.project().uuid(), &hold.uuid()]).await?;
    row.map(|row| of_word(row.try_get(0)?)).transpose()
}

/// The newest hold of this call that is open, or approved and not dispatched.
pub(super) async fn of_call(
    tx: &ProjectTx<'_>,
    agent: AgentId,
    call: &str,
    now: Timestamp,
) -> Result<Option<HoldId>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 4] = [&tx.project().uuid(), &agent.uuid(), &call, &now.millis()];
    let row = tx.maybe_row(NEWEST_OF_CALL, &parameters).await?;
    row.map(|row| Ok(HoldId::from_uuid(row.try_get(0)?))).transpose()
}

/// Holds whose time passed: those that nobody answered, and those whose approval nobody used.
pub(super) async fn due(
    tx: &ProjectTx<'_>,
    now: Timestamp,
    most: i64,
) -> Result<(Vec<Uuid>, Vec<Uuid>), DatabaseError> {
    let rows = tx.rows(DUE, &[&tx.project().uuid(), &now.millis(), &most]).await?;
    let (mut open, mut approved) = (Vec::new(), Vec::new());
    for row in &rows {
        let list = if row.try_get::<_, &str>(1)? == "open" { &mut open } else { &mut approved };
        list.push(row.try_get(0)?);
    }
    Ok((open, approved))
}

pub(super) async fn answered(
    tx: &ProjectTx<'_>,
    hold: HoldId,
    answered: &Answered,
) -> Result<(), DatabaseError> {
    let is = match answered.say {
        Say::Deny => HoldIs::Denied,
        Say::ApproveOnce | Say::ApproveFor => HoldIs::Approved,
    };
    let parameters: [&(dyn ToSql + Sync); 6] = [
        &tx.project().uuid(),
        &hold.uuid(),
        &word(is),
        &answered.answer.bytes().as_slice(),
        &answered.say.as_str(),
        &answered.until.map(Timestamp::millis),
    ];
    tx.change(1, ANSWERED, &parameters).await
}

pub(super) async fn expire(tx: &ProjectTx<'_>, holds: &[Uuid]) -> Result<(), DatabaseError> {
    tx.change(holds.len() as u64, EXPIRED, &[&tx.project().uuid(), &holds]).await
}

/// Wipes what was approved and never dispatched. Its answer says until when; no entry is due.
pub(super) async fn lapse(tx: &ProjectTx<'_>, holds: &[Uuid], now: Timestamp) -> Result<(), DatabaseError> {
    tx.touch(LAPSED, &[&tx.project().uuid(), &holds, &now.millis()]).await.map(drop)
}

pub(super) async fn sweep_all(tx: &ProjectTx<'_>) -> Result<(), DatabaseError> {
    tx.touch(SWEEP_ALL, &[&tx.project().uuid()]).await.map(drop)
}

/// The first hold that the entries do not say, by the number of its decision.
pub(crate) async fn misplaced(tx: &ProjectTx<'_>) -> Result<Option<u64>, DatabaseError> {
    let row = tx.maybe_row(ASTRAY, &[&tx.project().uuid()]).await?;
    row.map(|row| number(row.try_get(0)?)).transpose()
}

fn row_of(row: &tokio_postgres::Row) -> Result<HoldRow, DatabaseError> {
    let answer: Option<&[u8]> = row.try_get("answer")?;
    let said: Option<&str> = row.try_get("said")?;
    let until: Option<i64> = row.try_get("until")?;
    let answered = match (answer, said) {
        (Some(answer), Some(said)) => Some(Answered {
            answer: digest(answer)?,
            say: serde_json::from_value(Value::from(said)).map_err(unreadable)?,
            until: until.map(time).transpose()?,
        }),
        _ => None,
    };
    Ok(HoldRow {
        hold: HoldId::from_uuid(row.try_get("hold")?),
        action: ActionId::from_uuid(row.try_get("action")?),
        decision: digest(row.try_get("decision")?)?,
        seq: number(row.try_get("seq")?)?,
        agent: AgentId::from_uuid(row.try_get("agent")?),
        provider: row.try_get::<_, &str>("provider")?.parse().map_err(unreadable)?,
        tool: row.try_get::<_, &str>("tool")?.parse().map_err(unreadable)?,
        is: of_word(row.try_get("state")?)?,
        once_only: row.try_get("once_only")?,
        asked_at: time(row.try_get("asked_at")?)?,
        expires_at: time(row.try_get("expires_at")?)?,
        card_digest: digest(row.try_get("card_digest")?)?,
        answered,
    })
}

fn of_word(text: &str) -> Result<HoldIs, DatabaseError> {
    serde_json::from_value(Value::from(text)).map_err(unreadable)
}
