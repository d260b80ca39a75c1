//! What a provider did when it was called with capabilities that it must refuse.

use super::ProbeType;
use super::class::vocabulary;
use crate::id::{ProjectId, ProviderId, ToolName};
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

vocabulary! {
    /// What a probe presents instead of a fresh capability of its own call. [`crate::probe`] makes each of them.
    ProbeCase {
        Missing "missing", Receipt "receipt", Oversized "oversized", AlgNone "alg_none", Hmac "hmac",
        OtherType "other_type", CriticalHeader "critical_header", UnknownKey "unknown_key", ForgedKey "forged_key",
        OtherIssuer "other_issuer", OtherAudience "other_audience", OtherEnvironment "other_environment",
        Expired "expired", NotYet "not_yet", TooLong "too_long", OtherTool "other_tool",
        ChangedArgument "changed_argument", Replayed "replayed",
    }

    /// What came back: an error that says that the capability was refused; a result, so that nothing stood between the call
    /// and the tool; another error or no answer, so that it may have been refused or tried.
    ProbeOutcome { Refused "refused", Passed "passed", Unclear "unclear", }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    pub case: ProbeCase,
    pub outcome: ProbeOutcome,
}

/// `probe/v1`: a gateway called a tool that its operator marked harmless, once a case, and this came back. The gateway's
/// word, attested by the ledger: the provider signed nothing of it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    pub typ: ProbeType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub behalf: String,
    pub provider: ProviderId,
    pub tool: ToolName,
    /// When the gateway says that it began, on ledger time.
    pub began_at: Timestamp,
    pub cases: Vec<Tried>,
}

impl Probe {
    pub fn count(&self, outcome: ProbeOutcome) -> usize {
        self.cases.iter().filter(|tried| tried.outcome == outcome).count()
    }
}
