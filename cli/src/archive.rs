//! The file of an archived day: one line for each entry, with everything that erasing takes away.
//!
//!     {"entry":{"v":1,"project":"prj_…","seq":41,…},"body":{"payload":{…},"signature":{…}},"openings":["<JWE>"]}
//!
//! Promised: a file that is found whole has every body with the digest that its entry names, in one chain, all of one
//! day; a body that was erased before is null. Not promised: that it is the record; its entries are, against a
//! checkpoint or a package that has them too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Entry;
use counterfoil_core::envelope::Envelope;
use counterfoil_evidence::retention::Archived;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    entry: Entry,
    body: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    openings: Vec<String>,
}

/// A body of 1.5 MiB with its entry, and openings of 256 KiB each.
const MAX_LINE: u64 = 8 << 20;
/// What an archive holds, where nothing in it is wrong.
pub struct Checked {
    epoch: String,
    first: u64,
    last: u64,
    bodies: u64,
    absent: u64,
    openings: u64,
    kinds: BTreeMap<String, u64>,
    /// Of the file's bytes.
    pub digest: String,
}

impl std::fmt::Display for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { epoch, first, last, bodies, absent, openings, .. } = self;
        writeln!(f, "WHOLE {epoch}, entries {first} to {last}")?;
        writeln!(
            f,
            "  {bodies} bodies with the digests that their entries name, {absent} absent, {openings} openings"
        )?;
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        writeln!(f, "  {}", kinds.join(", "))?;
        write!(f, "  {}", self.digest)
    }
}

/// Reads it line by line; fails at the first that is not right.
pub fn check(path: &Path) -> anyhow::Result<Checked> {
    let mut file = BufReader::new(File::open(path)?);
    let (mut hasher, mut text, mut checked) = (Sha256::new(), Vec::new(), None::<(Checked, Digest)>);
    loop {
        text.clear();
        let read = file.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut text)?;
        if read == 0 {
            break;
        }
        let place = checked.as_ref().map_or(1, |(checked, _)| checked.last - checked.first + 2);
        ensure!(text.ends_with(b"\n"), "line {place}: is cut off, or too long");
        hasher.update(&text);
        let line: Line = serde_json::from_slice(&text).with_context(|| format!("line {place}"))?;
        checked = Some(follow(checked, &line).with_context(|| format!("line {place}"))?);
    }
    let Some((mut checked, _)) = checked else { bail!("is empty") };
    checked.digest = digest(hasher);
    Ok(checked)
}

fn follow(before: Option<(Checked, Digest)>, line: &Line) -> anyhow::Result<(Checked, Digest)> {
    let entry = &line.entry;
    ensure!(entry.epoch == entry.at.epoch(), "entry {} is not of the day of its time", entry.seq);
    let mut checked = match before {
        None => Checked {
            epoch: entry.epoch.clone(),
            first: entry.seq,
            last: entry.seq,
            bodies: 0,
            absent: 0,
            openings: 0,
            kinds: BTreeMap::new(),
            digest: String::new(),
        },
        Some((checked, hash)) => {
            let follows = entry.seq == checked.last + 1 && entry.prev == hash;
            ensure!(follows, "entry {} does not follow entry {}", entry.seq, checked.last);
            ensure!(entry.epoch == checked.epoch, "entry {} is of {}", entry.seq, entry.epoch);
            checked
        }
    };
    checked.last = entry.seq;
    checked.openings += line.openings.len() as u64;
    *checked.kinds.entry(entry.kind.to_string()).or_insert(0) += 1;
    match &line.body {
        None => checked.absent += 1,
        Some(body) => {
            let bytes = body.get().as_bytes();
            ensure!(Digest::of(bytes) == entry.body, "the body of entry {} is another", entry.seq);
            let envelope = Envelope::parse(bytes)?;
            ensure!(envelope.statement()?.kind() == entry.kind, "entry {} is of another kind", entry.seq);
            checked.bodies += 1;
        }
    }
    Ok((checked, entry.hash()))
}

/// The digest of everything that was hashed.
pub fn digest(hasher: Sha256) -> String {
    Digest::from_bytes(hasher.finalize().into()).to_string()
}

/// The line of one entry, newline included.
pub fn line(Archived { entry, body, openings }: Archived) -> anyhow::Result<Vec<u8>> {
    let body = body.map(String::from_utf8).transpose()?.map(RawValue::from_string).transpose()?;
    let mut line = serde_json::to_vec(&Line { entry, body, openings })?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use counterfoil_core::entry::{Kind, genesis};
    use counterfoil_core::time::Timestamp;

    use super::*;

    /// Three entries of one day; the second one's body is a real statement of the published cases.
    fn lines() -> Vec<Vec<u8>> {
        let case = include_str!("../../docs/vectors/receipts/denied.json");
        let case: serde_json::Value = serde_json::from_str(case).unwrap();
        let body = counterfoil_core::json::canonical_text(&case["receipt"]["statement"]).into_bytes();
        let project = "prj_019355a0c0007000800000000000a001".parse().unwrap();
        let at = Timestamp::parse("2026-11-30T11:20:00.000Z").unwrap();
        let mut prev = genesis(project);
        let mut lines = Vec::new();
        for seq in 0..3 {
            let entry = Entry::new(project, seq, at, Kind::Decision, Digest::of(&body), prev);
            prev = entry.hash();
            let (body, openings) = match seq {
                0 => (None, Vec::new()),
                _ => (Some(body.clone()), vec!["a.b.c.d.e".to_owned()]),
            };
            lines.push(line(Archived { entry, body, openings }).unwrap());
        }
        lines
    }

    fn checked(lines: &[Vec<u8>]) -> Result<Checked, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.concat()).unwrap();
        check(file.path()).map_err(|error| format!("{error:#}"))
    }

    /// P6: an archived body is held against the digest that its entry names.
    #[test]
    fn an_archive_is_whole_or_the_line_that_is_not_is_named() {
        let whole = lines();
        let found = checked(&whole).unwrap();
        assert_eq!((found.bodies, found.absent, found.openings), (2, 1, 2));
        assert_eq!(found.digest, Digest::of(&whole.concat()).to_string());

        let mut other_body = whole.clone();
        let place = other_body[1].windows(6).position(|window| window == b"\"DENY\"").unwrap();
        other_body[1][place + 1] = b'X';
        let mut cut = whole.clone();
        cut[2].pop();
        for (spoilt, why) in [
            (other_body, "line 2: the body of entry 1 is another"),
            (cut, "line 3: is cut off"),
            (vec![whole[0].clone(), whole[2].clone()], "line 2: entry 2 does not follow entry 0"),
            (Vec::new(), "is empty"),
        ] {
            let error = checked(&spoilt).err().unwrap_or_default();
            assert!(error.contains(why), "{error}");
        }
    }
}
