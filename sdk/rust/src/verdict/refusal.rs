//! The ways to hear no.

use super::decision::Decided;
use crate::execution::SignError;
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $code:literal;)*) => {
        /// Why there is no verdict.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum NoVerdictCode {
            $($(#[$doc])* $name,)*
        }

        impl NoVerdictCode {
            /// For machines. The words are the same in every SDK.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

codes! {
    /// Nobody answered in time, three times.
    Unanswered "unanswered";
    /// Nobody answered five times in a row, so nobody is asked for a while.
    Resting "resting";
    /// The gateway did not take the question.
    Rejected "rejected";
    /// The answer does not read, or contradicts its own receipt.
    Malformed "malformed";
    /// No receipt that verifies under the pinned keys.
    Unsigned "unsigned";
    /// Decided too long ago, or in the future.
    Expired "expired";
    /// Signed, and about another call.
    OtherAction "other_action";
    /// Signed, and used for another call before.
    Replayed "replayed";
}

impl fmt::Display for NoVerdictCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no verdict: do nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no verdict ({code}): {detail}")]
pub struct NoVerdict {
    code: NoVerdictCode,
    detail: String,
}

impl NoVerdict {
    pub(super) fn new(code: NoVerdictCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    #[must_use]
    pub fn code(&self) -> NoVerdictCode {
        self.code
    }
}

/// What guarded work came to instead of its result.
#[derive(Debug, thiserror::Error)]
pub enum GuardError<E> {
    /// Nothing ran.
    #[error(transparent)]
    NoVerdict(#[from] NoVerdict),
    /// Nothing ran: there is a verdict, and it does not clear the call. It says what it asks for.
    #[error("not cleared: {} ({})", .0.verdict(), .0.reason())]
    NotCleared(Box<Decided>),
    /// The work ran, and failed by its own word.
    #[error("{0}")]
    Work(E),
}

/// A statement that was not made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StatementError {
    #[error("a report needs an execution key")]
    NoSigner,
    #[error("the result has no canonical form")]
    NotBindable,
    #[error(transparent)]
    Sign(#[from] SignError),
}
