//! Packages of any size: the first entries of docs/vectors/packages/honest.json, then one call after the other, signed
//! with the published test keys.

use anyhow::{Context, ensure};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind, genesis};
use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::id::{ActionId, ProjectId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{self, JwkSet, SigningKey};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::package::zip::{FileWriter, Writer};
use counterfoil_core::package::{
    FileDigest, Line, Manifest, ManifestType, ProviderKeyFile, ProviderKeyLine, name, write_leaf,
};
use counterfoil_core::statement::{
    Decision, Execution, Observation, PublicJwk, Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer,
};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::{Frontier, leaf_hash};
use counterfoil_tests::repository::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Providers {
    Sign,
    SignNothing,
}

impl Providers {
    pub fn words(self) -> &'static str {
        match self {
            Self::Sign => "sign every call",
            Self::SignNothing => "sign nothing",
        }
    }
}

/// Calls so far apart that a million entries fit into the day that the first ones begin.
const APART_MILLIS: i64 = 80;

/// The keys of docs/vectors/packages.
pub fn pins() -> JwkSet {
    serde_json::from_value(honest()["jwks"].clone()).expect("a published key set")
}

fn honest() -> Value {
    let path = root().join("docs/vectors/packages/honest.json");
    let text = std::fs::read(path).expect("a published vector");
    serde_json::from_slice(&text).expect("JSON")
}

struct Keys {
    decision: SigningKey<key::Decision>,
    ledger: SigningKey<key::Ledger>,
    log: SigningKey<key::Log>,
    execution: SigningKey<key::Execution>,
}

/// What a call looks like.
struct Templates {
    decision: Decision,
    observation: Observation,
    execution: Execution,
}

struct Ledger {
    project: ProjectId,
    prev: Digest,
    frontier: Frontier,
    bundle: Vec<u8>,
    lines: FileWriter<BufWriter<File>>,
}

/// Writes a package of so many entries; how large the zip is.
pub fn write(path: &Path, providers: Providers, size: u64) -> anyhow::Result<u64> {
    let keys = Keys {
        decision: SigningKey::from_seed(&[0x11; 32]),
        ledger: SigningKey::from_seed(&[0x13; 32]),
        log: SigningKey::from_seed(&[0x14; 32]),
        execution: SigningKey::from_seed(&[0x21; 32]),
    };
    let (first, mut templates) = read()?;
    let project = templates.decision.project;
    let zip = Writer::new(BufWriter::new(File::create(path)?), u64::MAX);
    let mut ledger = Ledger {
        project,
        prev: genesis(project),
        frontier: Frontier::empty(),
        bundle: Vec::new(),
        lines: zip.file(name::STATEMENTS)?,
    };
    // The sixth introduces the provider's key. Each of them counts in `control`.
    let beginning = if providers == Providers::Sign { 6 } else { 5 };
    templates.decision.control = beginning as u64;
    for body in first.iter().take(beginning) {
        let statement = Envelope::parse(body)?.statement()?;

        let at = serde_json::from_slice::<Value>(body)?["payload"]["at"].take();
        ledger.append(statement.kind(), serde_json::from_value(at)?, body)?;
    }
    let mut at = templates.decision.at;
    while ledger.frontier.size() < size {
        at = at.plus_millis(APART_MILLIS);
        ledger.call(&keys, &templates, at, (providers, size))?;
    }
    let provider =
        (providers == Providers::Sign).then_some(&templates.decision).and_then(|d| d.provider.clone());
    ledger.finish(&keys, templates.decision.iss.clone(), at, provider)?;
    Ok(std::fs::metadata(path)?.len())
}

fn read() -> anyhow::Result<(Vec<Vec<u8>>, Templates)> {
    let honest = honest();
    let text = honest["files"][name::STATEMENTS]["text"].as_str().context("statements")?;
    let mut bodies = Vec::new();
    for line in text.lines() {
        let line: Line = serde_json::from_str(line)?;
        bodies.push(line.body.context("a body")?.get().as_bytes().to_vec());
    }
    let payload = |place: usize| -> anyhow::Result<Value> {
        Ok(serde_json::from_slice::<Value>(&bodies[place])?["payload"].take())
    };
    let received: Received = serde_json::from_value(payload(8)?)?;
    let native: Value = serde_json::from_slice(&received.bytes.0)?;
    let templates = Templates {
        decision: serde_json::from_value(payload(6)?)?,
        observation: serde_json::from_value(payload(7)?)?,
        execution: serde_json::from_value(native["payload"].clone())?,
    };
    Ok((bodies, templates))
}

