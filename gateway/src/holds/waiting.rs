//! Waiting for a person, and what follows when one answered.
//!
//! Promised: a round never ends in a dispatch of its own; an answered call goes round again from the top, as the action
//! that asked, and meets the rules in force by then. Where the evidence service does not answer, nobody was approved.

use super::finding::taken_up;
use super::parking::{asked_of, call_of};
use super::tokens::Round;
use super::{Begun, Ended, Holds, Manner, Question, Reopened, words};
use crate::answer::{Answer, Body};
use crate::call::Received;
use crate::house::House;
use crate::pipeline::{Recorded, Turn};
use crate::slip::receipt_for;
use counterfoil_core::hold::{HoldIs, HoldState};
use counterfoil_core::id::{HoldId, ProjectId};
use counterfoil_core::time::Timestamp;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// One long poll. Shorter than what stands between two machines usually cuts.
const POLL: Duration = Duration::from_secs(20);
/// Between polls that were not answered.
const PAUSE: Duration = Duration::from_millis(500);

/// A recorded question: its caller waits, and then reads something or goes round again.
pub async fn wait(mut recorded: Recorded, why: &str, house: &House) -> Turn {
    let question = &recorded.judged.question;
    let (Some(waiting), Some(call)) = (Waiting::of(&recorded), called(&recorded, house)) else {
        let said = Body::refusing(&words::held(question, why));
        return Turn::Ended(Answer { body: said, receipt: Some(receipt_for(&recorded)) });
    };
    let received = &mut recorded.judged.call.received;
    let patience = house.holds.patience_of(received.caller.key);
    let mut until = Instant::now() + patience;
    let manner = std::mem::replace(&mut received.manner, Manner::Repeat);
    match manner {
        Manner::Task(begin) => {
            until = Instant::now() + house.holds.lifetime;
            let answer = Answer { body: Body::refusing(""), receipt: Some(receipt_for(&recorded)) };
            let (hold, expires_at) = (waiting.hold, waiting.expires_at);
            if begin.send(Begun { answer, hold, call, expires_at }).is_err() {
                return Turn::Ended(held(&recorded, why));
            }
        }
        // Who is not to be kept waiting is told in words at once, once and for all.
        Manner::Rounds { .. } | Manner::Page if patience.is_zero() => {}
        Manner::Page if waiting.opens => return Turn::Ended(page(&recorded, waiting.hold, why, house)),
        Manner::Rounds { shows_pages: true } if waiting.opens && house.holds.console.is_some() => {
            return Turn::Ended(again(&recorded, &waiting, (why, true), house));
        }
        rounds @ Manner::Rounds { .. } => received.manner = rounds,
        Manner::Page | Manner::Repeat => {}
    }
    match followed(&recorded, waiting.hold, until, house).await {
        Some(state) => answered(recorded, waiting, &state, house),
        None if matches!(recorded.judged.call.received.manner, Manner::Rounds { .. }) => {
            Turn::Ended(again(&recorded, &waiting, (why, false), house))
        }
        None => Turn::Ended(held(&recorded, why)),
    }
}

/// The hold that is waited for, as the decision left it.
struct Waiting {
    hold: HoldId,
    opens: bool,
    reopened: Reopened,
    expires_at: Timestamp,
}

impl Waiting {
    fn of(recorded: &Recorded) -> Option<Self> {
        let judged = &recorded.judged;
        let decision = judged.decided.signed.payload();
        let copied = |seed: &Zeroizing<[u8; 16]>| Zeroizing::new(**seed);
        let (hold, opens, action, decision, seed, expires_at) = match &judged.question {
            Question::Opens(hold, expires_at) => {
                let digest = judged.decided.signed.digest();
                (*hold, true, decision.action, digest, copied(&judged.seed), *expires_at)
            }
            Question::Joins(j) => (j.hold, false, j.action, j.decision, copied(&j.seed), j.expires_at),
            Question::NotAsked | Question::TooLarge | Question::Elsewhere | Question::Over { .. } => {
                return None;
            }
        };
        let reopened = Reopened { hold, action, decision, seed, ended: Ended::Expired };
        Some(Self { hold, opens, reopened, expires_at })
    }
}

