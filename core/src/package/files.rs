//! The files of a package, and the manifest that catches damage on the way.

use super::report::Verdict;
use crate::audit::{Broken, Fault};
use crate::digest::Digest;
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;

/// The names of a package's files.
pub mod name {
    pub const MANIFEST: &str = "manifest.json";
    pub const STATEMENTS: &str = "statements.jsonl";
    pub const ENTRIES: &str = "entries.bin";
    pub const OLD_CHECKPOINT: &str = "old.checkpoint";
    pub const NEW_CHECKPOINT: &str = "new.checkpoint";
    pub const CONSISTENCY: &str = "consistency";
    pub const JWKS: &str = "jwks.json";
    pub const PROVIDER_KEYS: &str = "provider-keys.json";
    pub const TOMBSTONES: &str = "tombstones";
    /// With rules: every text that was published.
    pub const BUNDLES: &str = "bundles.jsonl";
    /// With rules: every text of a grant.
    pub const GRANTS: &str = "grants.jsonl";
    /// With rules: openings, sealed to the project's disclosure key.
    pub const OPENINGS: &str = "openings.jsonl";
}

/// Longest line of statements.jsonl: a `received/v1` of full size and what stands around it.
pub const MAX_LINE: usize = crate::envelope::MAX_RECEIVED + 4096;
/// Files that are read whole: key sets, tombstones, a manifest.
const MAX_SMALL: usize = 16 * 1024 * 1024;

/// Hands out a package's files. Two may be open at once, and one may be opened again.
pub trait Source {
    /// The file from its start; `None` if there is none of that name.
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>>;
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum ManifestType {
    #[default]
    #[serde(rename = "package/v1")]
    V1,
}

/// `package/v1`, signed with the ledger key. It proves only that the files are those that were packed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub typ: ManifestType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    /// Number of the first entry.
    pub first: u64,
    /// One more than the number of the last entry.
    pub size: u64,
    pub files: BTreeMap<String, FileDigest>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    pub bytes: u64,
    pub digest: Digest,
}

impl FileDigest {
    pub fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, digest: Digest::of(bytes) }
    }
}

/// Why verification ends before the end.
pub(super) enum Stop {
    Verdict(Box<Verdict>),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Verdict> for Stop {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(Box::new(verdict))
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        match broken.fault {
            // A key that only the package vouches for may be the right one; nobody whom the holder trusts says so.
            Fault::UnknownKey(_) | Fault::UntrustedLogKey | Fault::UntrustedLedgerKey(_) => {
                Verdict::Unpinned(broken.to_string()).into()
            }
            _ => Verdict::Broken(broken.to_string()).into(),
        }
    }
}

pub(super) fn broken(why: impl Into<String>) -> Stop {
    Verdict::Broken(why.into()).into()
}

/// A file that is small enough to be read whole.
pub(super) fn small(source: &dyn Source, name: &str) -> Result<Option<Vec<u8>>, Stop> {
    let Some(file) = source.open(name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MAX_SMALL as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_SMALL {
        return Err(broken(format!("{name} is larger than {MAX_SMALL} bytes")));
    }
    Ok(Some(bytes))
}

/// A file that must be there.
pub(super) fn needed(source: &dyn Source, name: &str) -> Result<Vec<u8>, Stop> {
    small(source, name)?.ok_or_else(|| missing(name))
}

pub(super) fn missing(name: &str) -> Stop {
    Verdict::Incomplete(format!("{name} is not in the package")).into()
}

/// The files of one pass, and the digests of those that were read as streams.
pub(super) struct Files<'s> {
    source: &'s dyn Source,
    read: BTreeMap<String, FileDigest>,
}

impl<'s> Files<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Self {
        Self { source, read: BTreeMap::new() }
    }

    pub(super) fn stream(&self, name: &str) -> Result<Hashing<'s>, Stop> {
        let file = self.source.open(name)?.ok_or_else(|| missing(name))?;
        Ok(Hashing::new(file))
    }

    pub(super) fn note(&mut self, name: &str, digest: FileDigest) {
        self.read.insert(name.to_owned(), digest);
    }

    /// Fails on the first file that is not as it was packed.
    pub(super) fn compare(&self, manifest: &Manifest) -> Result<(), Stop> {
        for (name, packed) in &manifest.files {
            let found = match self.read.get(name) {
                Some(found) => *found,
                None => FileDigest::of(&needed(self.source, name)?),
            };
            if found != *packed {
                return Err(broken(format!("{name} is not as it was packed")));
            }
        }
        let needed = [name::ENTRIES, name::STATEMENTS, name::NEW_CHECKPOINT];
        match needed.into_iter().find(|name| !manifest.files.contains_key(*name)) {
            Some(name) => Err(broken(format!("{name} is not in the manifest"))),
            None => Ok(()),
        }
    }
}

/// A reader that remembers the digest of what went through it.
pub(super) struct Hashing<'s> {
    file: Box<dyn Read + 's>,
    seen: Tally,
}

/// Shared, so that the digest outlives the buffers around the reader.
#[derive(Clone, Default)]
pub(super) struct Tally(Rc<RefCell<(u64, Sha256)>>);

impl<'s> Hashing<'s> {
    fn new(file: Box<dyn Read + 's>) -> Self {
        Self { file, seen: Tally::default() }
    }

    pub(super) fn tally(&self) -> Tally {
        self.seen.clone()
    }
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let mut seen = self.seen.0.borrow_mut();
        seen.0 += count as u64;
        seen.1.update(&buffer[..count]);
        Ok(count)
    }
}

impl Tally {
    pub(super) fn digest(&self) -> FileDigest {
        let (bytes, hasher) = self.0.borrow().clone();
        FileDigest { bytes, digest: Digest::from_bytes(hasher.finalize().into()) }
    }
}
