//! Receipts: a statement, its entry, and the proof that the entry stands in the log.
//!
//!     {"typ":"receipt/v1","statement":{"payload":…,"signature":…},"entry":{…},"proof":"c2sp.org/tlog-proof@v1\nindex 41\n…"}
//!
//! Promised: a receipt that [`verify`] accepts was signed by keys that the holder pinned, and its log had at least
//! seq + 1 entries with this one at seq. Not promised: that the call was allowed. A signed DENY verifies, and says DENY.

mod proof;
mod refusal;
mod verify;

pub use proof::{LogProof, LogProofError};
pub use refusal::{Refusal, RefusalClass};
pub(crate) use verify::counts_at;
pub use verify::{Trust, Verified, is_skewed, signed_checkpoint, verify};

use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::entry::Entry;
use crate::id::ActionId;
use crate::statement::Verdict;
use crate::tree::Hash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
enum ReceiptType {
    #[default]
    #[serde(rename = "receipt/v1")]
    V1,
}

/// A receipt as bytes that travel. Nothing in it is checked until [`verify`] is asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    typ: ReceiptType,
    statement: Box<RawValue>,
    entry: Entry,
    proof: String,
}

impl Receipt {
    /// Puts together what one append produced: the envelope's bytes, its entry, its inclusion path and the signed
    /// checkpoint that the path leads to. `None` if `statement` is not JSON.
    pub fn new(statement: &[u8], entry: Entry, path: &[Hash], checkpoint: &str) -> Option<Self> {
        let statement = String::from_utf8(statement.to_vec()).ok()?;
        let proof = LogProof { index: entry.seq, path: path.to_vec(), checkpoint: checkpoint.to_owned() };
        Some(Self {
            typ: ReceiptType::V1,
            statement: RawValue::from_string(statement).ok()?,
            entry,
            proof: proof.to_string(),
        })
    }

    pub fn statement(&self) -> &str {
        self.statement.get()
    }

    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    pub fn proof(&self) -> &str {
        &self.proof
    }

    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a receipt has string keys only")
    }

    /// The size and root that the receipt was issued under, believing nothing.
    pub fn claimed_checkpoint(&self) -> Option<Checkpoint> {
        let proof = LogProof::parse(&self.proof).ok()?;
        let note = crate::note::Note::parse(&proof.checkpoint).ok()?;
        Checkpoint::parse(&note).ok()
    }
}

/// What a tool result carries by default in `_meta["dev.counterfoil/receipt"]`: enough to fetch the receipt.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptRef {
    typ: ReceiptRefType,
    pub action: ActionId,
    pub verdict: Verdict,
    pub seq: u64,
    /// Digest of the decision's envelope.
    pub digest: Digest,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
enum ReceiptRefType {
    #[default]
    #[serde(rename = "receipt-ref/v1")]
    V1,
}

impl ReceiptRef {
    pub fn new(action: ActionId, verdict: Verdict, seq: u64, digest: Digest) -> Self {
        Self { typ: ReceiptRefType::V1, action, verdict, seq, digest }
    }
}

#[cfg(test)]
mod tests;
