//! What the two long files consist of: leaves and lines, one of each for every entry.
//!
//!     entries.bin       <two bytes, big-endian: length><JCS(entry)> … (C2SP entry bundles, end to end)
//!     statements.jsonl  {"seq":41,"body":{"payload":…,"signature":…}}
//!                       {"seq":42,"withheld":{"form":"vendor-wire","signer":{"kid":"k1","thumbprint":null},"holds":false}}
//!                       {"seq":43,"absent":true}

use super::files::{FileDigest, Hashing, MAX_LINE, Stop, Tally, broken};
use super::report::Verdict;
use crate::digest::Digest;
use crate::id::ProviderId;
use crate::key::Thumbprint;
use crate::statement::{PublicJwk, ReceivedForm, Signer};
use crate::tree::Hash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{BufRead as _, BufReader, Read as _};

const BUFFER: usize = 64 * 1024;

/// One line of statements.jsonl.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<bool>,
}

/// What is shown of a wrapped body that is not.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    pub form: ReceivedForm,
    pub signer: Signer,
    pub holds: bool,
}

/// One of `tombstones`: a JSON list, known before the entries that it excuses. The `tombstone/v1` must bear it out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TombstoneClaim {
    pub seq: u64,
    pub first: u64,
    pub last: u64,
}

/// provider-keys.json: for people, and for a package that does not start at entry 0.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderKeyFile {
    pub keys: Vec<ProviderKeyLine>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderKeyLine {
    pub provider: ProviderId,
    pub key: PublicJwk,
    pub thumbprint: Thumbprint,
    pub introduced: u64,
    pub ended: Option<u64>,
}

/// The file `consistency`: the add-checkpoint form of C2SP tlog-witness.
pub fn consistency_text(old: u64, path: &[Hash], new_checkpoint: &str) -> String {
    let hashes: String = path.iter().map(|hash| format!("{hash}\n")).collect();
    format!("old {old}\n{hashes}\n{new_checkpoint}")
}

/// Appends one leaf to a bundle. `None` if it is longer than its two bytes of length can say.
pub fn write_leaf(bundle: &mut Vec<u8>, leaf: &[u8]) -> Option<()> {
    bundle.extend(u16::try_from(leaf.len()).ok()?.to_be_bytes());
    bundle.extend(leaf);
    Some(())
}

pub(super) struct Leaves<'s> {
    file: BufReader<Hashing<'s>>,
    tally: Tally,
}

pub(super) fn leaves(file: Hashing<'_>) -> Leaves<'_> {
    Leaves { tally: file.tally(), file: BufReader::with_capacity(BUFFER, file) }
}

impl Leaves<'_> {
    pub(super) fn next_leaf(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        if self.file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 2];
        let cut = |_| broken("entries.bin ends inside an entry");
        self.file.read_exact(&mut length).map_err(cut)?;
        let mut leaf = vec![0; usize::from(u16::from_be_bytes(length))];
        self.file.read_exact(&mut leaf).map_err(cut)?;
        Ok(Some(leaf))
    }

    pub(super) fn finish(&mut self) -> Result<(), Stop> {
        match self.file.fill_buf()?.is_empty() {
            true => Ok(()),
            false => Err(broken("entries.bin goes on after its last entry")),
        }
    }

    pub(super) fn into_digest(self) -> FileDigest {
        self.tally.digest()
    }
}

pub(super) struct Lines<'s> {
    file: BufReader<Hashing<'s>>,
    tally: Tally,
    text: Vec<u8>,
}

pub(super) fn lines(file: Hashing<'_>) -> Lines<'_> {
    Lines { tally: file.tally(), file: BufReader::with_capacity(BUFFER, file), text: Vec::new() }
}

impl Lines<'_> {
    pub(super) fn next_line(&mut self) -> Result<Option<Line>, Stop> {
        self.text.clear();
        let limit = MAX_LINE as u64 + 1;
        let count = self.file.by_ref().take(limit).read_until(b'\n', &mut self.text)?;
        match self.text.last() {
            None => Ok(None),
            Some(b'\n') => {
                let text = &self.text[..count - 1];
                let line = serde_json::from_slice(text);
                line.map(Some).map_err(|error| broken(format!("statements.jsonl does not read: {error}")))
            }
            Some(_) if self.text.len() > MAX_LINE => Err(broken("statements.jsonl has too long a line")),
            Some(_) => Err(Verdict::Incomplete("statements.jsonl ends inside a line".to_owned()).into()),
        }
    }

    pub(super) fn into_digest(self) -> FileDigest {
        self.tally.digest()
    }
}

/// What a line shows of its entry's body.
pub(super) enum Shown {
    Body(Box<RawValue>),
    Withheld(Withheld),
    Absent,
}

impl Line {
    /// The line of an entry whose body is in the package. `None` if the body is not JSON.
    pub fn of_body(seq: u64, body: &[u8]) -> Option<Self> {
        let body = RawValue::from_string(String::from_utf8(body.to_vec()).ok()?).ok()?;
        Some(Self { seq, body: Some(body), withheld: None, absent: None })
    }

    pub fn of_withheld(seq: u64, withheld: Withheld) -> Self {
        Self { seq, body: None, withheld: Some(withheld), absent: None }
    }

    pub fn of_absent(seq: u64) -> Self {
        Self { seq, body: None, withheld: None, absent: Some(true) }
    }

    /// As it is written, newline included.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("a line has string keys only");
        text.push(b'\n');
        text
    }

    pub(super) fn shown(self, seq: u64) -> Result<Shown, Stop> {
        if self.seq != seq {
            return Err(broken(format!(
                "entry {seq}: the statement beside it is that of entry {}",
                self.seq
            )));
        }
        match (self.body, self.withheld, self.absent) {
            (Some(body), None, None) => Ok(Shown::Body(body)),
            (None, Some(withheld), None) => Ok(Shown::Withheld(withheld)),
            (None, None, Some(true)) => Ok(Shown::Absent),
            _ => Err(broken(format!("entry {seq}: its line says not one thing"))),
        }
    }
}

/// Whether a body has that digest, before anything else is made of it.
pub(super) fn digest_of(body: &RawValue) -> Digest {
    Digest::of(body.get().as_bytes())
}
