//! Is this acknowledgement one? Asked of every answer before anything is forwarded.

use super::{Acknowledged, Fate};
use crate::control::Control;
use counterfoil_core::digest::Digest;
use counterfoil_core::receipt::{self, Refusal};
use counterfoil_core::record::{ItemAnswer, Recorded};
use std::time::Instant;

#[derive(Debug, thiserror::Error)]
pub enum NotAReceipt {
    #[error("answer names another statement")]
    OtherStatement,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("control is not known")]
    NoKeys,
}

/// What the answer to a decision's item means.
pub fn fate(digest: Digest, answer: ItemAnswer, control: Option<&Control>, asked_at: Instant) -> Fate {
    match answer {
        ItemAnswer::Recorded(recorded) | ItemAnswer::Duplicate(recorded) => {
            match check(digest, recorded, control, asked_at) {
                Ok(acknowledged) => Fate::Recorded(Box::new(acknowledged)),
                Err(error) => {
                    tracing::error!(%error, "acknowledgement does not hold");
                    Fate::InDoubt
                }
            }
        }
        ItemAnswer::Refused { reason, .. } => Fate::Refused(reason),
        ItemAnswer::Unknown { .. } => Fate::InDoubt,
        // No answer to a decision at all.
        ItemAnswer::Kept { .. } => Fate::InDoubt,
    }
}

fn check(
    digest: Digest,
    recorded: Recorded,
    control: Option<&Control>,
    asked_at: Instant,
) -> Result<Acknowledged, NotAReceipt> {
    let control = control.ok_or(NotAReceipt::NoKeys)?;
    let verified = receipt::verify(&recorded.receipt.bytes(), &control.trust)?;
    if recorded.digest != digest || verified.digest != digest {
        return Err(NotAReceipt::OtherStatement);
    }
    Ok(Acknowledged { receipt: recorded.receipt, asked_at })
}
