//! Is this acknowledgement one? Asked of every answer before anything is forwarded.
//!
//! Promised: the first receipt of a batch is verified as a stranger would, from its bytes, under pinned keys. Others
//! of the batch that stand under the same checkpoint are held to it: same bytes as we signed, an entry that is theirs,
//! and a path to the root that was just verified. Whatever does not fit is verified in full, and refused there.

use super::{Acknowledged, Fate};
use crate::control::Control;
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Kind;
use counterfoil_core::id::ProjectId;
use counterfoil_core::receipt::{self, LogProof, Receipt, Refusal, is_skewed};
use counterfoil_core::record::{ItemAnswer, Recorded};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree;
use std::time::Instant;

/// What an acknowledgement must be of.
pub struct Expected {
    pub project: ProjectId,
    pub digest: Digest,
    /// The signed envelope as we sent it.
    pub statement: String,
    pub decided_at: Timestamp,
}

/// Checks the answers of one batch.
pub struct Checker<'a> {
    control: Option<&'a Control>,
    asked_at: Instant,
    held: Option<Held>,
}

/// A checkpoint of this batch whose signature held.
struct Held {
    note: String,
    checkpoint: Checkpoint,
}

#[derive(Debug, thiserror::Error)]
enum NotAReceipt {
    #[error("answer names another statement")]
    OtherStatement,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("control is not known")]
    NoKeys,
}

impl<'a> Checker<'a> {
    pub fn of_batch(asked_at: Instant, control: Option<&'a Control>) -> Self {
        Self { control, asked_at, held: None }
    }

    /// What the answer to a decision's item means.
    pub fn fate(&mut self, answer: ItemAnswer, expected: &Expected) -> Fate {
        match answer {
            ItemAnswer::Recorded(recorded) | ItemAnswer::Duplicate(recorded) => {
                match self.check(&recorded, expected) {
                    Ok(()) => Fate::Recorded(Box::new(Acknowledged {
                        receipt: recorded.receipt,
                        asked_at: self.asked_at,
                    })),
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

    fn check(&mut self, recorded: &Recorded, expected: &Expected) -> Result<(), NotAReceipt> {
        let receipt = &recorded.receipt;
        if recorded.digest != expected.digest || receipt.statement() != expected.statement {
            return Err(NotAReceipt::OtherStatement);
        }
        if self.held.as_ref().is_some_and(|held| held.holds(receipt, expected)) {
            return Ok(());
        }
        let control = self.control.ok_or(NotAReceipt::NoKeys)?;
        let verified = receipt::verify(&receipt.bytes(), &control.trust)?;
        if verified.digest != expected.digest || verified.entry.kind != Kind::Decision {
            return Err(NotAReceipt::OtherStatement);
        }
        self.held = LogProof::parse(receipt.proof())
            .ok()
            .map(|proof| Held { note: proof.checkpoint, checkpoint: verified.checkpoint });
        Ok(())
    }
}

impl Held {
    fn holds(&self, receipt: &Receipt, expected: &Expected) -> bool {
        let entry = receipt.entry();
        let is_ours = entry.project == expected.project
            && entry.body == expected.digest
            && entry.kind == Kind::Decision
            && entry.epoch == entry.at.epoch()
            && entry.seq > 0
            && !is_skewed(expected.decided_at, entry.at);
        let Ok(proof) = LogProof::parse(receipt.proof()) else {
            return false;
        };
        let (size, root) = (self.checkpoint.size, &self.checkpoint.root);
        is_ours
            && proof.index == entry.seq
            && proof.checkpoint == self.note
            && tree::verify_inclusion(&entry.leaf_hash(), proof.index, size, &proof.path, root).is_ok()
    }
}

#[cfg(test)]
mod tests;
