//! `execution/v1`: what the provider says it did, signed with the provider's own key.
//!
//! Promised: a statement that reads has exactly the members of docs/formats/execution.md and one provider throughout.
//! Not promised: that it is true. Its times are claims: shown, and never the input of a finding.
//! It is no body of an entry by itself: what we did not make stands there wrapped, as `received/v1`.

use super::class::vocabulary;
use super::{ExecutionType, nullable};
use crate::commitment::Commitment;
use crate::digest::Digest;
use crate::id::{ActionId, IdError, ProjectId, ProviderId, ToolName};
use crate::nonce::Nonce16;
use crate::time::Timestamp;
use crate::tree::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

vocabulary! {
    /// What became of the call, in the provider's word.
    Outcome {
        Executed "EXECUTED", Skipped "SKIPPED", Failed "FAILED", Blocked "BLOCKED", Escalated "ESCALATED",
        Abandoned "ABANDONED", NotAttempted "NOT_ATTEMPTED",
    }
}

impl Outcome {
    /// Whether the tool ran, well or badly.
    pub fn ran(self) -> bool {
        match self {
            Self::Executed | Self::Failed => true,
            Self::Skipped | Self::Blocked | Self::Escalated | Self::Abandoned | Self::NotAttempted => false,
        }
    }
}

/// A code of the provider's own, `[A-Za-z0-9_.-]{1,64}`. Public, so it has no room for a sentence.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ErrorCode(String);

impl ErrorCode {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ErrorCode {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let code = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
        if code {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::new(text, "an error code of 1 to 64 characters A-Z a-z 0-9 _ . -"))
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The largest checkpoint that the provider holds: a claim, only the signed note is proof.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SeenCheckpoint {
    pub size: u64,
    pub root: Hash,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    pub typ: ExecutionType,
    /// The provider's id: the same as `provider`.
    pub iss: ProviderId,
    pub project: ProjectId,
    pub action: ActionId,
    pub provider: ProviderId,
    pub tool: ToolName,
    /// Digest of the decision's envelope.
    pub decision: Digest,
    /// The `jti` of the capability that came with the call; null where none is demanded.
    #[serde(deserialize_with = "nullable")]
    pub capability: Option<Nonce16>,
    /// What the provider computed itself from the wire; null where it cannot be compared.
    #[serde(deserialize_with = "nullable")]
    pub args: Option<Commitment>,
    pub outcome: Outcome,
    #[serde(deserialize_with = "nullable")]
    pub result: Option<Commitment>,
    #[serde(deserialize_with = "nullable")]
    pub error_code: Option<ErrorCode>,
    /// A commitment; its opening is sent beside the statement.
    #[serde(deserialize_with = "nullable")]
    pub charged: Option<Commitment>,
    /// Null where nothing was started.
    #[serde(deserialize_with = "nullable")]
    pub started_at: Option<Timestamp>,
    pub executed_at: Timestamp,
    pub nonce: Nonce16,
    #[serde(deserialize_with = "nullable")]
    pub seen: Option<SeenCheckpoint>,
}
