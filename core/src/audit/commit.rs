//! One commit: a signed checkpoint and the entries that stand under it.

use super::broken::{Broken, Fault, Place};
use super::columns::Columns;
use super::keys::{Keys, signed};
use super::stored::{StoredCheckpoint, StoredEntry};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::digest::hex;
use crate::entry::Entry;
use crate::key::{PublicKey, Thumbprint};
use crate::note::{Note, NoteError};
use crate::time::Timestamp;
use crate::tree::{self, Hash};

#[derive(Debug)]
pub(super) struct Commit {
    /// Seq of its first entry.
    first: u64,
    size: u64,
    root: Hash,
    at: i64,
    note: String,
    signer: Thumbprint,
}

impl Commit {
    /// Reads a checkpoint that a trusted log key signed and that the row beside it repeats.
    pub(super) fn open(
        row: &StoredCheckpoint<'_>,
        first: u64,
        origin: &str,
        log: &[PublicKey],
    ) -> Result<Self, Broken> {
        let at = |column| Place::Checkpoint { size: row.size, column };
        let note = Note::parse(row.note).map_err(|e| at("note").is(CheckpointError::from(e)))?;
        let checkpoint = Checkpoint::parse(&note).map_err(|error| at("note").is(error))?;
        let signer = signer(&note, origin, log).map_err(|fault| at("note").is(fault))?;
        at("note").same(checkpoint.origin.as_str(), origin)?;
        at("size").same(row.size, signed(checkpoint.size))?;
        at("root").same(hex(row.root), hex(checkpoint.root.bytes()))?;
        if checkpoint.size <= first {
            return Err(at("size").is(Fault::Surplus));
        }
        let Checkpoint { size, root, .. } = checkpoint;
        Ok(Self { first, size, root, at: row.at, note: row.note.to_owned(), signer })
    }

    /// Fails unless the entry is the leaf that the signed root has in its place. Where the hashes disagree, the
    /// column that alone explains it is named: `checked` says that kind and digest agree with a signed body.
    pub(super) fn holds(
        &self,
        entry: &Entry,
        row: &StoredEntry<'_>,
        columns: &Columns,
        checked: bool,
    ) -> Result<(), Broken> {
        let at = |column| Place::Entry { seq: row.seq, column };
        let leaf = entry.leaf_hash();
        let included = tree::verify_inclusion(&leaf, entry.seq, self.size, &columns.path, &self.root);
        if row.checkpoint_size != signed(self.size) {
            return Err(match included {
                Ok(()) => at("checkpoint_size")
                    .same(row.checkpoint_size, signed(self.size))
                    .err()
                    .unwrap_or_else(|| at("checkpoint_size").is(Fault::Surplus)),
                Err(_) if row.checkpoint_size > signed(self.size) => self.place("size").is(Fault::Surplus),
                Err(_) => Place::Checkpoint { size: row.checkpoint_size, column: "size" }.is(Fault::Missing),
            });
        }
        if columns.hash != entry.hash() {
            let column = if included.is_err() && checked { "at" } else { "hash" };
            let (stored, follows) = (columns.hash.to_string(), entry.hash().to_string());
            return Err(at(column).is(Fault::Differs { stored, follows }));
        }
        included.map_err(|error| at("path").is(error))
    }

    pub(super) fn is_complete(&self, size: u64) -> bool {
        size == self.size
    }

    /// After the last entry: the root is that of the entries, and its signer was a log key of this chain.
    pub(super) fn close(&self, root: Hash, last_at: Timestamp, keys: &Keys) -> Result<(), Broken> {
        self.place("root").same(self.root, root)?;
        self.place("at").same(self.at, last_at.millis())?;
        keys.signs_log(&self.signer, self.first, self.size).map_err(|fault| self.place("note").is(fault))
    }

    /// The entries end before the checkpoint does.
    pub(super) fn unfinished(&self, size: u64) -> Broken {
        Place::Entry { seq: signed(size), column: "seq" }.is(Fault::Missing)
    }

    pub(super) fn into_note(self) -> String {
        self.note
    }

    fn place(&self, column: &'static str) -> Place {
        Place::Checkpoint { size: signed(self.size), column }
    }
}

fn signer(note: &Note, origin: &str, log: &[PublicKey]) -> Result<Thumbprint, Fault> {
    for key in log {
        match note.verify(origin, key) {
            Ok(()) => return Ok(key.thumbprint()),
            Err(NoteError::NotByThisKey) => {}
            Err(error) => return Err(CheckpointError::from(error).into()),
        }
    }
    Err(Fault::UntrustedLogKey)
}
