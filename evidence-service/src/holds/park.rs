//! What a held decision brings along, and whether an answer lifts a hold. Pure, but for the seal of the card.

use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Card, HoldIs, MAX_SEALED, Parked};
use counterfoil_core::id::{HoldId, ProjectId, ToolName};
use counterfoil_core::json::canonical;
use counterfoil_core::record::RefusedReason;
use counterfoil_core::statement::{Answers, Decision, Effect, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_jwks::{AtRest, NoChance};

use super::store::HoldRow;

/// A parked call as its row keeps it.
#[derive(Debug)]
pub(crate) struct Parking {
    pub(crate) hold: HoldId,
    pub(crate) tool: ToolName,
    pub(crate) sealed: String,
    pub(crate) call: String,
    /// Sealed under the service's key-encryption key.
    pub(crate) card: String,
    pub(crate) card_digest: Digest,
    pub(crate) once_only: bool,
    pub(crate) asked_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

/// A person has at most a day, which is also how long a copy of the call may lie here.
pub(crate) const LONGEST_HOLD_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// As far as a decision's own time may be from its entry's.
const ASKED_APART_MILLIS: i64 = 15_000;
/// The card in canonical form: what a signed payload may have too.
const MAX_CARD: usize = 64 * 1024;
/// base64url of an HMAC of 64 bytes at most.
const MAX_CALL: usize = 88;

/// Refuses what is not parked by this very decision, and a card that says something else than it.
pub(crate) fn check(parked: &Parked, decision: &Decision) -> Result<(), RefusedReason> {
    let card = &parked.card;
    if parked.sealed.len() > MAX_SEALED || canonical_card(card).len() > MAX_CARD {
        return Err(RefusedReason::TooLarge);
    }
    let is_held = decision.verdict == Verdict::StepUp && decision.effect == Effect::Enforced;
    let this = decision.hold == Some(parked.hold) && card.hold == parked.hold && card.v == 1;
    let fits = is_held
        && this
        && !parked.sealed.is_empty()
        && base64url(&parked.sealed)
        && (1..=MAX_CALL).contains(&parked.call.len())
        && base64url(&parked.call)
        && says_the_same(card, decision)
        && lasts(card, decision);
    if fits { Ok(()) } else { Err(RefusedReason::Malformed) }
}

fn says_the_same(card: &Card, decision: &Decision) -> bool {
    let class = match (&card.class, &decision.class) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(shown), Some(said)) => {
            let mut types = shown.nouns.iter().zip(&said.nouns);
            let nouns = shown.nouns.is_empty() || shown.nouns.len() == said.nouns.len();
            shown.service == said.service
                && shown.verb == said.verb
                && nouns
                && types.all(|(shown, said)| shown.noun_type == said.noun_type)
        }
    };
    class
        && card.action == decision.action
        && card.agent == decision.agent
        && decision.provider.as_ref() == Some(&card.provider)
        && decision.tool.as_ref().is_none_or(|tool| *tool == card.tool)
        && card.reason == decision.reason
}

fn lasts(card: &Card, decision: &Decision) -> bool {
    let apart = (card.asked_at.millis() - decision.at.millis()).abs();
    let life = card.expires_at.millis() - card.asked_at.millis();
    apart <= ASKED_APART_MILLIS && (1..=LONGEST_HOLD_MILLIS).contains(&life)
}

fn base64url(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn canonical_card(card: &Card) -> Vec<u8> {
    canonical(&serde_json::to_value(card).expect("a card has string keys only"))
}

/// Seals the card before anything waits for a lock.
pub(crate) fn seal(parked: Parked, project: ProjectId, cards: &AtRest) -> Result<Parking, NoChance> {
    let Parked { hold, sealed, call, card } = parked;
    Ok(Parking {
        hold,
        tool: card.tool.clone(),
        sealed,
        call,
        card: cards.seal(&canonical_card(&card), &record(project, hold))?,
        card_digest: card.digest(),
        once_only: card.is_once_only(),
        asked_at: card.asked_at,
        expires_at: card.expires_at,
    })
}

/// What a card's seal is bound to.
pub(super) fn record(project: ProjectId, hold: HoldId) -> String {
    format!("{project} {hold}")
}

/// Whether a person's answer lets this call go out: that answer to that decision, in time, for the same action and for
/// what was shown, byte for byte. The rules and the kill switch were asked already.
pub(crate) fn lifts(
    row: &HoldRow,
    held: &Decision,
    decision: &Decision,
    answers: &Answers,
    at: Timestamp,
) -> bool {
    let answered = row.answered.as_ref().is_some_and(|answered| {
        answered.answer == answers.answer && answered.until.is_some_and(|until| at <= until)
    });
    let same_call = held.action == decision.action
        && held.env == decision.env
        && held.agent == decision.agent
        && held.principal == decision.principal
        && held.provider == decision.provider
        && held.tool == decision.tool
        && held.pin == decision.pin
        && held.class == decision.class
        && held.args == decision.args;
    row.is == HoldIs::Approved
        && row.hold == answers.hold
        && row.decision == answers.decision
        && held.hold == Some(row.hold)
        && at <= row.expires_at
        && answered
        && same_call
}
