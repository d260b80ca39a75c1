//! `observation/v1`: what the gateway saw come back. Nobody else may sign one.

use super::class::vocabulary;
use super::{Environment, ObservationType, nullable};
use crate::commitment::Commitment;
use crate::digest::Digest;
use crate::id::{ActionId, ProjectId, ProviderId, ToolName};
use crate::issuer::Issuer;
use crate::nonce::Nonce16;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

vocabulary! {
    ObservationStatus {
        Returned "returned", Error "error", Timeout "timeout", Cancelled "cancelled", Refused "refused",
        NotSent "not_sent", Asked "asked",
    }

    /// Why nothing was sent.
    ObservationReason {
        AckUnknown "ack_unknown", TooLate "too_late", Killed "killed", ClientGone "client_gone",
        NoCapability "no_capability",
    }
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    pub typ: ObservationType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub env: Environment,
    pub action: ActionId,
    /// Digest of the decision's envelope.
    pub decision: Digest,
    pub provider: ProviderId,
    pub tool: ToolName,
    pub status: ObservationStatus,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<ObservationReason>,
    /// The `isError` of a result that came back; null where none did.
    #[serde(deserialize_with = "nullable")]
    pub is_error: Option<bool>,
    #[serde(deserialize_with = "nullable")]
    pub result: Option<Commitment>,
    #[serde(deserialize_with = "nullable")]
    pub error: Option<Commitment>,
    #[serde(deserialize_with = "nullable")]
    pub sent_at: Option<Timestamp>,
    pub at: Timestamp,
    pub nonce: Nonce16,
}
