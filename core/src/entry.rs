//! Entries: a statement's place in a project's chain.
//!
//!     {"v":1,"project":"prj_…","seq":41,"epoch":"2026-11-30","at":"…","kind":"decision","body":"sha256:…","prev":"sha256:…"}
//!     entry hash = SHA-256(JCS(entry));  leaf data = JCS(entry)
//!     prev of seq 0 = SHA-256("counterfoil/genesis/v1\n" + project)
//!
//! An entry holds nothing personal and is never erased; the body it names may be.

use crate::digest::Digest;
use crate::id::ProjectId;
use crate::json::canonical;
use crate::time::Timestamp;
use crate::tree::{self, Hash};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! kinds {
    ($($name:ident $text:literal;)*) => {
        /// What an entry's body is. What we received from others is filed under what it is, not under its wrapper.
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
        pub enum Kind {
            $(#[serde(rename = $text)] $name,)*
        }

        impl Kind {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    Decision "decision";
    Observation "observation";
    Execution "execution";
    Catalog "catalog";
    Answer "answer";
    Hold "hold";
    Finding "finding";
    Clearance "clearance";
    Resolution "resolution";
    Rules "rules";
    Registry "registry";
    Grant "grant";
    Key "key";
    Kill "kill";
    Resume "resume";
    Breakglass "breakglass";
    Shadow "shadow";
    Settings "settings";
    Coverage "coverage";
    Session "session";
    Epoch "epoch";
    Tombstone "tombstone";
    Probe "probe";
    Incident "incident";
}

impl Kind {
    /// Whether a body of this kind may hold something personal and can be emptied under a tombstone.
    pub fn can_be_erased(self) -> bool {
        match self {
            Self::Finding
            | Self::Clearance
            | Self::Resolution
            | Self::Epoch
            | Self::Tombstone
            | Self::Key
            | Self::Rules
            | Self::Registry
            | Self::Kill
            | Self::Resume
            | Self::Incident => false,
            Self::Decision
            | Self::Observation
            | Self::Execution
            | Self::Catalog
            | Self::Answer
            | Self::Hold
            | Self::Grant
            | Self::Breakglass
            | Self::Shadow
            | Self::Settings
            | Self::Coverage
            | Self::Session
            | Self::Probe => true,
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not a kind of entry")]
pub struct KindError(String);

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or_else(|| KindError(text.to_owned()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One place in the chain. `epoch` is the UTC day of `at`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    #[serde(deserialize_with = "one")]
    v: u8,
    pub project: ProjectId,
    pub seq: u64,
    pub epoch: String,
    pub at: Timestamp,
    pub kind: Kind,
    pub body: Digest,
    pub prev: Digest,
}

fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        1 => Ok(1),
        other => Err(serde::de::Error::custom(format!("entry of version {other}, not 1"))),
    }
}

impl Entry {
    pub fn new(project: ProjectId, seq: u64, at: Timestamp, kind: Kind, body: Digest, prev: Digest) -> Self {
        Self { v: 1, project, seq, epoch: at.epoch(), at, kind, body, prev }
    }

    /// JCS(entry): the leaf data of the project's log.
    pub fn bytes(&self) -> Vec<u8> {
        let Self { v, project, seq, epoch, at, kind, body, prev } = self;
        // No text of a day, id, digest or kind needs an escape; whatever else somebody sent as a day may.
        if !epoch.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            return canonical(self);
        }
        format!(
            r#"{{"at":"{at}","body":"{body}","epoch":"{epoch}","kind":"{kind}","prev":"{prev}","project":"{project}","seq":{seq},"v":{v}}}"#
        )
        .into_bytes()
    }

    /// What the next entry names as `prev`.
    pub fn hash(&self) -> Digest {
        Digest::of(&self.bytes())
    }

    pub fn leaf_hash(&self) -> Hash {
        tree::leaf_hash(&self.bytes())
    }
}

/// The `prev` of a project's first entry.
pub fn genesis(project: ProjectId) -> Digest {
    Digest::of(format!("counterfoil/genesis/v1\n{project}").as_bytes())
}
