//! Stage 6: the call itself.
//!
//! Promised: before anything is sent it is asked once more whether the decision still stands: not older than fifteen
//! seconds, same kill generation, not below the floor. Arguments go out as they came in. Every ALLOW that gets here
//! leaves an observation, whatever happened.
//! Not promised: that a call that timed out or was given up did not run.

mod outgoing;

use super::{Judged, Recorded, Sendable, Subject};
use crate::answer::{Answer, Body, Fault};
use crate::control::RECENT;
use crate::house::House;
use crate::observation::{Seen, observe};
use crate::raw::Object;
use crate::slip::receipt_for;
use crate::upstream::{Connection, Outcome};
use counterfoil_core::statement::ObservationReason;
use counterfoil_core::time::Timestamp;
use std::time::Duration;

/// A decision ends this long after it was judged (RECORD: clocks).
const DECISION_LIFE: Duration = Duration::from_secs(15);

pub async fn execute(sendable: Sendable, house: &House) -> Answer {
    let Sendable(recorded) = sendable;
    let judged = &recorded.judged;
    let stands = standing(&recorded).await;
    let sent_at = judged.call.received.caller.project.clock.now().ok();
    let seen = match stands {
        Ok(()) => send(&recorded, house).await,
        Err(reason) => Seen::NotSent(reason),
    };
    let sent_at = sent_at.filter(|_| !matches!(seen, Seen::NotSent(_)));
    if let Some(provider) = &judged.call.received.provider {
        judged.call.received.caller.project.executions.hand_in(&provider.id, &seen);
    }
    leave_observation(judged, &seen, sent_at, house);
    Answer { body: told(seen, judged), receipt: Some(receipt_for(&recorded)) }
}

/// Whether the decision still stands at this moment.
pub(super) async fn standing(recorded: &Recorded) -> Result<(), ObservationReason> {
    let judged = &recorded.judged;
    let received = &judged.call.received;
    let control = &received.caller.project.control;
    // The commit itself showed that gen and floor stood, at some moment after its request was sent.
    let recent = recorded.acknowledged.asked_at.elapsed() <= RECENT || control.is_recent();
    if !recent && (control.read_now().await.is_err() || !control.is_recent()) {
        return Err(ObservationReason::TooLate);
    }
    if received.given_up.is_cancelled() {
        return Err(ObservationReason::ClientGone);
    }
    if judged.judged_at.elapsed() >= DECISION_LIFE {
        return Err(ObservationReason::TooLate);
    }
    let known = control.known().ok_or(ObservationReason::TooLate)?;
    let decision = judged.decided.signed.payload();
    if known.stops(decision) {
        return Err(ObservationReason::Killed);
    }
    match decision.control >= known.snapshot.floor {
        true => Ok(()),
        // Narrower rules are in force: this verdict came too late for them.
        false => Err(ObservationReason::TooLate),
    }
}

async fn send(recorded: &Recorded, house: &House) -> Seen {
    let received = &recorded.judged.call.received;
    let Subject::Tool { connection, .. } = &recorded.judged.call.subject else {
        return Seen::NotSent(ObservationReason::NoCapability);
    };
    let Some(provider) = &received.provider else {
        return Seen::NotSent(ObservationReason::NoCapability);
    };
    let executions = &received.caller.project.executions;
    let accepted = executions.take_accepted(&provider.id);
    let Some(params) = outgoing::params(recorded, house, &accepted) else {
        executions.put_back(&provider.id, accepted);
        return Seen::NotSent(ObservationReason::NoCapability);
    };
    let outcome = call(connection, &params, provider.ceiling, recorded).await;
    if matches!(outcome, Outcome::Unsent) {
        executions.put_back(&provider.id, accepted);
    }
    match outcome {
        Outcome::Returned(result) if Object::read_loosely(&result).is_ok() => Seen::Returned(result),
        Outcome::Returned(_) => Seen::Broke("not_a_result"),
        Outcome::Failed(error) => Seen::Failed(error),
        Outcome::TimedOut => Seen::TimedOut,
        Outcome::Cancelled => Seen::Cancelled,
        Outcome::Gone => Seen::Broke("provider_gone"),
        Outcome::Oversized => Seen::Broke("oversized"),
        Outcome::Unsent if received.given_up.is_cancelled() => Seen::NotSent(ObservationReason::ClientGone),
        Outcome::Unsent => Seen::NotSent(ObservationReason::TooLate),
    }
}

async fn call(connection: &Connection, params: &str, ceiling: Duration, recorded: &Recorded) -> Outcome {
    let received = &recorded.judged.call.received;
    // The caller gives a call up, or a kill does.
    let cancel = received.given_up.child_token();
    let control = &received.caller.project.control;
    let decision = recorded.judged.decided.signed.payload();
    // A provider that does not read makes calls wait; the decision does not wait with them.
    let send_by = recorded.judged.judged_at + DECISION_LIFE;
    let asking = connection.ask_by(("tools/call", params), send_by, ceiling, &cancel);
    let mut asking = std::pin::pin!(asking);
    tokio::select! {
        outcome = &mut asking => return outcome,
        () = control.until_stopped(decision) => cancel.cancel(),
    }
    asking.await
}

fn leave_observation(judged: &Judged, seen: &Seen, sent_at: Option<Timestamp>, house: &House) {
    let project = &judged.call.received.caller.project;
    // Ledger time may be lost meanwhile; the decision's own time is then the latest one known.
    let decided = &judged.decided;
    let at = project.clock.now().unwrap_or(decided.signed.payload().at);
    let key = &house.keys.decision;
    let seed = &decided.provider_seed;
    if let Some(observation) = observe(&decided.signed, seed, seen, (sent_at, at), key) {
        house.metrics.observed(observation.payload().status);
        project.recorder.observe(&observation);
    }
}

/// What the caller reads.
fn told(seen: Seen, judged: &Judged) -> Body {
    match seen {
        Seen::Returned(result) => Body::Result(result),
        Seen::Failed(error) => relayed(&error),
        Seen::Broke(_) => Body::refusing(
            "The tool provider broke off before it answered. The call may have been executed; check before repeating it.",
        ),
        Seen::TimedOut => {
            let seconds = judged.call.received.provider.as_ref();
            let seconds = seconds.map_or(0, |p| p.ceiling.as_secs());
            Body::refusing(&format!(
                "The tool did not answer within {seconds} seconds. The call may have been executed; check before \
                 repeating it."
            ))
        }
        Seen::Cancelled => Body::refusing("Cancelled. The call may have been executed all the same."),
        Seen::NotSent(ObservationReason::Killed) => {
            Body::refusing("Not executed. This was stopped by a person before the call went out.")
        }
        Seen::NotSent(
            ObservationReason::AckUnknown
            | ObservationReason::TooLate
            | ObservationReason::ClientGone
            | ObservationReason::NoCapability,
        ) => Body::refusing(
            "Not executed. The decision came too late, so nothing was sent to the tool. Try again.",
        ),
    }
}

/// The provider's own JSON-RPC error, its data untouched.
fn relayed(error: &str) -> Body {
    let object = Object::read_loosely(error).ok();
    let member = |name: &str| object.as_ref().and_then(|o| o.value(name));
    let code = member("code").and_then(|raw| raw.parse().ok());
    let message = member("message").and_then(|raw| serde_json::from_str(raw).ok());
    Body::Error {
        code: code.unwrap_or(-32603),
        message: message.unwrap_or_else(|| "the tool provider failed".to_owned()),
        data: member("data").map(str::to_owned),
        fault: Fault::Call,
    }
}
