//! Where a package stands: both checkpoints under pinned keys, what the holder kept, and the small files.

use super::files::{Manifest, Source, Stop, broken, name, needed, small};
use super::items::{ProviderKeyFile, TombstoneClaim};
use super::report::{NotChecked, Report, Verdict};
use super::trust::Trust;
use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::json::{self, Profile};
use crate::key::JwkSet;
use crate::receipt::{self, Refusal, RefusalClass, signed_checkpoint};
use crate::tree::{Frontier, Hash};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

pub(super) struct Base {
    /// The tree before the first entry.
    pub(super) frontier: Frontier,
    pub(super) end: Checkpoint,
    pub(super) note: String,
    /// Roots that the holder has seen signed, by size, with their notes.
    pub(super) held_roots: BTreeMap<u64, (Hash, String)>,
    /// Entries that the holder has receipts for, with the notes they stand under.
    pub(super) held_entries: BTreeMap<u64, (Digest, String)>,
    pub(super) tombstones: Vec<TombstoneClaim>,
    pub(super) manifest: Manifest,
    pub(super) manifest_envelope: Envelope,
    pub(super) provider_keys: ProviderKeyFile,
    pub(super) jwks: JwkSet,
    incomplete: Vec<String>,
}

impl Base {
    pub(super) fn read(source: &dyn Source, trust: &Trust<'_>) -> Result<Self, Stop> {
        let note = text(name::NEW_CHECKPOINT, needed(source, name::NEW_CHECKPOINT)?)?;
        let end = checkpoint(name::NEW_CHECKPOINT, &note, trust)?;
        let old = small(source, name::OLD_CHECKPOINT)?;
        let old = old.map(|bytes| text(name::OLD_CHECKPOINT, bytes)).transpose()?;
        let manifest_envelope = Envelope::parse(&needed(source, name::MANIFEST)?)
            .map_err(|error| broken(format!("{}: {error}", name::MANIFEST)))?;
        let manifest = Manifest::deserialize(manifest_envelope.payload())
            .map_err(|error| broken(format!("{}: {error}", name::MANIFEST)))?;
        let tombstones = match small(source, name::TOMBSTONES)? {
            Some(bytes) => document(name::TOMBSTONES, &bytes)?,
            None => Vec::new(),
        };
        let jwks = JwkSet::parse(&needed(source, name::JWKS)?)
            .map_err(|error| broken(format!("{}: {error}", name::JWKS)))?;
        let mut base = Self {
            frontier: Frontier::empty(),
            end,
            note,
            held_roots: BTreeMap::new(),
            held_entries: BTreeMap::new(),
            tombstones,
            manifest,
            manifest_envelope,
            provider_keys: document(name::PROVIDER_KEYS, &needed(source, name::PROVIDER_KEYS)?)?,
            jwks,
            incomplete: Vec::new(),
        };
        if let Some(old) = old {
            base.starts_at(&old, &needed(source, name::CONSISTENCY)?, trust)?;
        }
        base.keep(trust)?;
        base.agrees_with_manifest(trust)?;
        Ok(base)
    }

    pub(super) fn first(&self) -> u64 {
        self.frontier.size()
    }

    pub(super) fn report(&self) -> Report {
        let mut report = Report::of_nothing();
        (report.first, report.size, report.root) = (self.first(), self.end.size, Some(self.end.root));
        report.incomplete.clone_from(&self.incomplete);
        report.not_checked =
            vec![NotChecked::Anchors, NotChecked::Replay, NotChecked::Grants, NotChecked::Charges];
        if self.first() > 0 {
            report.not_checked.push(NotChecked::BeforeTheFirst(self.first()));
        }
        report
    }

