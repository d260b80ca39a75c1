//! One statement as it was sent, read strictly, nothing about its signature known yet. Pure.

use std::fmt;

use counterfoil_core::digest::Digest;
use counterfoil_core::execution::{ExecutionError, Submitted};
use counterfoil_core::id::{KeyId, ProjectId, ProviderId, looks_like_an_address};
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::Thumbprint;
use counterfoil_core::statement::{Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer};
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

/// Largest body that is read. A payload ends at 64 KiB; the signature and whitespace get half as much again.
pub(crate) const LARGEST_SUBMISSION: usize = 96 * 1024;
/// Longer key ids are nobody's, and would be public.
const LONGEST_KID: usize = 128;

/// Who handed it in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Sender {
    Key(KeyId),
    /// A gateway found it in a result of this provider's.
    Provider(ProviderId),
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => key.fmt(f),
            Self::Provider(provider) => write!(f, "provider:{provider}"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Submission {
    pub(super) sender: Sender,
    pub(super) form: ReceivedForm,
    pub(super) submitted: Submitted,
    pub(super) digest: Digest,
    bytes: Vec<u8>,
}

impl Submission {
    /// A body with a `payload` is an envelope, any other the six-field form.
    pub(crate) fn read(bytes: Vec<u8>, sender: Sender) -> Result<Self, ExecutionError> {
        let document = json::parse_within(&bytes, Profile::Foreign, LARGEST_SUBMISSION)?;
        let form = match document.get("payload") {
            Some(_) => ReceivedForm::ExecutionNative,
            None => ReceivedForm::VendorWire,
        };
        Self::read_as(form, bytes, sender)
    }

    pub(crate) fn read_as(
        form: ReceivedForm,
        bytes: Vec<u8>,
        sender: Sender,
    ) -> Result<Self, ExecutionError> {
        let submitted = Submitted::parse(form, &bytes)?;
        Ok(Self { sender, form, submitted, digest: Digest::of(&bytes), bytes })
    }

    /// Digest of the bytes as they came.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// All zero where the statement names no id of ours: a column that is null finds nothing.
    pub(super) fn action(&self) -> Uuid {
        self.submitted.action().map_or(Uuid::nil(), |action| action.uuid())
    }

    /// What the ledger says of it.
    pub(super) fn wrapped(
        &self,
        project: ProjectId,
        at: Timestamp,
        thumbprint: Option<Thumbprint>,
        holds: bool,
    ) -> Received {
        Received {
            typ: ReceivedType::V1,
            form: self.form,
            signer: Signer { kid: self.shown_kid(), thumbprint },
            project,
            at,
            holds,
            bytes: ReceivedBytes(self.bytes.clone()),
        }
    }

    /// The signer stands in public beside a body that does not, so what looks like a person's address is left out.
    fn shown_kid(&self) -> Option<String> {
        let kid = self.submitted.kid();
        let plain = (1..=LONGEST_KID).contains(&kid.len()) && kid.bytes().all(|b| b.is_ascii_graphic());
        (plain && !looks_like_an_address(kid)).then(|| kid.to_owned())
    }
}
