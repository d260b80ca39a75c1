//! What an answer says about its own record, under `_meta["dev.counterfoil/receipt"]`.
//!
//! By default a reference, since hosts may show `_meta` to the model:
//!
//!     {"typ":"receipt-ref/v1","action":"act_…","verdict":"ALLOW","seq":41,"digest":"sha256:…"}
//!
//! A caller that keeps receipts sends `_meta["dev.counterfoil/want"]:"full"` and gets the receipt with what opens it:
//!
//!     {"typ":"receipt-full/v1","receipt":{"typ":"receipt/v1",…},"openings":[["args","<salt>"],…]}

use crate::call::Wants;
use crate::pipeline::Recorded;
use counterfoil_core::receipt::{Receipt, ReceiptRef};
use serde_json::json;

pub fn receipt_for(recorded: &Recorded) -> String {
    match recorded.judged.call.received.wants {
        Wants::Reference => reference(recorded),
        Wants::Full => full(recorded),
    }
}

fn reference(recorded: &Recorded) -> String {
    let decision = recorded.judged.decided.signed.payload();
    let reference = ReceiptRef::new(
        decision.action,
        decision.verdict,
        recorded.acknowledged.receipt.entry().seq,
        recorded.judged.decided.signed.digest(),
    );
    serde_json::to_string(&reference).expect("a reference has string keys only")
}

/// The receipt of a decision whose salts nobody here has any more.
pub fn receipt_alone(receipt: &Receipt) -> String {
    let receipt = String::from_utf8(receipt.bytes()).expect("JSON that we serialised is UTF-8");
    format!(r#"{{"typ":"receipt-full/v1","receipt":{receipt},"openings":[]}}"#)
}

pub fn full(recorded: &Recorded) -> String {
    let receipt =
        String::from_utf8(recorded.acknowledged.receipt.bytes()).expect("JSON that we serialised is UTF-8");
    // The result's salt too: the caller has the result, so it can check the observation that follows.
    let mut openings = recorded.judged.decided.salts.clone();
    let result = recorded.judged.decided.provider_seed.salt("result");
    openings.push(("result".to_owned(), result.to_string()));
    format!(r#"{{"typ":"receipt-full/v1","receipt":{receipt},"openings":{}}}"#, json!(openings))
}
