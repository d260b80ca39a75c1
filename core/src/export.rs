//! The export stream: a project's record as it grows, for whoever keeps a copy of their own.
//!
//!     {"entry":{"v":1,"project":"prj_…","seq":41,…},"body":{"payload":{…},"signature":{…}}}
//!     {"entry":{"v":1,"project":"prj_…","seq":42,…},"body":null}            the body was erased
//!     {"checkpoint":"gw.example/p/7-k3m9q2v8\n43\n…"}                         the tree of what came so far
//!
//! Promised: what [`Follower`] takes is one chain from entry 0 on, each body signed by a key that an entry before it
//! introduced, under checkpoints that a pinned log key signed, passing through every checkpoint that was kept.
//! Not promised: that it is all there is; the newest checkpoint says how much there was. Nothing is reconciled: a
//! package, or the service's own findings, say who said what of whom.
//! Format: docs/formats/export.md.

mod absences;
mod follower;

pub use follower::{Contradiction, Follower};

use crate::entry::Entry;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One line. Bodies keep the bytes that they came in: their digest is over those.
#[derive(Debug)]
pub enum Line {
    Entry(EntryLine),
    Checkpoint(CheckpointLine),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    pub entry: Entry,
    /// Null once it was erased; never left out.
    #[serde(deserialize_with = "crate::statement::nullable")]
    pub body: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointLine {
    pub checkpoint: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a line that is neither an entry nor a checkpoint")]
pub struct NotALine;

/// Longest line: a wrapped body of 1.5 MiB, its entry, and room.
pub const MAX_LINE: usize = 2 * 1024 * 1024;

impl Line {
    /// Reads one line, without its newline.
    pub fn parse(text: &[u8]) -> Result<Self, NotALine> {
        if let Ok(line) = serde_json::from_slice::<EntryLine>(text) {
            return Ok(Self::Entry(line));
        }
        serde_json::from_slice::<CheckpointLine>(text).map(Self::Checkpoint).map_err(|_| NotALine)
    }

    /// The line of an entry, newline included. The body is canonical JSON already.
    pub fn of_entry(entry: &Entry, body: Option<&[u8]>) -> Vec<u8> {
        let mut line = b"{\"entry\":".to_vec();
        line.extend(entry.bytes());
        line.extend(b",\"body\":");
        line.extend(body.unwrap_or(b"null"));
        line.extend(b"}\n");
        line
    }

    /// The line of a checkpoint, newline included.
    pub fn of_checkpoint(note: &str) -> Vec<u8> {
        let line = CheckpointLine { checkpoint: note.to_owned() };
        let mut text = serde_json::to_vec(&line).expect("a line has string keys only");
        text.push(b'\n');
        text
    }
}

#[cfg(test)]
mod tests;
