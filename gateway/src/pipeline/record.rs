//! Stage 4: is it written down?
//!
//! Promised: only a decision whose receipt verified leaves this stage. Where it is not known whether the ledger has it,
//! nothing is sent, and an observation says so in case it has.

use super::{Judged, Priced, Turn};
use crate::answer::Answer;
use crate::decision::Decided;
use crate::house::{House, Project};
use crate::observation::{Seen, observe};
use crate::recorder::{Acknowledged, Beside, Fate};
use counterfoil_core::record::{OpeningItem, RefusedReason};
use counterfoil_core::statement::ObservationReason;
use std::sync::Arc;

pub struct Recorded {
    pub judged: Judged,
    pub acknowledged: Acknowledged,
}

pub async fn record(priced: Priced, house: &House) -> Result<Recorded, Turn> {
    let Priced(mut judged) = priced;
    let project = judged.call.received.caller.project.clone();
    let credential = judged.call.received.caller.key;
    let parked = judged.parked.take();
    let signed = &judged.decided.signed;
    let idempotency = judged.call.received.proposed().map(|proposed| proposed.idempotency.clone());
    let judged_on = judged.decided.judged_on;
    let beside = Beside { credential: Some(credential), idempotency, parked, judged_on };
    let fate = project.recorder.record(signed, beside, judged.judged_at).await;
    drop(judged.turn.take());
    match fate {
        Fate::Recorded(acknowledged) => Ok(recorded(judged, *acknowledged, house)),
        Fate::Refused(RefusedReason::Stale | RefusedReason::Killed | RefusedReason::Skew) => {
            Err(Turn::Overtaken(Box::new(judged.call.received)))
        }
        Fate::Refused(RefusedReason::Conflict) => Err(Turn::Ended(Answer::conflict())),
        Fate::Refused(RefusedReason::HoldGone) => Err(Turn::Ended(Answer::hold_gone())),
        Fate::Refused(reason) => {
            tracing::warn!(project = %project.id, ?reason, "decision refused by the ledger");
            Err(Turn::Unrecorded)
        }
        Fate::NotTaken => {
            tracing::warn!(project = %project.id, "decision not taken by the ledger");
            Err(Turn::Unrecorded)
        }
        Fate::InDoubt => {
            not_sent(&judged, &project, house);
            Err(Turn::Unrecorded)
        }
    }
}

/// The openings follow in a later batch: sealing them takes elliptic curves that no caller waits for.
fn recorded(mut judged: Judged, acknowledged: Acknowledged, house: &House) -> Recorded {
    let project = judged.call.received.caller.project.clone();
    let control = judged.call.control.clone();
    let decision = judged.decided.signed.digest();
    house.metrics.recorded(judged.decided.signed.payload().verdict);
    if let Some(opening) = judged.decided.opening.take() {
        // A task, not a thread for blocking work: handing it to one costs half of what the sealing does.
        house.calls.spawn(async move {
            match opening.seal(&control.disclosure) {
                Ok(jwe) => project.recorder.keep(OpeningItem { project: project.id, decision, jwe }),
                Err(error) => tracing::error!(project = %project.id, %error, "no opening kept"),
            }
        });
    }
    Recorded { judged, acknowledged }
}

/// If the ledger has the decision after all, it also has our word that nothing went out under it.
fn not_sent(judged: &Judged, project: &Arc<Project>, house: &House) {
    let Decided { signed, provider_seed, .. } = &judged.decided;
    // What a vendor does about a call of its own is for the vendor to say.
    let is_ours = judged.call.received.proposed().is_none();
    let cleared = signed.payload().is_cleared() && is_ours;
    let (true, Ok(now)) = (cleared, project.clock.now()) else {
        return;
    };
    let seen = Seen::NotSent(ObservationReason::AckUnknown);
    let key = &house.keys.decision;
    if let Some(observation) = observe(signed, provider_seed, &seen, (None, now), key) {
        house.metrics.observed(observation.payload().status);
        project.recorder.observe(&observation);
    }
}
