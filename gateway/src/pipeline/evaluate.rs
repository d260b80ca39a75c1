//! Stage 2: may it?
//!
//! Promised: the verdict is the rules' alone, also for calls that were refused before any rule was asked; it is signed
//! before anybody hears of it. Without ledger time nothing is judged. Where only a person can say yes, an answer that is
//! there already is a fact of this judgement; where none is, the decision asks.

use super::{Classified, Turn};
use crate::chance;
use crate::decision::{Assessed, Decided, assess, decide};
use crate::holds::{self, Question, is_for_a_person};
use crate::house::House;
use crate::past::Past;
use counterfoil_core::hold::Parked;
use counterfoil_core::statement::Effect;
use std::time::Instant;
use tokio::sync::OwnedMutexGuard;
use zeroize::Zeroizing;

pub struct Judged {
    pub call: Classified,
    pub decided: Decided,
    pub question: Question,
    /// Taken when the decision that opens a hold is recorded.
    pub parked: Option<Parked>,
    /// Held until the decision is recorded: the next call of the key is judged on what this one leaves.
    pub turn: Option<OwnedMutexGuard<()>>,
    /// What all commitments of the action are salted from.
    pub seed: Zeroizing<[u8; 16]>,
    /// From here fifteen seconds are left, by our own clock.
    pub judged_at: Instant,
}

pub async fn evaluate(call: Classified, house: &House) -> Result<Judged, Turn> {
    let past = Past::of(&call, house).await?;
    let judged_at = Instant::now();
    let now = call.received.caller.project.clock.now().map_err(|_| Turn::Unrecorded)?;
    let session = past.as_ref().map(|past| past.summary(&call, now));
    let assessed = assess(&call, session.as_ref(), now);
    let (call, question) = match asks(&call, &assessed) {
        true => holds::looked_up(call, now, house).await?,
        false => (call, Question::NotAsked),
    };
    let seed = match &call.received.reopened {
        Some(reopened) => Zeroizing::new(*reopened.seed),
        None => Zeroizing::new(chance::bytes()),
    };
    let decided = decide(&call, assessed, (&question, &*seed), &house.keys.decision);
    let parked = holds::park(&call, decided.signed.payload(), (&question, &*seed), &house.holds);
    if matches!(question, Question::Opens(..)) && parked.is_none() {
        tracing::error!("a decision opens a hold and nothing of it could be parked");
        return Err(Turn::Unrecorded);
    }
    let turn = past.map(|past| past.turn);
    Ok(Judged { call, decided, question, parked, turn, seed, judged_at })
}

/// Whether a person is to be asked. One who was asked already is not asked again.
fn asks(call: &Classified, assessed: &Assessed) -> bool {
    call.received.reopened.is_none()
        && call.tool_is_listed()
        && assessed.effect() == Effect::Enforced
        && is_for_a_person(assessed.verdict(), assessed.reason())
}
