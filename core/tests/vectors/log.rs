//! Chain, trees, checkpoints.

use crate::{Outcome, equal, read};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::entry::{Entry, genesis};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::ProjectId;
use counterfoil_core::key::PublicKey;
use counterfoil_core::note;
use counterfoil_core::tree::{self, Frontier, Hash};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(untagged)]
enum ChainCase {
    Link(Box<Link>),
    Genesis(Genesis),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Genesis {
    #[serde(rename = "about")]
    _about: String,
    project: ProjectId,
    prev: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    #[serde(rename = "about")]
    _about: String,
    statement: Value,
    canonical_payload: String,
    digest: String,
    entry: Entry,
    canonical_entry: String,
    entry_hash: String,
    leaf_hash: String,
}

pub fn chain(case: &[u8]) -> Outcome {
    match read(case)? {
        ChainCase::Genesis(case) => equal("prev", genesis(case.project).to_string(), case.prev),
        ChainCase::Link(case) => {
            let text = serde_json::to_vec(&case.statement).map_err(|e| e.to_string())?;
            let envelope = Envelope::parse(&text).map_err(|e| e.to_string())?;
            envelope.statement().map_err(|e| e.to_string())?;
            equal("payload", envelope.payload_bytes(), case.canonical_payload.as_bytes())?;
            equal("digest", envelope.digest().to_string(), case.digest)?;
            equal("body", case.entry.body, envelope.digest())?;
            equal("entry", case.entry.bytes(), case.canonical_entry.into_bytes())?;
            equal("entry hash", case.entry.hash().to_string(), case.entry_hash)?;
            let leaf: String = case.entry.leaf_hash().bytes().iter().map(|b| format!("{b:02x}")).collect();
            equal("leaf hash", leaf, case.leaf_hash)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeCase {
    #[serde(rename = "about")]
    _about: String,
    leaf_data: Vec<String>,
    root: Hash,
    paths: Vec<Vec<Hash>>,
    consistency: BTreeMap<u64, Vec<Hash>>,
}

pub fn tree(case: &[u8]) -> Outcome {
    let case: TreeCase = read(case)?;
    let leaves: Vec<_> = case.leaf_data.iter().map(|d| tree::leaf_hash(d.as_bytes())).collect();
    let size = leaves.len() as u64;
    let node = |level: u8, index: u64| complete(&leaves, level, index);

    let mut frontier = Frontier::empty();
    if !leaves.is_empty() {
        let paths = frontier.append(&leaves);
        equal("paths of one append", &paths, &case.paths)?;
    }
    equal("size", frontier.size(), size)?;
    equal("root of the frontier", frontier.root(), case.root)?;
    equal("root of the nodes", tree::root_of(size, &node), Some(case.root))?;
    equal("number of paths", case.paths.len(), leaves.len())?;
    for (index, path) in (0..).zip(&case.paths) {
        let made = tree::inclusion_path(index, size, &node);
        equal("path", made.as_ref(), Some(path))?;
        let leaf = complete(&leaves, 0, index).ok_or("no such leaf")?;
        tree::verify_inclusion(&leaf, index, size, path, &case.root).map_err(|e| e.to_string())?;
    }
    equal("number of prefixes", case.consistency.len() as u64, size.saturating_sub(1))?;
    for (old, path) in &case.consistency {
        let made = tree::consistency_path(*old, size, &node);
        equal("consistency", made.as_ref(), Some(path))?;
        let prefix = tree::root_of(*old, &node).ok_or("no such prefix")?;
        tree::verify_consistency(*old, size, path, &prefix, &case.root).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The hash of the complete subtree (level, index).
fn complete(leaves: &[Hash], level: u8, index: u64) -> Option<Hash> {
    match level {
        0 => leaves.get(usize::try_from(index).ok()?).copied(),
        _ => Some(tree::node_hash(
            &complete(leaves, level - 1, index * 2)?,
            &complete(leaves, level - 1, index * 2 + 1)?,
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointCase {
    #[serde(rename = "about")]
    _about: String,
    vkey: String,
    log_key: String,
    note: String,
    checkpoint: Option<Said>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Said {
    origin: String,
    size: u64,
    root: Hash,
}

pub fn checkpoint(case: &[u8]) -> Outcome {
    let case: CheckpointCase = read(case)?;
    let key = PublicKey::parse(&case.log_key).map_err(|e| e.to_string())?;
    let name = case.vkey.split('+').next().unwrap_or("");
    equal("vkey", note::vkey(name, &key), case.vkey.clone())?;
    let said = Checkpoint::verify(&case.note, &key).ok().map(|c| Said {
        origin: c.origin,
        size: c.size,
        root: c.root,
    });
    equal("checkpoint", said, case.checkpoint)
}
