//! Coverage as it is claimed, and tombstones: what the record says about its own reach and its own gaps.

use super::class::vocabulary;
use super::ledger::Authorization;
use super::public_text::PublicText;
use super::{CoverageType, TombstoneType, nullable};
use crate::id::{ProjectId, ProviderId};
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

vocabulary! {
    /// How much of what goes to a provider comes by the gateway.
    Share { All "all", Some "some", None "none", Unknown "unknown", }

    /// How that is known. A declared share is an operator's word.
    Basis { Declared "declared", Measured "measured", Probed "probed", }

    /// Why bodies were emptied.
    Removal { Retention "retention", Request "request", Archive "archive", }
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderCoverage {
    pub provider: ProviderId,
    pub share: Share,
    pub basis: Basis,
}

/// `coverage/v1`: which providers can be reached around the gateway, as far as anybody says. It changes nothing that
/// decides, so it carries the numbers in force and counts none up.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    pub typ: CoverageType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    pub providers: Vec<ProviderCoverage>,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<PublicText>,
}

/// `tombstone/v1`: bodies of entries `first` to `last`, all of one day, may be absent from here on.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tombstone {
    pub typ: TombstoneType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub behalf: String,
    pub removal: Removal,
    /// The UTC day of the entries, `2026-11-30`.
    pub epoch: String,
    pub first: u64,
    pub last: u64,
}
