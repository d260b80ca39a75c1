//! Executions as they arrive.

use crate::{Outcome, equal, read};
use counterfoil_core::digest::Digest;
use counterfoil_core::execution::Submitted;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::PublicKey;
use counterfoil_core::statement::ReceivedForm;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Reads(Box<Reads>),
    Refused(Refused),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reads {
    #[serde(rename = "about")]
    _about: String,
    form: ReceivedForm,
    text: String,
    key: String,
    holds: bool,
    action: Option<ActionId>,
    decision: Option<Digest>,
    fingerprint: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    #[serde(rename = "refused_because")]
    _refused_because: String,
    form: ReceivedForm,
    text: String,
}

pub fn execution(case: &[u8]) -> Outcome {
    match read(case)? {
        Case::Refused(case) => match Submitted::parse(case.form, case.text.as_bytes()) {
            Ok(submitted) => Err(format!("accepted: {:?}", submitted.said())),
            Err(_) => Ok(()),
        },
        Case::Reads(case) => {
            let submitted =
                Submitted::parse(case.form, case.text.as_bytes()).map_err(|error| error.to_string())?;
            let key = PublicKey::parse(&case.key).map_err(|error| error.to_string())?;
            equal("holds", submitted.verify(&key).is_ok(), case.holds)?;
            equal("action", submitted.action(), case.action)?;
            equal("decision", submitted.decision(), case.decision)?;
            equal("fingerprint", submitted.fingerprint(), case.fingerprint)
        }
    }
}
