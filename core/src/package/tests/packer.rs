//! Packs a small ledger, whole or from a later entry, honestly or not.

use crate::audit::tests::rows::EntryRow;
use crate::audit::tests::writer::{Writer, issuer, project};
use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::entry::Entry;
use crate::envelope::Signed;
use crate::id::ProviderId;
use crate::key::{Jwk, JwkSet, PublicKey, Purpose};
use crate::package::*;
use crate::receipt;
use crate::time::Timestamp;
use crate::tree::{Hash, consistency_path, node_hash};
use std::collections::BTreeMap;
use std::io::{self, Read};

#[derive(Clone)]
pub(super) struct Package {
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl Source for Package {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(self.files.get(name).map(|bytes| Box::new(bytes.as_slice()) as Box<dyn Read>))
    }
}

/// What is packed and how; change it before [`Packer::pack`].
pub(super) struct Packer<'w> {
    pub(super) writer: &'w Writer,
    pub(super) first: u64,
    pub(super) size: u64,
    pub(super) absent: Vec<u64>,
    pub(super) tombstones: Vec<TombstoneClaim>,
    pub(super) providers: Vec<ProviderKeyLine>,
    pub(super) jwks: JwkSet,
}

pub(super) fn entry_of(row: &EntryRow) -> Entry {
    let digest = |bytes: &[u8]| Digest::from_bytes(bytes.try_into().expect("32 bytes"));
    let at = Timestamp::from_millis(row.at).expect("within range");
    let kind = row.kind.parse().expect("a kind");
    let seq = u64::try_from(row.seq).expect("small");
    Entry::new(project(), seq, at, kind, digest(&row.body_digest), digest(&row.prev))
}

fn complete(leaves: &[Hash], level: u8, index: u64) -> Option<Hash> {
    match level {
        0 => leaves.get(usize::try_from(index).ok()?).copied(),
        _ => Some(node_hash(
            &complete(leaves, level - 1, index * 2)?,
            &complete(leaves, level - 1, index * 2 + 1)?,
        )),
    }
}

/// What a holder pinned: our keys, as the JWKS published them.
pub(super) fn pins(writer: &Writer) -> JwkSet {
    let keys = [
        (writer.ledger.public(), Purpose::Ledger),
        (writer.log.public(), Purpose::Log),
        (writer.decision.public(), Purpose::Decision),
    ];
    JwkSet { iss: issuer(), keys: keys.into_iter().map(|(key, purpose)| Jwk::new(key, purpose)).collect() }
}

impl<'w> Packer<'w> {
    pub(super) fn of(writer: &'w Writer) -> Self {
        let size = u64::try_from(writer.rows.entries.len()).expect("small");
        Self {
            writer,
            first: 0,
            size,
            absent: Vec::new(),
            tombstones: Vec::new(),
            providers: Vec::new(),
            jwks: pins(writer),
        }
    }

    pub(super) fn checkpoint(&self, size: u64) -> String {
        let leaves = self.leaves();
        let root = crate::tree::root_of(size, &|level, index| complete(&leaves, level, index));
        Checkpoint { origin: issuer().origin(), size, root: root.expect("enough leaves") }
            .sign(&self.writer.log)
    }

    fn leaves(&self) -> Vec<Hash> {
        self.writer.rows.entries.iter().map(|row| entry_of(row).leaf_hash()).collect()
    }

    pub(super) fn pack(&self) -> Package {
        let (mut bundle, mut lines) = (Vec::new(), Vec::new());
        let rows = &self.writer.rows.entries;
        let range = usize::try_from(self.first).expect("small")..usize::try_from(self.size).expect("small");
        for row in &rows[range] {
            let entry = entry_of(row);
            write_leaf(&mut bundle, &entry.bytes()).expect("an entry is short");
            let line = match self.absent.contains(&entry.seq) {
                true => Line::of_absent(entry.seq),
                false => Line::of_body(entry.seq, row.body.as_ref().expect("there")).expect("JSON"),
            };
            lines.extend(line.bytes());
        }
        let note = self.checkpoint(self.size);
        let json = |value: &dyn erased::Json| value.text();
        let mut files = BTreeMap::from([
            (name::ENTRIES.to_owned(), bundle),
            (name::STATEMENTS.to_owned(), lines),
            (name::NEW_CHECKPOINT.to_owned(), note.clone().into_bytes()),
            (name::JWKS.to_owned(), json(&self.jwks)),
            (name::PROVIDER_KEYS.to_owned(), json(&ProviderKeyFile { keys: self.providers.clone() })),
            (name::TOMBSTONES.to_owned(), json(&self.tombstones)),
        ]);
        if self.first > 0 {
            let leaves = self.leaves();
            let node = |level: u8, index: u64| complete(&leaves, level, index);
            let path = consistency_path(self.first, self.size, &node).expect("a prefix");
            let consistency = consistency_text(self.first, &path, &note);
            files.insert(name::OLD_CHECKPOINT.to_owned(), self.checkpoint(self.first).into_bytes());
            files.insert(name::CONSISTENCY.to_owned(), consistency.into_bytes());
        }
        let mut package = Package { files };
        package.seal(self);
        package
    }
}

mod erased {
    /// Any document, as JSON.
    pub(super) trait Json {
        fn text(&self) -> Vec<u8>;
    }

    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> Vec<u8> {
            serde_json::to_vec(self).expect("JSON")
        }
    }
}

impl Package {
    /// Writes the manifest over the files as they are now: a tamperer who holds the ledger key does the same.
    pub(super) fn seal(&mut self, packer: &Packer<'_>) {
        self.files.remove(name::MANIFEST);
        let files = self.files.iter().map(|(name, bytes)| (name.clone(), FileDigest::of(bytes))).collect();
        let manifest = Manifest {
            typ: ManifestType::V1,
            iss: issuer(),
            project: project(),
            at: packer.writer.now,
            first: packer.first,
            size: packer.size,
            files,
        };
        let signed = Signed::sign(manifest, &packer.writer.ledger);
        self.files.insert(name::MANIFEST.to_owned(), signed.bytes().to_vec());
    }

    pub(super) fn edit(&mut self, name: &str, change: impl FnOnce(String) -> String) {
        let text = String::from_utf8(self.files[name].clone()).expect("text");
        self.files.insert(name.to_owned(), change(text).into_bytes());
    }

    pub(super) fn verify(&self, pins: JwkSet) -> Report {
        self.verify_holding(pins, None, &[])
    }

    pub(super) fn verify_holding(&self, pins: JwkSet, since: Option<&str>, held: &[Vec<u8>]) -> Report {
        let keys = receipt::Trust::from_set(pins).expect("good keys");
        let registry = |_: &Digest, provider: &ProviderId| {
            (provider.as_str() == "notes").then_some(Promise::Signs { within: 600_000 })
        };
        let trust = Trust { keys: &keys, since, held, registry: &registry };
        verify(self, &trust).expect("memory can be read")
    }
}

pub(super) fn provider_line(key: &PublicKey, introduced: u64, ended: Option<u64>) -> ProviderKeyLine {
    ProviderKeyLine {
        provider: "notes".parse().expect("good id"),
        key: crate::statement::PublicJwk::new(key),
        thumbprint: key.thumbprint(),
        introduced,
        ended,
    }
}