impl Ledger {
    fn append(&mut self, kind: Kind, at: Timestamp, body: &[u8]) -> anyhow::Result<()> {
        let seq = self.frontier.size();
        let entry = Entry::new(self.project, seq, at, kind, Digest::of(body), self.prev);
        let leaf = entry.bytes();
        self.prev = Digest::of(&leaf);
        self.frontier.grow(leaf_hash(&leaf));
        write_leaf(&mut self.bundle, &leaf).context("an entry is short")?;
        self.lines.write_all(&Line::of_body(seq, body).context("JSON")?.bytes())?;
        Ok(())
    }

    /// Decision, observation and, where providers sign, the statement; as many as there is room for.
    fn call(
        &mut self,
        keys: &Keys,
        templates: &Templates,
        at: Timestamp,
        (providers, size): (Providers, u64),
    ) -> anyhow::Result<()> {
        let number = u128::from(self.frontier.size()) + 1;
        let action = ActionId::from_uuid(Uuid::from_u128(number));
        let nonce = Nonce16::from_bytes(number.to_be_bytes());
        let decision = Decision { action, at, nonce, ..templates.decision.clone() };
        let decided = Signed::sign(decision, &keys.decision);
        self.append(Kind::Decision, at, decided.bytes())?;
        if self.frontier.size() == size {
            return Ok(());
        }
        let digest = decided.digest();
        let observation = Observation {
            action,
            decision: digest,
            at,
            sent_at: Some(at),
            nonce,
            ..templates.observation.clone()
        };
        self.append(Kind::Observation, at, Signed::sign(observation, &keys.decision).bytes())?;
        if providers == Providers::SignNothing || self.frontier.size() == size {
            return Ok(());
        }
        let execution = Execution { action, decision: digest, nonce, ..templates.execution.clone() };
        let kid = keys.execution.kid().clone();
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::ExecutionNative,
            signer: Signer { kid: Some(kid.to_string()), thumbprint: Some(kid) },
            project: self.project,
            at,
            holds: true,
            bytes: ReceivedBytes(Signed::sign(execution, &keys.execution).bytes().to_vec()),
        };
        self.append(Kind::Execution, at, Signed::sign(received, &keys.ledger).bytes())
    }

    fn finish(
        self,
        keys: &Keys,
        iss: Issuer,
        at: Timestamp,
        provider: Option<counterfoil_core::id::ProviderId>,
    ) -> anyhow::Result<()> {
        let size = self.frontier.size();
        let note = Checkpoint { origin: iss.origin(), size, root: self.frontier.root() }.sign(&keys.log);
        let (mut zip, digest) = self.lines.end()?;
        let mut files = BTreeMap::from([(name::STATEMENTS.to_owned(), digest)]);
        let key = keys.execution.public();
        let line = |provider| ProviderKeyLine {
            provider,
            key: PublicJwk::new(key),
            thumbprint: key.thumbprint(),
            introduced: 5,
            ended: None,
        };
        let provider_keys = ProviderKeyFile { keys: provider.map(line).into_iter().collect() };
        let small = [
            (name::ENTRIES, self.bundle),
            (name::NEW_CHECKPOINT, note.into_bytes()),
            (name::JWKS, serde_json::to_vec(&pins())?),
            (name::PROVIDER_KEYS, serde_json::to_vec(&provider_keys)?),
            (name::TOMBSTONES, b"[]".to_vec()),
        ];
        for (name, bytes) in small {
            let digest: FileDigest;
            (zip, digest) = zip.whole(name, &bytes)?;
            files.insert(name.to_owned(), digest);
        }
        let project = self.project;
        let manifest = Manifest { typ: ManifestType::V1, iss, project, at, first: 0, size, files };
        let manifest = Signed::sign(manifest, &keys.ledger);
        let (zip, _) = zip.whole(name::MANIFEST, manifest.bytes())?;
        zip.finish()?;
        ensure!(size > 0, "a package has entries");
        Ok(())
    }
}
