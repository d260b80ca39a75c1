//! Receipts, good and malformed, and the key sets that a reader may pin.

use crate::{Outcome, docs, equal, read};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::key::JwkSet;
use counterfoil_core::receipt::{RefusalClass, Trust, verify};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

fn pinned(jwks: Option<&Value>) -> Result<Trust, String> {
    let text = match jwks {
        Some(value) => serde_json::to_vec(value).map_err(|e| e.to_string())?,
        None => std::fs::read(docs().join("vectors/jwks.json")).map_err(|e| e.to_string())?,
    };
    Trust::from_jwks(&text).map_err(|e| e.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeySetCase {
    #[serde(rename = "about")]
    _about: String,
    jwks: Value,
    accepted: bool,
}

pub fn key_set(case: &[u8]) -> Outcome {
    let case: KeySetCase = read(case)?;
    let text = serde_json::to_vec(&case.jwks).map_err(|e| e.to_string())?;
    equal("accepted", JwkSet::parse(&text).is_ok(), case.accepted)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoodCase<'c> {
    #[serde(rename = "about")]
    _about: String,
    #[serde(borrow)]
    receipt: &'c RawValue,
}

pub fn good(case: &[u8]) -> Outcome {
    let case: GoodCase = serde_json::from_slice(case).map_err(|e| e.to_string())?;
    let verified = verify(case.receipt.get().as_bytes(), &pinned(None)?);
    verified.map(drop).map_err(|e| e.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MalformedCase<'c> {
    #[serde(rename = "refused_because")]
    _refused_because: String,
    part: String,
    answer: String,
    #[serde(borrow)]
    receipt: Option<&'c RawValue>,
    receipt_base64: Option<String>,
    jwks: Option<Value>,
}

pub fn malformed(case: &[u8]) -> Outcome {
    let case: MalformedCase = serde_json::from_slice(case).map_err(|e| e.to_string())?;
    let parts = ["payload", "signature", "entry", "proof", "checkpoint", "key", "bytes"];
    if !parts.contains(&case.part.as_str()) {
        return Err(format!("no part `{}` of a receipt", case.part));
    }
    let bytes = match (case.receipt, case.receipt_base64) {
        (Some(receipt), None) => receipt.get().as_bytes().to_vec(),
        (None, Some(text)) => STANDARD.decode(text).map_err(|e| e.to_string())?,
        _ => return Err("needs `receipt` or `receipt_base64`".into()),
    };
    let answer = match verify(&bytes, &pinned(case.jwks.as_ref())?) {
        Ok(_) => "VERIFIED",
        Err(refusal) => match refusal.class() {
            RefusalClass::Broken => "BROKEN",
            RefusalClass::Unpinned => "UNPINNED",
        },
    };
    equal("answer", answer, case.answer.as_str())
}
