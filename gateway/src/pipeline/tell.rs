//! The last stage where a vendor asks about a call that it makes itself: the answer, whatever the verdict.
//!
//! Promised: no verdict is told without its receipt, and none that lets a call go which does not stand at this moment. The
//! plain members repeat what is signed. Nothing is executed here, and nothing observed: what came of it the vendor states.
//!
//!     {"action_id":"act_…","decision":{"decision_id":"dec_…","verdict":"ALLOW","engine":"cedar-policy 4.14.1","effect":"enforced"},
//!      "receipt":{"id":"41","kid":"…","alg":"Ed25519","signature":"…"},"chain":{"prev_hash":"sha256:…","record_hash":"sha256:…"},
//!      "dev.counterfoil/receipt":{"typ":"receipt-full/v1",…},"dev.counterfoil/capability":"eyJ…"}
//!
//! The last two for whoever asks for them (`Counterfoil-Want: full`).

use super::Recorded;
use super::execute::standing;
use super::mint::mint;
use crate::answer::{Answer, Body, CAPABILITY, RECEIPT};
use crate::call::{Caller, Wants};
use crate::control::Control;
use crate::house::House;
use crate::slip::{full, receipt_alone};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::receipt::{Receipt, verify};
use counterfoil_core::record;
use counterfoil_core::statement::{Decision, Mode, Statement, VendorExecution, Verdict};
use counterfoil_policy::engine;
use serde_json::{Value, json};

pub async fn tell(recorded: &Recorded, house: &House) -> Answer {
    let (call, signed) = (&recorded.judged.call, &recorded.judged.decided.signed);
    let decision = signed.payload();
    let mut capability = None;
    if decision.is_cleared() {
        // It was stopped meanwhile, or took too long: asked again, it is judged again.
        if standing(recorded).await.is_err() {
            return Answer::unrecorded();
        }
        let arguments = call.received.proposed().and_then(|proposed| proposed.request.arguments.as_ref());
        capability = arguments.and_then(|arguments| mint(recorded, house, (arguments, None)));
        if decision.capability.is_some() && capability.is_none() {
            return Answer::unrecorded();
        }
    }
    let receipt = &recorded.acknowledged.receipt;
    let told = said((decision, signed.digest()), receipt, &call.control);
    let body = match call.received.wants {
        Wants::Full => told.and_then(|told| with_ours(told, &full(recorded), capability)),
        Wants::Reference => told.map(|told| told.to_string()),
    };
    let Some(body) = body else { return Answer::unrecorded() };
    house.told.remember(signed.digest(), &body);
    answer(body, receipt)
}

/// A stored decision told again. None where what the ledger sent is no decision of ours for this caller.
pub fn again(
    stored: &record::Recorded,
    (caller, wants): (&Caller, Wants),
    control: &Control,
    house: &House,
) -> Option<Answer> {
    let receipt = &stored.receipt;
    let verified = verify(&receipt.bytes(), &control.trust).ok()?;
    let envelope = Envelope::parse(receipt.statement().as_bytes()).ok()?;
    let Ok(Statement::Decision(decision)) = envelope.statement() else { return None };
    let is_theirs = verified.entry.kind == Kind::Decision
        && verified.digest == stored.digest
        && decision.project == caller.project.id
        && decision.mode == Mode::Hook
        && decision.via == caller.key.to_string()
        && !(decision.is_cleared() && control.stops(&decision));
    if !is_theirs {
        return None;
    }
    let told = || said((&decision, stored.digest), receipt, control);
    let body = match (house.told.recall(&stored.digest), wants) {
        (Some(body), _) => body,
        (None, Wants::Full) => with_ours(told()?, &receipt_alone(receipt), None)?,
        (None, Wants::Reference) => told()?.to_string(),
    };
    Some(answer(body, receipt))
}

fn answer(body: String, receipt: &Receipt) -> Answer {
    Answer { body: Body::Result(body), receipt: Some(receipt_alone(receipt)) }
}

/// What the wire contract names.
fn said((decision, digest): (&Decision, Digest), receipt: &Receipt, control: &Control) -> Option<Value> {
    let statement: Value = serde_json::from_str(receipt.statement()).ok()?;
    let signature = &statement["signature"];
    let entry = receipt.entry();
    let mut told = json!({
        "action_id": decision.action,
        "decision": {
            "decision_id": VendorExecution::decision_id(&digest),
            "verdict": decision.verdict,
            "reason": decision.reason,
            "engine": engine(),
            "effect": decision.effect,
        },
        "receipt": {
            "id": entry.seq.to_string(),
            "kid": signature["kid"],
            "alg": signature["alg"],
            "signature": signature["sig"],
        },
        "chain": { "prev_hash": entry.prev, "record_hash": entry.hash() },
    });
    let words: Vec<&str> = control.bundle.told(&decision.rules).collect();
    let note = json!({ "note": words.join("; ") });
    match decision.verdict {
        Verdict::Modify => told["decision"]["transform"] = note,
        Verdict::Defer => told["decision"]["pending"] = note,
        Verdict::Allow | Verdict::Deny | Verdict::StepUp => {}
    }
    Some(told)
}

/// With the two members of our own, the receipt as it was signed.
fn with_ours(mut told: Value, receipt: &str, capability: Option<String>) -> Option<String> {
    if let Some(capability) = capability {
        told[CAPABILITY] = capability.into();
    }
    let text = told.to_string();
    let open = text.strip_suffix('}')?;
    Some(format!("{open},\"{RECEIPT}\":{receipt}}}"))
}
