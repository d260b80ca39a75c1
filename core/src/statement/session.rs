//! `session/v1`: a vendor declared a session, or closed it.
//!
//! What the vendor says of it stands as commitments: their openings are sealed to the project's disclosure key. The hash of
//! the entry that opens a session is the first that its actions may name before them. Source: docs/formats/session.md.

use super::class::vocabulary;
use super::{SessionType, nullable};
use crate::commitment::Commitment;
use crate::id::{AgentId, KeyId, ProjectId, SessionId};
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

vocabulary! {
    SessionEvent { Opened "opened", Closed "closed", }
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub typ: SessionType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub session: SessionId,
    pub event: SessionEvent,
    /// The API key that declared or closed it.
    pub via: KeyId,
    /// Whose key that is: what the vendor calls its agent is in `declared`.
    pub agent: AgentId,
    /// The vendor's own id of the session; null, like what follows, where it closes.
    #[serde(deserialize_with = "nullable")]
    pub external: Option<Commitment>,
    /// The document that declared it, as the vendor sent it.
    #[serde(deserialize_with = "nullable")]
    pub declared: Option<Commitment>,
    /// `principal.ref`.
    #[serde(deserialize_with = "nullable")]
    pub principal: Option<Commitment>,
    /// `original_request.hash`.
    #[serde(deserialize_with = "nullable")]
    pub request: Option<Commitment>,
    /// `task.ref`.
    #[serde(deserialize_with = "nullable")]
    pub task: Option<Commitment>,
    /// `grant.hash`.
    #[serde(deserialize_with = "nullable")]
    pub grant: Option<Commitment>,
    /// The session of the same key that it is a part of; null where it is none, or names one that is not here.
    #[serde(deserialize_with = "nullable")]
    pub parent: Option<SessionId>,
    /// A claim.
    #[serde(deserialize_with = "nullable")]
    pub started_at: Option<Timestamp>,
}