    fn starts_at(&mut self, note: &str, consistency: &[u8], trust: &Trust<'_>) -> Result<(), Stop> {
        let old = checkpoint(name::OLD_CHECKPOINT, note, trust)?;
        let proof = text(name::CONSISTENCY, consistency.to_vec())?;
        let (head, new) = proof.split_once("\n\n").ok_or_else(|| broken("consistency has no blank line"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(format!("old {}", old.size).as_str()) || new != self.note {
            return Err(broken("consistency is not between these two checkpoints"));
        }
        let path: Option<Vec<Hash>> = lines.map(Hash::parse).collect();
        let path = path.ok_or_else(|| broken("consistency has a line that is no hash"))?;
        if old.size == self.end.size && old.root != self.end.root {
            return Err(Verdict::Forked { one: note.to_owned(), other: self.note.clone() }.into());
        }
        let (new_size, new_root) = (self.end.size, self.end.root);
        self.frontier = Frontier::from_consistency(old.size, new_size, &path, &old.root, &new_root)
            .map_err(|error| broken(format!("consistency: {error}")))?;
        Ok(())
    }

    /// Takes in what the holder kept, and says what of it this package cannot reach.
    fn keep(&mut self, trust: &Trust<'_>) -> Result<(), Stop> {
        if let Some(since) = trust.since {
            let held = checkpoint("the checkpoint that you hold", since, trust)?;
            self.keep_root(held, since.to_owned())?;
        }
        for bytes in trust.held {
            let refused = |error: Refusal| refusal("a receipt that you hold", &error);
            let verified = receipt::verify(bytes, trust.keys).map_err(refused)?;
            let note = note_of(bytes).ok_or_else(|| broken("a receipt that you hold has no checkpoint"))?;
            let seq = verified.entry.seq;
            self.keep_root(verified.checkpoint, note.clone())?;
            if seq >= self.end.size {
                self.incomplete
                    .push(format!("you hold a receipt of entry {seq}, and the package ends before"));
            }
            self.held_entries.insert(seq, (verified.entry.hash(), note));
        }
        Ok(())
    }

    fn keep_root(&mut self, held: Checkpoint, note: String) -> Result<(), Stop> {
        let (size, first) = (held.size, self.first());
        if size > self.end.size {
            self.incomplete.push(format!("you hold a checkpoint of {size} entries, the package ends before"));
        }
        if size < first {
            self.incomplete
                .push(format!("you hold a checkpoint of {size} entries, the package starts after"));
        }
        let forks = |root: &Hash| *root != held.root;
        let same_size =
            self.held_roots.get(&size).filter(|(root, _)| forks(root)).map(|(_, note)| note.clone());
        let at_first = (size == first && forks(&self.frontier.root())).then(|| self.note.clone());
        if let Some(one) = same_size.or(at_first) {
            return Err(Verdict::Forked { one, other: note }.into());
        }
        self.held_roots.insert(size, (held.root, note));
        Ok(())
    }

    fn agrees_with_manifest(&self, trust: &Trust<'_>) -> Result<(), Stop> {
        let said = (&self.manifest.iss, self.manifest.first, self.manifest.size);
        if said == (trust.keys.issuer(), self.first(), self.end.size) {
            Ok(())
        } else {
            Err(broken("manifest.json is of another package than its checkpoints"))
        }
    }
}

fn checkpoint(name: &str, note: &str, trust: &Trust<'_>) -> Result<Checkpoint, Stop> {
    signed_checkpoint(note, trust.keys).map_err(|error| refusal(name, &error))
}

fn refusal(name: &str, error: &Refusal) -> Stop {
    match error.class() {
        RefusalClass::Broken => broken(format!("{name}: {error}")),
        RefusalClass::Unpinned => Verdict::Unpinned(format!("{name}: {error}")).into(),
    }
}

/// The signed note inside a receipt that was verified.
fn note_of(receipt: &[u8]) -> Option<String> {
    let receipt: receipt::Receipt = serde_json::from_slice(receipt).ok()?;
    receipt::LogProof::parse(receipt.proof()).ok().map(|proof| proof.checkpoint)
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, Stop> {
    String::from_utf8(bytes).map_err(|_| broken(format!("{name} is not UTF-8")))
}

fn document<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, Stop> {
    let value = json::parse(bytes, Profile::Foreign).map_err(|error| broken(format!("{name}: {error}")))?;
    serde_json::from_value(value).map_err(|error| broken(format!("{name}: {error}")))
}
