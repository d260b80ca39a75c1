//! What a person is shown: what the registry says of the call, and nothing that the agent said of itself.

use crate::chance;
use crate::pipeline::{Classified, Subject};
use counterfoil_core::hold::{Card, CardClass, CardNoun};
use counterfoil_core::id::HoldId;
use counterfoil_core::json::canonical;
use counterfoil_core::statement::{Decision, Effect, Mode, Reason, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::Classification;

/// Whether a judgement is a question that a person can answer.
pub fn is_for_a_person(verdict: Verdict, reason: Reason) -> bool {
    let open = matches!(
        reason,
        Reason::Rule | Reason::NoRule | Reason::UnknownTool | Reason::NounMissing | Reason::DefinitionChanged
    );
    verdict == Verdict::StepUp && open
}

/// None for what is no question about a listed tool.
pub fn card(call: &Classified, decision: &Decision, (hold, expires_at): (HoldId, Timestamp)) -> Option<Card> {
    let Subject::Tool { tool, classification, .. } = &call.subject else {
        return None;
    };
    let asked = is_for_a_person(decision.verdict, decision.reason)
        && decision.effect == Effect::Enforced
        && decision.mode == Mode::Gateway;
    asked.then_some(())?;
    Some(Card {
        v: 1,
        nonce: chance::nonce(),
        hold,
        action: decision.action,
        agent: decision.agent,
        provider: decision.provider.clone()?,
        tool: tool.clone(),
        class: class(classification),
        reason: decision.reason,
        asked_at: decision.at,
        expires_at,
    })
}

/// What the evidence service takes of one card, less what stands around its class.
const MOST_SHOWN: usize = 60 * 1024;

/// Whether a person can be shown all that the registry says of this call.
pub fn fits(call: &Classified) -> bool {
    match &call.subject {
        Subject::Tool { classification, .. } => {
            class(classification).is_none_or(|class| canonical(&class).len() <= MOST_SHOWN)
        }
        Subject::Proposed { .. } | Subject::Refused { .. } => true,
    }
}

fn class(classification: &Classification) -> Option<CardClass> {
    let known = classification.known()?;
    // The class without its nouns: they stand in clear below.
    let said = classification.class(&[])?;
    let noun = |noun: &counterfoil_policy::NounValue| CardNoun {
        noun_type: noun.kind().noun_type(),
        value: noun.value().to_owned(),
    };
    Some(CardClass {
        service: said.service,
        verb: said.verb,
        nouns: classification.nouns().iter().map(noun).collect(),
        fields: known.fields_and_gaps(),
        operation: said.operation,
        data_class: said.data_class,
        destination: said.destination,
        magnitude: said.magnitude,
        reversibility: said.reversibility,
    })
}
