//! `received/v1`: somebody else's bytes, wrapped. The ledger key says that they came, not that they are true.

use super::class::vocabulary;
use super::{ReceivedType, nullable};
use crate::entry::Kind;
use crate::id::ProjectId;
use crate::key::Thumbprint;
use crate::nonce::{base64url, unbase64url};
use crate::time::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

vocabulary! {
    ReceivedForm {
        ExecutionNative "execution-native", VendorWire "vendor-wire", Catalog "catalog", Webauthn "webauthn",
    }
}

impl ReceivedForm {
    pub fn kind(self) -> Kind {
        match self {
            Self::ExecutionNative | Self::VendorWire => Kind::Execution,
            Self::Catalog => Kind::Catalog,
            Self::Webauthn => Kind::Answer,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    pub typ: ReceivedType,
    pub form: ReceivedForm,
    pub signer: Signer,
    pub project: ProjectId,
    pub at: Timestamp,
    /// Whether its signature verified under a key that was valid then.
    pub holds: bool,
    pub bytes: ReceivedBytes,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// The key id as it was sent: an alias, not an identity.
    #[serde(deserialize_with = "nullable")]
    pub kid: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub thumbprint: Option<Thumbprint>,
}

/// The bytes exactly as they arrived; base64url in JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReceivedBytes(pub Vec<u8>);

impl Serialize for ReceivedBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64url(&self.0))
    }
}

impl<'de> Deserialize<'de> for ReceivedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unbase64url(&text).map(Self).ok_or_else(|| D::Error::custom("bytes are not base64url"))
    }
}
