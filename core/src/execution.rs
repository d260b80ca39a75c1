//! Executions as they arrive: somebody else's bytes in one of two forms, read back out of `received/v1`.
//!
//! Promised: bytes that read have one reading, whichever form they are in; the fingerprint says whether two of them
//! say the same. Not promised: a signature. [`Submitted::verify`] takes the key; which keys count where is the
//! ledger's affair. Forms: docs/formats/execution.md.

use crate::digest::Digest;
use crate::envelope::{Envelope, EnvelopeError, SignatureBytes};
use crate::id::ActionId;
use crate::json::{self, JsonError, MAX_STRICT, Profile, canonical};
use crate::key::{BadSignature, PublicKey};
use crate::statement::{Execution, Outcome, Received, ReceivedForm, VendorExecution, VendorSignature};
use serde::Deserialize;
use serde_json::Value;

/// Largest six-field statement, in bytes. An honest one has 500.
pub const MAX_VENDOR_EXECUTION: usize = 4 * 1024;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ExecutionError {
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("execution does not read: {0}")]
    Shape(String),
    #[error("`{0}` is not execution/v1")]
    OtherType(String),
    #[error("issued by `{iss}` about what `{provider}` did")]
    OtherProvider { iss: String, provider: String },
    #[error("`{0}` is not a form of execution")]
    OtherForm(ReceivedForm),
}

/// What the statement says, in either form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Said {
    Native(Box<Execution>),
    Vendor(Box<VendorExecution>),
}

/// An execution that was read; its signature is not yet believed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Submitted {
    said: Said,
    kid: String,
    signed: Vec<u8>,
    signature: SignatureBytes,
}

impl Submitted {
    /// Reads what was wrapped; `Ok(None)` if it is no execution at all.
    pub fn unwrap(received: &Received) -> Result<Option<Self>, ExecutionError> {
        match received.form {
            ReceivedForm::ExecutionNative | ReceivedForm::VendorWire => {
                Self::parse(received.form, &received.bytes.0).map(Some)
            }
            ReceivedForm::Catalog | ReceivedForm::Webauthn => Ok(None),
        }
    }

    pub fn parse(form: ReceivedForm, bytes: &[u8]) -> Result<Self, ExecutionError> {
        match form {
            ReceivedForm::ExecutionNative => Self::native(bytes),
            ReceivedForm::VendorWire => Self::vendor(bytes),
            ReceivedForm::Catalog | ReceivedForm::Webauthn => Err(ExecutionError::OtherForm(form)),
        }
    }

    fn native(bytes: &[u8]) -> Result<Self, ExecutionError> {
        // An envelope may be as long as `received/v1`; this one stands inside of one.
        let value = json::parse_within(bytes, Profile::Strict, MAX_STRICT)?;
        let envelope = Envelope::from_value(value)?;
        match envelope.typ()? {
            "execution/v1" => {}
            other => return Err(ExecutionError::OtherType(other.to_owned())),
        }
        let said = Execution::deserialize(envelope.payload())
            .map_err(|error| ExecutionError::Shape(error.to_string()))?;
        if said.iss != said.provider {
            let (iss, provider) = (said.iss.to_string(), said.provider.to_string());
            return Err(ExecutionError::OtherProvider { iss, provider });
        }
        Ok(Self {
            said: Said::Native(Box::new(said)),
            kid: envelope.kid().to_string(),
            signed: envelope.payload_bytes().to_vec(),
            signature: envelope.signature(),
        })
    }

    fn vendor(bytes: &[u8]) -> Result<Self, ExecutionError> {
        let shape = |error: serde_json::Error| ExecutionError::Shape(error.to_string());
        let mut body = json::parse_within(bytes, Profile::Foreign, MAX_VENDOR_EXECUTION)?;
        let signature = body.as_object_mut().and_then(|members| members.remove("signature"));
        let signature = signature.ok_or_else(|| ExecutionError::Shape("no `signature`".to_owned()))?;
        let signature: VendorSignature = serde_json::from_value(signature).map_err(shape)?;
        let said = VendorExecution::deserialize(&body).map_err(shape)?;
        if !said.is_short() {
            return Err(ExecutionError::Shape("a member is longer than 128 bytes".to_owned()));
        }
        Ok(Self {
            said: Said::Vendor(Box::new(said)),
            kid: signature.kid,
            signed: canonical::<Value>(&body),
            signature: signature.value,
        })
    }

    pub fn said(&self) -> &Said {
        &self.said
    }

    /// The key id as it was sent: a thumbprint in the native form, an alias in the vendor's.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    pub fn verify(&self, key: &PublicKey) -> Result<(), BadSignature> {
        key.verify(&self.signed, &self.signature.0)
    }

    /// The action that it names; `None` if the id is none of ours.
    pub fn action(&self) -> Option<ActionId> {
        match &self.said {
            Said::Native(said) => Some(said.action),
            Said::Vendor(said) => said.action(),
        }
    }

    /// Digest of the decision that it names; `None` if the id is none of ours.
    pub fn decision(&self) -> Option<Digest> {
        match &self.said {
            Said::Native(said) => Some(said.decision),
            Said::Vendor(said) => said.decision(),
        }
    }

    pub fn outcome(&self) -> Outcome {
        match &self.said {
            Said::Native(said) => said.outcome,
            Said::Vendor(said) => said.outcome,
        }
    }

    /// Two statements of one fingerprint say the same: SHA-256 of JCS [action, decision, outcome, result].
    pub fn fingerprint(&self) -> Digest {
        let document = match &self.said {
            Said::Native(said) => {
                canonical(&(said.action, said.decision, said.outcome, said.result.map(|r| r.to_string())))
            }
            Said::Vendor(said) => {
                canonical(&(&said.action_id, &said.decision_id, said.outcome, said.result_hash))
            }
        };
        Digest::of(&document)
    }
}

#[cfg(test)]
mod tests;
