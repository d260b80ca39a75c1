//! Stage 5: does it go on?
//!
//! Promised: only an ALLOW that is recorded goes on. DENY and STEP_UP come back as results with `isError` and a short
//! reason, since that is what an agent can read and act on; what is wrong with the message itself is a JSON-RPC error.

use super::{Recorded, Subject};
use crate::answer::{Answer, Body};
use crate::slip::receipt_for;
use counterfoil_core::statement::{Reason, Verdict};

/// A recorded ALLOW of a tool that its provider lists.
pub struct Cleared(pub Recorded);

pub fn clear(recorded: Recorded) -> Result<Cleared, Answer> {
    let decision = recorded.judged.decided.signed.payload();
    let is_tool = matches!(recorded.judged.call.subject, Subject::Tool { .. });
    if decision.verdict == Verdict::Allow && decision.is_cleared() && is_tool {
        return Ok(Cleared(recorded));
    }
    let body = match &recorded.judged.call.subject {
        Subject::Refused { tell, .. } => tell.clone(),
        Subject::Tool { .. } => Body::refusing(&said(decision.verdict, decision.reason)),
    };
    Err(Answer { body, receipt: Some(receipt_for(&recorded)) })
}

fn said(verdict: Verdict, reason: Reason) -> String {
    let why = match reason {
        Reason::Rule => "a rule of this project says so",
        Reason::NoRule => "no rule of this project allows it",
        Reason::UnknownTool => "the tool is not in this project's registry",
        Reason::NounMissing => "the call does not say what it would act on",
        Reason::DefinitionChanged => "the tool's definition changed since it was reviewed",
        Reason::PolicyError => "the rules could not be evaluated",
        Reason::Killed => "this project is stopped",
        Reason::NoSuchTool | Reason::NotBindable | Reason::Malformed => "the call is malformed",
        Reason::Revoked | Reason::OverCap | Reason::Stale | Reason::Skew => "the ledger does not take it",
        Reason::PersonRequired => "a person has to do this",
        Reason::AnsweredNo => "a person said no",
        Reason::HoldExpired => "nobody answered in time",
        Reason::ControlVerb => "nothing that decides can be changed from here",
        Reason::Grant | Reason::Approved | Reason::BreakGlass => "what allowed it no longer does",
    };
    match verdict {
        Verdict::StepUp => format!(
            "Held, not executed: {why}. A person would have to approve this call, and nobody can answer held calls \
             yet. Repeating it changes nothing."
        ),
        Verdict::Allow | Verdict::Deny | Verdict::Modify | Verdict::Defer => {
            format!("Denied, not executed: {why}. Nothing was sent to the tool.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words_that_say_nothing_was_executed() {
        for reason in Reason::ALL {
            for verdict in [Verdict::Deny, Verdict::StepUp] {
                assert!(said(verdict, *reason).contains("not executed"), "{reason}");
            }
        }
    }
}
