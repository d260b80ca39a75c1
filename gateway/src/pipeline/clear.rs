//! Stage 5: does it go on?
//!
//! Promised: only an ALLOW that is recorded goes on, or what a shadow window made advisory. DENY comes back as a result
//! with `isError` and a short reason, since that is what an agent can read and act on, MODIFY and DEFER with the words of
//! their rules; STEP_UP waits for a person first, and an answer takes the call round again from the top. What is wrong with
//! the message itself is a JSON-RPC error. A vendor that asks about a call of its own is told every verdict, and no person is
//! asked by us: it comes again with what its own person said.

use super::{Recorded, Subject, Turn};
use crate::answer::{Answer, Body};
use crate::holds;
use crate::house::House;
use crate::slip::receipt_for;
use counterfoil_core::statement::{Reason, Verdict};

/// What there is to do about a recorded decision.
pub enum Cleared {
    /// Execute it.
    Call(Sendable),
    /// Tell whoever asked, whatever it says: the call is the vendor's own.
    Verdict(Recorded),
}

/// A recorded ALLOW, or a verdict that only says what it would have been, of a tool that its provider lists.
pub struct Sendable(pub Recorded);

pub async fn clear(recorded: Recorded, house: &House) -> Result<Cleared, Turn> {
    if recorded.judged.call.received.proposed().is_some() {
        return Ok(Cleared::Verdict(recorded));
    }
    let decision = recorded.judged.decided.signed.payload();
    let (verdict, reason) = (decision.verdict, decision.reason);
    let is_tool = matches!(recorded.judged.call.subject, Subject::Tool { .. });
    if decision.is_cleared() && is_tool {
        return Ok(Cleared::Call(Sendable(recorded)));
    }
    if verdict == Verdict::StepUp && is_tool {
        return Err(holds::wait(recorded, why(reason), house).await);
    }
    let body = match &recorded.judged.call.subject {
        Subject::Refused { tell, .. } => tell.clone(),
        Subject::Tool { .. } | Subject::Proposed { .. } => Body::refusing(&refused(&recorded)),
    };
    Err(Turn::Ended(Answer { body, receipt: Some(receipt_for(&recorded)) }))
}

/// What may be asked otherwise or later says so, in the words of the rules (`@narrow`, `@needs`).
fn refused(recorded: &Recorded) -> String {
    let decision = recorded.judged.decided.signed.payload();
    let told: Vec<&str> = recorded.judged.call.control.bundle.told(&decision.rules).collect();
    match decision.verdict {
        Verdict::Modify => {
            format!(
                "Not executed like this: {}. Nothing was sent to the tool. Ask again so.",
                told.join("; ")
            )
        }
        Verdict::Defer => format!(
            "Not executed yet: it needs {}. Nothing was sent to the tool. Ask again once that is there.",
            told.join("; ")
        ),
        Verdict::Deny | Verdict::StepUp | Verdict::Allow => denied(decision.reason),
    }
}

/// What the agent reads about a call that does not go on.
pub fn denied(reason: Reason) -> String {
    format!("Denied, not executed: {}. Nothing was sent to the tool.", why(reason))
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Rule => "a rule of this project says so",
        Reason::NoRule => "no rule of this project allows it",
        Reason::UnknownTool => "the tool is not in this project's registry",
        Reason::NounMissing => "the call does not say what it would act on",
        Reason::DefinitionChanged => "the tool's definition changed since it was reviewed",
        Reason::PolicyError => "the rules could not be evaluated",
        Reason::Killed => "a person stopped this project, or what this call comes from",
        Reason::NoSuchTool | Reason::NotBindable | Reason::Malformed => "the call is malformed",
        Reason::Revoked | Reason::OverCap | Reason::Stale | Reason::Skew => "the ledger does not take it",
        Reason::PersonRequired => "a person has to do this",
        Reason::AnsweredNo => "a person said no to this call",
        Reason::HoldExpired => "nobody answered in time. Repeat the call to ask again",
        Reason::ControlVerb => "nothing that decides can be changed from here",
        Reason::Grant | Reason::Approved | Reason::BreakGlass => "what allowed it no longer does",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words_that_say_nothing_was_executed() {
        for reason in Reason::ALL {
            assert!(denied(*reason).starts_with("Denied, not executed: "), "{reason}");
        }
    }
}
