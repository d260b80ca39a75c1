//! Checkpoints (C2SP tlog-checkpoint): origin, size and root of a log, signed as a note.
//!
//! The origin is the issuer without its scheme; it is also the name in the signature line. We write no extension lines
//! and refuse none, since they are signed with the rest.

use crate::key::{Log, PublicKey, SigningKey};
use crate::note::{self, Note, NoteError};
use crate::tree::Hash;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("checkpoint does not read as origin, size, root")]
    Malformed,
}

impl Checkpoint {
    /// The note body, newline included.
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, self.root)
    }

    /// The signed note.
    pub fn sign(&self, key: &SigningKey<Log>) -> String {
        note::sign(&self.body(), &self.origin, key)
    }

    /// Reads the body of a note, believing nothing.
    pub fn parse(note: &Note) -> Result<Self, CheckpointError> {
        let mut lines = note.text().split_terminator('\n');
        let mut next = || lines.next().ok_or(CheckpointError::Malformed);
        let (origin, size, root) = (next()?, next()?, next()?);
        let canonical = size == "0" || !size.starts_with(['0', '+', '-']);
        if origin.is_empty() || !canonical || lines.any(str::is_empty) {
            return Err(CheckpointError::Malformed);
        }
        Ok(Self {
            origin: origin.to_owned(),
            size: size.parse().map_err(|_| CheckpointError::Malformed)?,
            root: Hash::parse(root).ok_or(CheckpointError::Malformed)?,
        })
    }

    /// Reads a signed note and checks that `key` signed it under its origin.
    pub fn verify(note: &str, key: &PublicKey) -> Result<Self, CheckpointError> {
        let note = Note::parse(note)?;
        let checkpoint = Self::parse(&note)?;
        note.verify(&checkpoint.origin, key)?;
        Ok(checkpoint)
    }
}
