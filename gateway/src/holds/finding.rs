//! Holds that there are already, and the calls that were parked in them.
//!
//! Promised: a hold is joined or taken up only by the agent and principal that opened it, and only if what was parked
//! opens, under our own key for this project, hold and action, as the very call that is asked for.

use super::parking::{MOST_PARKED, ParkedCall, call_of};
use super::{Ended, Joined, Manner, Question, Reopened, words};
use crate::answer::{Answer, Body};
use crate::call::{Asked, Received};
use crate::chance;
use crate::evidence::NoAnswer;
use crate::house::House;
use crate::pipeline::{Classified, Turn};
use counterfoil_core::hold::{HoldIs, HoldState};
use counterfoil_core::time::Timestamp;
use std::time::Duration;

/// What this call has to do with holds that there are already. An approved one that waits for it is taken up instead.
pub async fn looked_up(
    call: Classified,
    asked_at: Timestamp,
    house: &House,
) -> Result<(Classified, Question), Turn> {
    let received = &call.received;
    let Asked::Tool { params, .. } = &received.asked else {
        return Ok((call, Question::NotAsked));
    };
    let too_large = params.text().len() > MOST_PARKED || !super::card::fits(&call);
    let state = match state_for(received, house).await {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(project = %received.caller.project.id, %error, "holds not looked up");
            return Err(Turn::Unrecorded);
        }
    };
    let Some(state) = state else {
        let question = match (&received.round, too_large) {
            (Some(_), _) => Question::Elsewhere,
            (None, true) => Question::TooLarge,
            (None, false) => {
                let lifetime = i64::try_from(house.holds.lifetime.as_millis()).unwrap_or(0);
                Question::Opens(chance::hold(asked_at), asked_at.plus_millis(lifetime))
            }
        };
        return Ok((call, question));
    };
    let action = state.action;
    let over = |ended| Question::Over { action, ended };
    match state.is {
        HoldIs::Open => {
            let Some(joined) = joined(&state, received, house) else {
                tracing::error!(hold = %state.hold, "an open hold does not open as the call that comes again");
                return Err(Turn::Unrecorded);
            };
            Ok((call, Question::Joins(joined)))
        }
        HoldIs::Approved => Err(taken_up(&state, call.received, house)),
        HoldIs::Dispatched => Ok((call, Question::Elsewhere)),
        HoldIs::Denied => Ok((call, over(Ended::Denied(state.answered)))),
        HoldIs::Expired => Ok((call, over(Ended::Expired))),
        HoldIs::Swept => Ok((call, over(Ended::Swept))),
    }
}

async fn state_for(received: &Received, house: &House) -> Result<Option<HoldState>, NoAnswer> {
    let caller = &received.caller;
    let (project, evidence) = (caller.project.id, &house.holds.evidence);
    if let Some(round) = &received.round {
        let state = evidence.hold(project, round.hold, Duration::ZERO).await?;
        return Ok(state.filter(|state| state.project == project && state.hold == round.hold));
    }
    let Some(call) = call_of(received, &house.holds.sealer) else {
        return Ok(None);
    };
    let state = evidence.hold_of(project, caller.agent, &call).await?;
    // Another principal's call of the same agent is another call; and what does not open as ours is nobody's.
    Ok(state.filter(|state| state.project == project && opened(state, received, house).is_some()))
}

/// What was parked, if it is this caller's own call.
fn opened(state: &HoldState, received: &Received, house: &House) -> Option<ParkedCall> {
    let place = (state.project, state.hold, state.action);
    let parked = ParkedCall::open(state.sealed.as_deref()?, place, &house.holds.sealer)?;
    let caller = &received.caller;
    let theirs = parked.agent == caller.agent && parked.principal == caller.principal;
    theirs.then_some(parked)
}

fn joined(state: &HoldState, received: &Received, house: &House) -> Option<Joined> {
    let seed = opened(state, received, house)?.seed()?;
    Some(Joined {
        hold: state.hold,
        action: state.action,
        decision: state.decision,
        seed,
        expires_at: state.expires_at,
    })
}

/// An approved call, from the bytes that were parked: from here it goes the way of every call.
pub fn taken_up(state: &HoldState, received: Received, house: &House) -> Turn {
    let called = match &received.round {
        Some(round) => Some(round.call.clone()),
        None => call_of(&received, &house.holds.sealer),
    };
    let parked = opened(state, &received, house);
    let again = parked.and_then(|parked| reread(state, &parked, received, house));
    let again = again.filter(|again| call_of(again, &house.holds.sealer) == called && called.is_some());
    match again {
        Some(again) => Turn::Answered(Box::new(again)),
        None => {
            tracing::error!(hold = %state.hold, "what was parked does not open as the call that is waited for");
            Turn::Ended(Answer { body: Body::refusing(&words::unopened()), receipt: None })
        }
    }
}

fn reread(state: &HoldState, parked: &ParkedCall, received: Received, house: &House) -> Option<Received> {
    let project = received.caller.project.id;
    let reopened = Reopened {
        hold: state.hold,
        action: state.action,
        decision: state.decision,
        seed: parked.seed()?,
        ended: Ended::Approved(state.answered.clone()?),
    };
    Some(Received {
        provider: Some(house.provider(parked.provider.as_str(), project)?),
        asked: Asked::Tool { name: parked.tool.clone(), params: parked.params()? },
        manner: Manner::Repeat,
        round: None,
        reopened: Some(Box::new(reopened)),
        ..received
    })
}
