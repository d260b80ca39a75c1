//! Who holds a store, and how strict a boot is.

use counterfoil_core::key::Purpose;
use serde::{Deserialize, Serialize};

/// `Dev` accepts the sample keys that are published with the test vectors; `Production` refuses them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Dev,
    Production,
}

/// The service whose keys a store holds. The two hold different secrets, so whoever breaks into
/// one does not own the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    Gateway,
    Evidence,
}

impl Holder {
    /// Whether keys of this purpose may rest here.
    #[must_use]
    pub fn holds(self, purpose: Purpose) -> bool {
        match self {
            Self::Gateway => matches!(purpose, Purpose::Decision | Purpose::Capability),
            Self::Evidence => matches!(purpose, Purpose::Ledger | Purpose::Log | Purpose::Tick),
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Evidence => "evidence",
        }
    }
}
