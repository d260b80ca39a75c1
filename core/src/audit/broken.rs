//! The first thing that is not right, and where it stands.

use crate::checkpoint::CheckpointError;
use crate::entry::Kind;
use crate::id::KeyId;
use crate::key::{Purpose, Thumbprint};
use crate::statement::SettingName;
use crate::time::Timestamp;
use crate::tree::ProofError;
use std::fmt;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct Broken {
    pub place: Place,
    pub fault: Fault,
}

/// A row and a column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    Project { column: &'static str },
    Setting { name: SettingName },
    Entry { seq: i64, column: &'static str },
    Checkpoint { size: i64, column: &'static str },
    Head { column: &'static str },
    Key { thumbprint: String, column: &'static str },
    Document { seq: i64, column: &'static str },
    Tombstone { seq: i64, column: &'static str },
    Session { key: KeyId },
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("is not there")]
    Missing,
    #[error("is there, and nothing in the chain asks for it")]
    Surplus,
    #[error("stands where {expected} is due")]
    OutOfOrder { expected: i64 },
    #[error("does not read: {0}")]
    Unreadable(String),
    #[error("is `{stored}`; the rest of the record gives `{follows}`")]
    Differs { stored: String, follows: String },
    #[error("body is not in canonical form")]
    NotCanonical,
    #[error("signature does not hold under key `{0}`")]
    Signature(Thumbprint),
    #[error("signed by key `{0}`, which no entry before this one introduced")]
    UnknownKey(Thumbprint),
    #[error("signed by key `{kid}`, which entry {seq} ended")]
    EndedKey { kid: Thumbprint, seq: i64 },
    #[error("signed by key `{kid}` of purpose {found}; {wanted} is wanted")]
    OtherPurpose { kid: Thumbprint, wanted: Purpose, found: Purpose },
    #[error("the first ledger key `{0}` is not one of those trusted")]
    UntrustedLedgerKey(Thumbprint),
    #[error("note is not signed by a trusted log key")]
    UntrustedLogKey,
    #[error("key `{0}` did not sign for its possession")]
    Possession(Thumbprint),
    #[error("key `{0}` was introduced before")]
    KeyTwice(Thumbprint),
    #[error("time is before that of the entry before, {0}")]
    TimeGoesBack(Timestamp),
    #[error("decision of {0} is more than 2 s ahead or 15 s behind its entry")]
    Skew(Timestamp),
    #[error("the day {0} was not closed by an epoch entry")]
    DayNotClosed(String),
    #[error("closes a day in the middle of it")]
    EpochOutOfPlace,
    #[error("lets a call go out {0}")]
    NotCleared(&'static str),
    #[error("gives a grant {0}")]
    NotGiven(&'static str),
    #[error("body of kind {0} is empty, and that kind cannot be erased")]
    NotErasable(Kind),
    #[error("body is empty and no tombstone covers it")]
    NoTombstone,
    #[error(transparent)]
    Inclusion(#[from] ProofError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl Fault {
    /// Two values that may be null and are not the same.
    pub(super) fn differs(stored: Option<impl fmt::Display>, follows: Option<impl fmt::Display>) -> Self {
        fn text(value: Option<impl fmt::Display>) -> String {
            value.map_or_else(|| "null".to_owned(), |value| value.to_string())
        }
        Self::Differs { stored: text(stored), follows: text(follows) }
    }
}

impl Place {
    pub(crate) fn is(self, fault: impl Into<Fault>) -> Broken {
        Broken { place: self, fault: fault.into() }
    }

    /// Fails unless what is stored is what follows from the rest.
    pub(crate) fn same<T: PartialEq + fmt::Display>(self, stored: T, follows: T) -> Result<(), Broken> {
        if stored == follows {
            return Ok(());
        }
        Err(self.is(Fault::Differs { stored: stored.to_string(), follows: follows.to_string() }))
    }

    /// As [`Place::same`], for columns that may be null.
    pub(super) fn same_or_null<T: PartialEq + fmt::Display>(
        self,
        stored: Option<T>,
        follows: Option<T>,
    ) -> Result<(), Broken> {
        if stored == follows { Ok(()) } else { Err(self.is(Fault::differs(stored, follows))) }
    }

    pub(crate) fn unreadable(self, error: impl fmt::Display) -> Broken {
        self.is(Fault::Unreadable(error.to_string()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project { column } => write!(f, "project, column {column}"),
            Self::Setting { name } => write!(f, "project, column {name}"),
            Self::Entry { seq, column } => write!(f, "entry {seq}, column {column}"),
            Self::Checkpoint { size, column } => write!(f, "checkpoint of size {size}, column {column}"),
            Self::Head { column } => write!(f, "head, column {column}"),
            Self::Key { thumbprint, column } => write!(f, "signing key `{thumbprint}`, column {column}"),
            Self::Document { seq, column } => write!(f, "document of entry {seq}, column {column}"),
            Self::Tombstone { seq, column } => write!(f, "tombstone of entry {seq}, column {column}"),
            Self::Session { key } => write!(f, "session of {key}, column running"),
        }
    }
}
