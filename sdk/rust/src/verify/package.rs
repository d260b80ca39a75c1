//! Evidence packages as their holder reads them.

use super::{KeySet, PackageVerdict, Promise, Report};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::{Jwk, PublicKey, Purpose};
use counterfoil_core::package::zip::{Archive, Bytes, ZipError};
use counterfoil_core::package::{self, Trust};
use std::fs::File;
use std::io;
use std::path::Path;

type Registry<'h> = dyn Fn(&Digest, &ProviderId) -> Option<Promise> + 'h;

/// What the holder of a package brings. Nothing inside it adds to that.
pub struct PackageTrust<'h> {
    /// Our keys. Keys of providers (purpose `execution`) in it count as pinned by you.
    pub pinned: &'h KeySet,
    /// What providers publish themselves: a JWKS or one JWK each.
    pub provider_keys: &'h [Vec<u8>],
    /// A checkpoint that you kept, as the signed note: the record must pass through it.
    pub since: Option<&'h str>,
    /// Receipts that you kept: each must stand in its place.
    pub held: &'h [Vec<u8>],
    /// What a provider's entry in a registry says, by the digest of its text; None where it is not at hand.
    pub registry: &'h Registry<'h>,
}

impl<'h> PackageTrust<'h> {
    /// Pinned keys, and nothing that was kept.
    #[must_use]
    pub fn of(pinned: &'h KeySet) -> Self {
        Self { pinned, provider_keys: &[], since: None, held: &[], registry: &|_, _| None }
    }
}

/// A package as the zip file, in memory. An error is one of what the holder brought; everything else is a verdict.
pub fn verify_package(zip: &[u8], trust: &PackageTrust<'_>) -> io::Result<Report> {
    check(Memory(zip), trust)
}

/// A package on disk, read as a stream: memory does not grow with it.
pub fn verify_package_file(path: impl AsRef<Path>, trust: &PackageTrust<'_>) -> io::Result<Report> {
    check(OnDisk(File::open(path)?), trust)
}

fn check(bytes: impl Bytes, brought: &PackageTrust<'_>) -> io::Result<Report> {
    let keys = with_provider_keys(brought.pinned, brought.provider_keys)?;
    let trust =
        Trust { keys: keys.trust(), since: brought.since, held: brought.held, registry: brought.registry };
    let archive = match Archive::open(bytes) {
        Ok(archive) => archive,
        Err(ZipError::Io(error)) => return Err(error),
        Err(error) => {
            return package::verify(&NoFiles, &trust).map(|report| broken(report, &error.to_string()));
        }
    };
    match package::verify(&archive, &trust) {
        Err(error) if is_damage(&error) => {
            package::verify(&NoFiles, &trust).map(|report| broken(report, &error.to_string()))
        }
        report => report,
    }
}

/// A disk that fails is no fault of the package.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

fn broken(mut report: Report, why: &str) -> Report {
    report.verdict = PackageVerdict::Broken(why.to_owned());
    report
}

fn with_provider_keys(pinned: &KeySet, providers: &[Vec<u8>]) -> io::Result<KeySet> {
    let bad = |error: String| io::Error::other(format!("a provider's keys: {error}"));
    let mut set = pinned.set().clone();
    for text in providers {
        let document = json::parse(text, Profile::Foreign).map_err(|error| bad(error.to_string()))?;
        let one = [document.clone()];
        let keys = document["keys"].as_array().map_or(one.as_slice(), Vec::as_slice);
        for key in keys.iter().filter(|key| key["kty"] == "OKP" && key["crv"] == "Ed25519") {
            let x = key["x"].as_str().ok_or_else(|| bad("one lacks x".to_owned()))?;
            let key = PublicKey::parse(x).map_err(|error| bad(error.to_string()))?;
            set.keys.retain(|known| known.kid != key.thumbprint());
            set.keys.push(Jwk::new(&key, Purpose::Execution));
        }
    }
    KeySet::from_set(set).map_err(|error| bad(error.to_string()))
}

struct Memory<'z>(&'z [u8]);

impl Bytes for Memory<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A file that can be read at any place.
struct OnDisk(File);

impl Bytes for OnDisk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, buffer, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut file = &self.0;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}

/// What is left of a zip that is none: a report of nothing.
struct NoFiles;

impl package::Source for NoFiles {
    fn open(&self, _name: &str) -> io::Result<Option<Box<dyn io::Read + '_>>> {
        Ok(None)
    }
}
