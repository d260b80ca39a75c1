//! Why a receipt was not accepted, one reason for each way to be wrong.

use crate::checkpoint::CheckpointError;
use crate::digest::Digest;
use crate::entry::Kind;
use crate::envelope::EnvelopeError;
use crate::issuer::Issuer;
use crate::json::JsonError;
use crate::key::{Purpose, Thumbprint};
use crate::receipt::LogProofError;
use crate::statement::StatementError;
use crate::time::Timestamp;
use crate::tree::ProofError;

/// What a refusal means for the holder. The program's exit codes are 40 and 50.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RefusalClass {
    /// The receipt contradicts itself or the pinned keys.
    Broken,
    /// It may be right, but the keys that would show it are not among those pinned.
    Unpinned,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("receipt: {0}")]
    Json(#[from] JsonError),
    #[error("receipt does not read as {{typ, statement, entry, proof}}: {0}")]
    Shape(String),
    #[error("statement: {0}")]
    Envelope(#[from] EnvelopeError),
    #[error("statement: {0}")]
    Statement(#[from] StatementError),
    #[error("statement is signed by key `{0}`, which is not pinned")]
    UnknownKey(Thumbprint),
    #[error("statement needs a key of purpose {wanted}; `{kid}` is pinned for {found}")]
    OtherPurpose { kid: Thumbprint, wanted: Purpose, found: Purpose },
    #[error("key `{kid}` did not count at {at}")]
    KeyNotValid { kid: Thumbprint, at: Timestamp },
    #[error("signature of the statement does not hold under key `{0}`")]
    BadSignature(Thumbprint),
    #[error("statement was issued by `{found}`, not by the pinned `{pinned}`")]
    OtherIssuer { found: Issuer, pinned: Issuer },
    #[error("entry belongs to another project than the statement")]
    OtherProject,
    #[error("entry.body is `{named}`, the statement's digest is `{found}`")]
    OtherBody { named: Digest, found: Digest },
    #[error("entry.kind is `{named}`, the statement is of kind `{found}`")]
    OtherKind { named: Kind, found: Kind },
    #[error("entry.epoch is `{0}`, not the day of entry.at")]
    OtherEpoch(String),
    #[error("first entry follows `{0}`, not the start of its project's chain")]
    NotGenesis(Digest),
    #[error("decision of {decided} stands in an entry of {entered}: more than 2 s ahead or 15 s behind")]
    Skew { decided: Timestamp, entered: Timestamp },
    #[error(transparent)]
    Proof(#[from] LogProofError),
    #[error("proof is for index {index}, the entry is number {seq}")]
    OtherIndex { index: u64, seq: u64 },
    #[error("checkpoint: {0}")]
    Checkpoint(CheckpointError),
    #[error("checkpoint is of log `{found}`, not of `{pinned}`")]
    OtherOrigin { found: String, pinned: String },
    #[error("checkpoint is signed by key `{0}`, which is pinned for another purpose than log")]
    CheckpointOtherPurpose(Thumbprint),
    #[error("checkpoint is not signed by a pinned log key")]
    UnknownLogKey,
    #[error("inclusion: {0}")]
    Inclusion(#[from] ProofError),
}

impl Refusal {
    pub fn class(&self) -> RefusalClass {
        match self {
            Self::UnknownKey(_) | Self::UnknownLogKey | Self::OtherIssuer { .. } => RefusalClass::Unpinned,
            Self::Json(_)
            | Self::Shape(_)
            | Self::Envelope(_)
            | Self::Statement(_)
            | Self::OtherPurpose { .. }
            | Self::KeyNotValid { .. }
            | Self::BadSignature(_)
            | Self::OtherProject
            | Self::OtherBody { .. }
            | Self::OtherKind { .. }
            | Self::OtherEpoch(_)
            | Self::NotGenesis(_)
            | Self::Skew { .. }
            | Self::Proof(_)
            | Self::OtherIndex { .. }
            | Self::Checkpoint(_)
            | Self::OtherOrigin { .. }
            | Self::CheckpointOtherPurpose(_)
            | Self::Inclusion(_) => RefusalClass::Broken,
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Shape(_) => "shape",
            Self::Envelope(_) => "envelope",
            Self::Statement(_) => "statement",
            Self::UnknownKey(_) => "unknown_key",
            Self::OtherPurpose { .. } => "other_purpose",
            Self::KeyNotValid { .. } => "key_not_valid",
            Self::BadSignature(_) => "bad_signature",
            Self::OtherIssuer { .. } => "other_issuer",
            Self::OtherProject => "other_project",
            Self::OtherBody { .. } => "other_body",
            Self::OtherKind { .. } => "other_kind",
            Self::OtherEpoch(_) => "other_epoch",
            Self::NotGenesis(_) => "not_genesis",
            Self::Skew { .. } => "skew",
            Self::Proof(_) => "proof",
            Self::OtherIndex { .. } => "other_index",
            Self::Checkpoint(_) => "checkpoint",
            Self::OtherOrigin { .. } => "other_origin",
            Self::CheckpointOtherPurpose(_) => "checkpoint_other_purpose",
            Self::UnknownLogKey => "unknown_log_key",
            Self::Inclusion(_) => "inclusion",
        }
    }
}
