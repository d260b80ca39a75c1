//! A matter that is still open, and what is due of its provider.

use crate::digest::Digest;
use crate::reconcile::{Duty, Matter, Status, Terms, Watch, reconcile};
use crate::statement::{FindingCode, Mode};
use crate::time::Timestamp;

/// Whether a statement is due.
#[derive(Clone, Copy, Debug)]
pub(in crate::package) enum Due {
    Known {
        terms: Terms,
    },
    /// The provider has a key; the registry that says more is not at hand.
    Unknown {
        sign_within: i64,
    },
    /// The provider has no key: it cannot sign.
    Never,
}

impl Due {
    pub(in crate::package) fn never() -> Self {
        Self::Never
    }

    pub(super) fn terms(self) -> Terms {
        match self {
            Self::Known { terms } => terms,
            Self::Unknown { sign_within } => Terms { duty: Duty::OwesNothing, sign_within },
            Self::Never => Terms::owes_nothing(),
        }
    }
}

pub(super) struct Open {
    pub(super) matter: Matter,
    pub(super) due: Due,
    /// Clearances that stand: code, and what they say came.
    pub(super) cleared: Vec<(FindingCode, Digest)>,
}

impl Open {
    /// Whether honest parties have nothing more to say.
    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        let decided = &self.matter.decided;
        if !decided.is_cleared() {
            return true;
        }
        let seen = decided.mode == Mode::Hook || self.matter.observed.is_some();
        let status = reconcile(&self.matter, self.due.terms(), Watch::Open, now).status;
        let said = !self.matter.stated.is_empty() && status != Status::Waiting;
        seen && (said || matches!(self.due, Due::Never))
    }
}
