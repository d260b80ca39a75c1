//! The six-field execution statement of the vendor wire.
//!
//!     {"action_id":"act_…","decision_id":"dec_<hex of the decision's digest>","outcome":"EXECUTED","result_hash":null,
//!      "error_code":null,"executed_at":"…","signature":{"kid":"k1","alg":"Ed25519","value":"<base64url>"}}
//!
//! The signature is over JCS of the body without `signature`. `decision_id` is made of the digest, so the content is
//! bound. Ids are texts here: one that is none of ours names an action that does not exist, and is no malformed body.

use super::execution::{ErrorCode, Outcome};
use super::nullable;
use crate::digest::{Digest, unhex};
use crate::envelope::{Alg, SignatureBytes};
use crate::id::ActionId;
use serde::{Deserialize, Serialize};

/// Longest text of a member, in bytes: the ids have 36 and 68.
const MAX_TEXT: usize = 128;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VendorExecution {
    pub action_id: String,
    pub decision_id: String,
    pub outcome: Outcome,
    /// A bare hash of the vendor's: committed before it is shown, never compared.
    #[serde(deserialize_with = "nullable")]
    pub result_hash: Option<Digest>,
    #[serde(deserialize_with = "nullable")]
    pub error_code: Option<ErrorCode>,
    /// A claim, in the vendor's own spelling.
    pub executed_at: String,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VendorSignature {
    /// An alias, not an identity.
    pub kid: String,
    pub alg: Alg,
    pub value: SignatureBytes,
}

impl VendorExecution {
    pub fn action(&self) -> Option<ActionId> {
        self.action_id.parse().ok()
    }

    pub fn decision(&self) -> Option<Digest> {
        self.decision_id.strip_prefix("dec_").and_then(unhex).map(Digest::from_bytes)
    }

    /// What the vendor wire calls a decision.
    pub fn decision_id(decision: &Digest) -> String {
        format!("dec_{}", decision.hex())
    }

    pub(crate) fn is_short(&self) -> bool {
        [&self.action_id, &self.decision_id, &self.executed_at].iter().all(|text| text.len() <= MAX_TEXT)
    }
}
