//! Receipts, chains of them and whole packages, checked offline under keys that you pinned.
//!
//! Promised: [`verify_receipt`] returns only if the statement, its entry and its proof hold together under your key set.
//! Otherwise it is [`Refused`]: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right,
//! but no key that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that
//! nothing was left out of the log, or that everybody is shown the same log: for that keep receipts, see
//! [`crate::receipts`]. [`verify_package`] answers as docs/formats/package.md says; read its `not_checked`.
//! Formats and cases: docs/formats/{receipt,package}.md, docs/vectors/{receipts,malformed-receipts,packages}.

mod chain;
mod package;
mod pinned;

pub use chain::verify_chain;
pub use counterfoil_core::package::{NotChecked, Promise, Report, Verdict as PackageVerdict};
pub use counterfoil_core::receipt::{Refusal, RefusalClass, Verified};
pub use package::{PackageTrust, verify_package, verify_package_file};
pub use pinned::{KeySet, PinnedKey};

use counterfoil_core::receipt;

/// A receipt that was not accepted.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Receipt(#[from] Refusal),
    /// Each receipt verifies, and the one does not follow the other.
    #[error("{0}")]
    Chain(String),
}

impl Refused {
    #[must_use]
    pub fn class(&self) -> RefusalClass {
        match self {
            Self::Receipt(refusal) => refusal.class(),
            Self::Chain(_) => RefusalClass::Broken,
        }
    }

    /// BROKEN or UNPINNED.
    #[must_use]
    pub fn answer(&self) -> &'static str {
        match self.class() {
            RefusalClass::Broken => "BROKEN",
            RefusalClass::Unpinned => "UNPINNED",
        }
    }

    /// As the program `counterfoil verify` exits.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.class() {
            RefusalClass::Broken => 40,
            RefusalClass::Unpinned => 50,
        }
    }
}

/// Checks one receipt, as text.
pub fn verify_receipt(receipt: &[u8], pinned: &KeySet) -> Result<Verified, Refused> {
    Ok(receipt::verify(receipt, pinned.trust())?)
}
