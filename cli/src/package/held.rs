//! What the holder kept and pinned.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::{Jwk, JwkSet, PublicKey, Purpose};
use counterfoil_core::receipt;

use super::Brought;

/// Ten times the largest receipt.
const LARGEST: u64 = 16 << 20;
/// Receipts that are kept in memory while a package is read.
const MOST: usize = 100_000;

pub struct Held {
    /// A signed note.
    pub since: Option<String>,
    pub receipts: Vec<Vec<u8>>,
}

impl Held {
    /// Files are receipts; of folders, those files that are.
    pub(super) fn read(brought: &Brought) -> anyhow::Result<Self> {
        let since = brought.since.as_deref().map(read).transpose()?;
        let since = since.map(String::from_utf8).transpose().context("a checkpoint is text")?;
        let mut receipts = Vec::new();
        for path in &brought.held {
            if path.is_dir() {
                for file in files(path)? {
                    receipts.extend(Some(read(&file)?).filter(|bytes| is_receipt(bytes)));
                    ensure!(receipts.len() <= MOST, "more than {MOST} receipts are held");
                }
            } else {
                let bytes = read(path)?;
                ensure!(is_receipt(&bytes), "`{}` is no receipt", path.display());
                receipts.push(bytes);
            }
        }
        Ok(Self { since, receipts })
    }
}

/// Our keys out of one set, and providers' own keys out of others, by whatever name each provider publishes them.
pub fn pinned(trust: &Path, providers: &[PathBuf]) -> anyhow::Result<receipt::Trust> {
    let named = |path: &Path| format!("`{}`", path.display());
    let mut set = JwkSet::parse(&read(trust)?).with_context(|| named(trust))?;
    for path in providers {
        let document = json::parse(&read(path)?, Profile::Foreign).with_context(|| named(path))?;
        let one = [document.clone()];
        let keys = document["keys"].as_array().map_or(one.as_slice(), Vec::as_slice);
        for key in keys.iter().filter(|key| key["kty"] == "OKP" && key["crv"] == "Ed25519") {
            let x = key["x"].as_str().with_context(|| named(path))?;
            let key = PublicKey::parse(x).with_context(|| named(path))?;
            set.keys.retain(|known| known.kid != key.thumbprint());
            set.keys.push(Jwk::new(&key, Purpose::Execution));
        }
    }
    receipt::Trust::from_set(set).with_context(|| named(trust))
}

fn is_receipt(bytes: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Typ {
        typ: String,
    }
    serde_json::from_slice(bytes).is_ok_and(|Typ { typ }| typ == "receipt/v1")
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let named = || format!("`{}`", path.display());
    let length = fs::metadata(path).with_context(named)?.len();
    ensure!(length <= LARGEST, "{} is larger than {LARGEST} bytes", named());
    fs::read(path).with_context(named)
}
