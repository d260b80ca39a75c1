//! Evidence packages as an auditor reads them: from a file, with pinned keys, offline.
//!
//! Promised: memory does not grow with the package: its two long files are read as streams, at any place of one open
//! file, so that what was checked is what is read. Replay evaluates every decision again that rules produced.
//! Not promised: more than [`counterfoil_core::package`] does; what was not checked is printed.

mod bundles;
pub mod fetch;
mod grants;
mod held;
mod openings;
mod replay;
mod report;
mod simulate;
mod statements;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::package::zip::{Archive, Bytes, ZipError};
use counterfoil_core::package::{self, Verdict};
use counterfoil_core::receipt;

use bundles::Bundles;
use grants::GrantTexts;
pub use held::{Held, pinned};
pub use report::Outcome;
use simulate::Simulated;

/// What the holder brings besides keys.
#[derive(Debug, Default)]
pub struct Brought {
    pub since: Option<PathBuf>,
    pub held: Vec<PathBuf>,
    pub disclosure_key: Option<PathBuf>,
}

/// A file that can be read at any place.
struct OnDisk(File);

impl Bytes for OnDisk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

/// Whether a file begins as a zip does.
pub fn is_zip(path: &Path) -> bool {
    let mut magic = [0; 2];
    File::open(path).and_then(|file| file.read_exact_at(&mut magic, 0)).is_ok() && &magic == b"PK"
}

/// An error is one of usage: a file of the holder's that cannot be read. What is wrong with the package is an outcome.
pub fn verify(path: &Path, keys: &receipt::Trust, brought: &Brought) -> anyhow::Result<Outcome> {
    let file = File::open(path).with_context(|| format!("`{}`", path.display()))?;
    let held = Held::read(brought)?;
    let opener = brought.disclosure_key.as_deref().map(openings::Opener::read).transpose()?;
    let archive = match Archive::open(OnDisk(file)) {
        Ok(archive) => archive,
        Err(ZipError::Io(error)) => return Err(error).with_context(|| format!("`{}`", path.display())),
        Err(error) => return Ok(Outcome::of_verdict(keys, Verdict::Broken(error.to_string()))),
    };
    let verified = check(&archive, keys, &held, opener.as_ref());
    match verified {
        Ok(outcome) => Ok(outcome),
        Err(error) => match damage(&error) {
            Some(what) => Ok(Outcome::of_verdict(keys, Verdict::Broken(what))),
            None => Err(error),
        },
    }
}

/// Evaluates every decision of a package again, under other rules than those that made it.
pub fn simulate(path: &Path, keys: &receipt::Trust, key: &Path, rules: &str) -> anyhow::Result<Simulated> {
    let file = File::open(path).with_context(|| format!("`{}`", path.display()))?;
    let opener = openings::Opener::read(key)?;
    let archive = Archive::open(OnDisk(file)).with_context(|| format!("`{}`", path.display()))?;
    let outcome = check(&archive, keys, &Held::read(&Brought::default())?, Some(&opener))?;
    anyhow::ensure!(outcome.stands(), "the package does not hold:\n{}", outcome.lines());
    let texts = replay::Texts { bundles: &Bundles::read(&archive)?, grants: &GrantTexts::read(&archive)? };
    simulate::simulate(&archive, texts, &opener, rules)
}

fn check(
    archive: &Archive<OnDisk>,
    keys: &receipt::Trust,
    held: &Held,
    opener: Option<&openings::Opener>,
) -> anyhow::Result<Outcome> {
    let bundles = Bundles::read(archive)?;
    let registry = |document: &Digest, provider: &ProviderId| bundles.promise(document, provider);
    let trust =
        package::Trust { keys, since: held.since.as_deref(), held: &held.receipts, registry: &registry };
    let report = package::verify(archive, &trust)?;
    let stands = match &report.verdict {
        Verdict::Unanchored | Verdict::Incomplete(_) | Verdict::Omitted(_) => true,
        Verdict::Forked { .. } | Verdict::Broken(_) | Verdict::Unpinned(_) => false,
    };
    let replayed = match opener {
        // What does not hold is not worth evaluating.
        Some(opener) if stands => {
            let texts = replay::Texts { bundles: &bundles, grants: &GrantTexts::read(archive)? };
            Some(replay::replay(archive, texts, opener)?)
        }
        Some(_) | None => None,
    };
    Ok(Outcome::new(keys, report, replayed))
}

/// What is wrong with the package, unless the disk or the holder's key is at fault.
fn damage(error: &anyhow::Error) -> Option<String> {
    let corrupt = |kind| matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    let elsewhere = io.is_some_and(|io| !corrupt(io.kind())) || error.is::<replay::WrongKey>();
    (!elsewhere).then(|| format!("{error:#}"))
}

#[cfg(test)]
mod tests;
