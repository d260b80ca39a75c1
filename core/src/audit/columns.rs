//! The columns of an entry, as values.

use super::broken::{Broken, Place};
use super::stored::StoredEntry;
use crate::digest::Digest;
use crate::entry::{Entry, Kind};
use crate::id::ProjectId;
use crate::time::Timestamp;
use crate::tree::Hash;

pub(super) struct Columns {
    at: Timestamp,
    pub(super) kind: Kind,
    pub(super) body: Digest,
    pub(super) prev: Digest,
    pub(super) hash: Digest,
    pub(super) path: Vec<Hash>,
}

impl Columns {
    pub(super) fn read(row: &StoredEntry<'_>) -> Result<Self, Broken> {
        let place = |column| Place::Entry { seq: row.seq, column };
        let digest = |column, bytes: &[u8]| {
            bytes.try_into().map(Digest::from_bytes).map_err(|error| place(column).unreadable(error))
        };
        let (nodes, rest) = row.path.as_chunks::<32>();
        if !rest.is_empty() {
            return Err(place("path").unreadable("not a multiple of 32 bytes"));
        }
        Ok(Self {
            at: Timestamp::from_millis(row.at).map_err(|error| place("at").unreadable(error))?,
            kind: row.kind.parse().map_err(|error| place("kind").unreadable(error))?,
            body: digest("body_digest", row.body_digest)?,
            prev: digest("prev", row.prev)?,
            hash: digest("hash", row.hash)?,
            path: nodes.iter().copied().map(Hash::from_bytes).collect(),
        })
    }

    pub(super) fn entry(&self, project: ProjectId, seq: u64) -> Entry {
        Entry::new(project, seq, self.at, self.kind, self.body, self.prev)
    }
}
