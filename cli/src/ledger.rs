//! Ledgers as they are stored, in a database or in a dump, and the audit of either.
//!
//! Promised: nothing is written, and the memory for the audit does not grow with the number of entries. (A dump's
//! rows lie in no order, so finding them takes 32 bytes a row.)

pub mod database;
pub mod dump;
mod report;
mod rows;

pub use report::Report;
pub use rows::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, ProjectRow, SessionRow};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use counterfoil_core::audit::{Auditor, Broken, Clean, StoredKey, StoredTombstone, Trust};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{JwkSet, PublicKey, Purpose};
use counterfoil_core::statement::{RetentionDays, SettingName};
use counterfoil_core::tree::Hash;
use counterfoil_evidence::Visibility;

/// Whatever holds ledgers.
pub trait Stored {
    fn projects(&mut self) -> anyhow::Result<Vec<ProjectRow>>;

    /// Everything after this is about that project, from its first row on.
    fn enter(&mut self, project: &ProjectRow) -> anyhow::Result<()>;

    fn tombstones(&mut self) -> anyhow::Result<Vec<StoredTombstone>>;
    fn keys(&mut self) -> anyhow::Result<Vec<KeyRow>>;
    fn documents(&mut self) -> anyhow::Result<Vec<DocumentRow>>;
    fn sessions(&mut self) -> anyhow::Result<Vec<SessionRow>>;
    fn head(&mut self) -> anyhow::Result<Option<HeadRow>>;
    /// The next row by seq.
    fn next_entry(&mut self) -> anyhow::Result<Option<EntryRow>>;
    /// The next row by size.
    fn next_checkpoint(&mut self) -> anyhow::Result<Option<CheckpointRow>>;
}

/// What the holder brings: keys, and checkpoints kept from before.
#[derive(Default)]
pub struct Pins {
    issuer: Option<Issuer>,
    log: Vec<PublicKey>,
    ledger: Vec<PublicKey>,
    held: BTreeMap<u64, Hash>,
}

impl Pins {
    pub fn read(trust: Option<&Path>, held: &[PathBuf]) -> anyhow::Result<Self> {
        let mut pins = Self::default();
        if let Some(path) = trust {
            let text = std::fs::read(path).with_context(|| format!("`{}`", path.display()))?;
            let set = JwkSet::parse(&text).with_context(|| format!("`{}`", path.display()))?;
            let of = |purpose| set.keys.iter().filter(move |key| key.purpose == purpose);
            pins.log = of(Purpose::Log).map(|key| key.public_key()).collect::<Result<_, _>>()?;
            pins.ledger = of(Purpose::Ledger).map(|key| key.public_key()).collect::<Result<_, _>>()?;
            if pins.log.is_empty() {
                bail!("`{}`: no key of purpose log", path.display());
            }
            pins.issuer = Some(set.iss);
        }
        for path in held {
            pins.hold(path).with_context(|| format!("`{}`", path.display()))?;
        }
        Ok(pins)
    }

    /// Takes a checkpoint that was kept. It counts only if a pinned log key signed it.
    fn hold(&mut self, path: &Path) -> anyhow::Result<()> {
        let note = std::fs::read_to_string(path)?;
        let Some(issuer) = &self.issuer else { bail!("a checkpoint needs the keys that signed it: --trust") };
        let signed = self.log.iter().find_map(|key| Checkpoint::verify(&note, key).ok());
        let checkpoint = signed.context("is not a checkpoint that a pinned log key signed")?;
        if checkpoint.origin != issuer.origin() {
            bail!("is of log `{}`, not of `{}`", checkpoint.origin, issuer.origin());
        }
        if self.held.insert(checkpoint.size, checkpoint.root).is_some_and(|other| other != checkpoint.root) {
            bail!("FORKED: two signed checkpoints of size {} have different roots", checkpoint.size);
        }
        Ok(())
    }

    pub fn are_of(&self, project: &ProjectRow) -> bool {
        self.issuer.as_ref().is_none_or(|pinned| project.issuer == pinned.to_string())
    }

    pub fn are_given(&self) -> bool {
        self.issuer.is_some()
    }

    /// Without pinned keys, those that the ledger itself names.
    fn trust(&self, keys: &[KeyRow]) -> Trust {
        let named = |purpose: Purpose| {
            let rows = keys.iter().filter(move |row| row.purpose == purpose.as_str());
            rows.filter_map(|row| PublicKey::parse(&row.x).ok()).collect()
        };
        let log = if self.are_given() { self.log.clone() } else { named(Purpose::Log) };
        Trust { log, ledger: self.ledger.clone(), held: self.held.clone() }
    }
}

/// Audits one project. The outer error says that it could not be read, the inner one that it is not right.
pub fn audit(
    stored: &mut dyn Stored,
    project: &ProjectRow,
    pins: &Pins,
) -> anyhow::Result<Result<Clean, Broken>> {
    stored.enter(project)?;
    let issuer = match project.stored().identity() {
        Ok(issuer) => issuer,
        Err(broken) => return Ok(Err(broken)),
    };
    let keys = stored.keys()?;
    let mut auditor = Auditor::new(project.id, issuer, pins.trust(&keys), stored.tombstones()?);
    if let Err(broken) = chain(stored, &mut auditor)? {
        return Ok(Err(broken));
    }
    for document in stored.documents()? {
        if let Err(broken) = auditor.document(&document.stored()) {
            return Ok(Err(broken));
        }
    }
    for session in stored.sessions()? {
        if let Err(broken) = auditor.session(&session.stored()) {
            return Ok(Err(broken));
        }
    }
    if let Some(days) = &project.retention_days {
        let unset = RetentionDays::DEFAULT.to_string();
        if let Err(broken) = auditor.setting(&SettingName::retention_days(), days, &unset) {
            return Ok(Err(broken));
        }
    }
    if let Some(visibility) = &project.visibility
        && let Err(broken) =
            auditor.setting(&SettingName::visibility(), visibility, Visibility::DEFAULT.as_str())
    {
        return Ok(Err(broken));
    }
    let Some(head) = stored.head()? else { bail!("project `{}` has no head", project.id) };
    let keys: Vec<StoredKey<'_>> = keys.iter().map(KeyRow::stored).collect();
    Ok(auditor.finish(&head.stored(), &keys))
}

fn chain(stored: &mut dyn Stored, auditor: &mut Auditor) -> anyhow::Result<Result<(), Broken>> {
    loop {
        let entry = stored.next_entry()?;
        if auditor.wants_checkpoint()
            && let Some(row) = stored.next_checkpoint()?
            && let Err(broken) = auditor.checkpoint(&row.stored())
        {
            return Ok(Err(broken));
        }
        let Some(entry) = entry else { return Ok(Ok(())) };
        if let Err(broken) = auditor.entry(&entry.stored()) {
            return Ok(Err(broken));
        }
    }
}
