//! What the evidence service states about disagreements: findings, what closes them, and people's notes on them.

use super::class::vocabulary;
use super::ledger::Authorization;
use super::public_text::PublicText;
use super::{ClearanceType, FindingType, ResolutionType, nullable};
use crate::digest::Digest;
use crate::id::{ActionId, ProjectId};
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

vocabulary! {
    FindingCode {
        ExecutionWithoutDecision "EXECUTION_WITHOUT_DECISION", InvalidVendorSignature "INVALID_VENDOR_SIGNATURE",
        RevokedKey "REVOKED_KEY", WrongSigner "WRONG_SIGNER", DuplicateExecution "DUPLICATE_EXECUTION",
        ContradictingExecutions "CONTRADICTING_EXECUTIONS", ArgumentsDiffer "ARGUMENTS_DIFFER",
        ResultDiffers "RESULT_DIFFERS", ChargeMismatch "CHARGE_MISMATCH",
        ExecutedAgainstVerdict "EXECUTED_AGAINST_VERDICT",
        StatementContradictsObservation "STATEMENT_CONTRADICTS_OBSERVATION", OutcomeUnknown "OUTCOME_UNKNOWN",
        MissingExecution "MISSING_EXECUTION", LateExecution "LATE_EXECUTION", BrokenChain "BROKEN_CHAIN",
        ToolChanged "TOOL_CHANGED", SecretEcho "SECRET_ECHO", Backdated "BACKDATED", SeenDiffers "SEEN_DIFFERS",
        CatalogSignature "CATALOG_SIGNATURE", UnknownPrevious "UNKNOWN_PREVIOUS",
    }
}

/// `finding/v1`: a disagreement.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub typ: FindingType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub code: FindingCode,
    #[serde(deserialize_with = "nullable")]
    pub action: Option<ActionId>,
    /// Digest of the body that it is about.
    #[serde(deserialize_with = "nullable")]
    pub statement: Option<Digest>,
    /// Number of the entry that it is about.
    #[serde(deserialize_with = "nullable")]
    pub seq: Option<u64>,
}

/// `clearance/v1`: what a finding missed came after all. The finding stays where it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clearance {
    pub typ: ClearanceType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    /// Digest of the finding's envelope.
    pub finding: Digest,
    pub code: FindingCode,
    pub action: ActionId,
    /// Digest of the body that came late.
    pub statement: Digest,
    /// Number of its entry.
    pub seq: u64,
}

/// `resolution/v1`: a person's note on a finding. It never hides the finding.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    pub typ: ResolutionType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    /// Digest of the finding's envelope.
    pub finding: Digest,
    pub note: PublicText,
}