fn called(recorded: &Recorded, house: &House) -> Option<String> {
    let received = &recorded.judged.call.received;
    match &received.round {
        Some(round) => Some(round.call.clone()),
        None => call_of(received, &house.holds.sealer),
    }
}

fn held(recorded: &Recorded, why: &str) -> Answer {
    let said = words::held(&recorded.judged.question, why);
    Answer { body: Body::refusing(&said), receipt: Some(receipt_for(recorded)) }
}

/// `input_required`, with a state to come again with; after the last round, words.
fn again(recorded: &Recorded, waiting: &Waiting, (why, shows): (&str, bool), house: &House) -> Answer {
    let received = &recorded.judged.call.received;
    let caller = &received.caller;
    let round = match &received.round {
        Some(round) => Some(round.clone()),
        None => first(recorded, waiting, house),
    };
    let Some(next) = round.as_ref().and_then(Round::next) else {
        return held(recorded, why);
    };
    let state = next.text(caller, &house.holds.sealer);
    let page = house.holds.page(waiting.hold).filter(|_| shows);
    let body = words::input_required(&state, page.as_deref());
    Answer { body: Body::Result(body), receipt: Some(receipt_for(recorded)) }
}

fn first(recorded: &Recorded, waiting: &Waiting, house: &House) -> Option<Round> {
    let received = &recorded.judged.call.received;
    let call = call_of(received, &house.holds.sealer)?;
    let asked = asked_of(received, &house.holds.sealer)?;
    Some(Round::first(&received.caller, waiting.hold, (call, asked), waiting.expires_at))
}

/// -32042, once for each hold. Without a console there is nothing to show, and words do.
fn page(recorded: &Recorded, hold: HoldId, why: &str, house: &House) -> Answer {
    match house.holds.page(hold) {
        Some(page) => {
            let body = words::page_required(hold, &page);
            Answer { body, receipt: Some(receipt_for(recorded)) }
        }
        None => held(recorded, why),
    }
}

/// The state of the hold once it is no longer open; none when the caller went, or its time did.
async fn followed(recorded: &Recorded, hold: HoldId, until: Instant, house: &House) -> Option<HoldState> {
    let received = &recorded.judged.call.received;
    let following = follow(received.caller.project.id, hold, until, &house.holds);
    tokio::select! {
        state = following => state,
        () = received.given_up.cancelled() => None,
        () = house.holds.closing.cancelled() => None,
    }
}

async fn follow(project: ProjectId, hold: HoldId, until: Instant, holds: &Holds) -> Option<HoldState> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let polled = holds.evidence.hold(project, hold, left.min(POLL)).await;
        match polled {
            Ok(Some(state)) if state.hold != hold || state.project != project => return None,
            Ok(Some(state)) if state.is != HoldIs::Open => return Some(state),
            Ok(Some(_)) => {}
            // It was recorded a moment ago; a service that does not know it will not learn of it.
            Ok(None) => return None,
            Err(error) => {
                tracing::warn!(%project, %error, "hold not followed");
                tokio::time::sleep(PAUSE.min(left)).await;
            }
        }
        if Instant::now() >= until {
            return None;
        }
    }
}

/// Somebody answered, or nobody will.
fn answered(recorded: Recorded, waiting: Waiting, state: &HoldState, house: &House) -> Turn {
    let same = state.action == waiting.reopened.action && state.decision == waiting.reopened.decision;
    let receipt = receipt_for(&recorded);
    let told =
        |said: String| Turn::Ended(Answer { body: Body::refusing(&said), receipt: Some(receipt.clone()) });
    if !same {
        return told(words::unopened());
    }
    let ended = match state.is {
        HoldIs::Approved => {
            return match taken_up(state, recorded.judged.call.received, house) {
                Turn::Ended(answer) => Turn::Ended(Answer { receipt: Some(receipt), ..answer }),
                turn => turn,
            };
        }
        HoldIs::Dispatched | HoldIs::Open => return told(words::elsewhere()),
        HoldIs::Denied => Ended::Denied(state.answered.clone()),
        HoldIs::Expired => Ended::Expired,
        HoldIs::Swept => Ended::Swept,
    };
    let reopened = Reopened { ended, ..waiting.reopened };
    let received = recorded.judged.call.received;
    Turn::Answered(Box::new(Received { round: None, reopened: Some(Box::new(reopened)), ..received }))
}
