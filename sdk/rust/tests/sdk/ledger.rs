//! A ledger of these tests: it signs decisions, gives them places, and serves its checkpoint and tiles.

use super::world::{ACTION, ISSUER, PROJECT, key_set, merge, nonce};
use counterfoil_sdk::clock;
use counterfoil_sdk::fetch::{Bounds, Fetch, FetchError, Later};
use counterfoil_sdk::formats::checkpoint::Checkpoint;
use counterfoil_sdk::formats::commitment::{OpeningSeed, document_value};
use counterfoil_sdk::formats::digest::Digest;
use counterfoil_sdk::formats::entry::{Entry, Kind, genesis};
use counterfoil_sdk::formats::id::ProjectId;
use counterfoil_sdk::formats::issuer::Issuer;
use counterfoil_sdk::formats::json::canonical;
use counterfoil_sdk::formats::key::{self, Jwk, Purpose, SigningKey};
use counterfoil_sdk::formats::nonce::base64url;
use counterfoil_sdk::formats::receipt::Receipt;
use counterfoil_sdk::formats::time::Timestamp;
use counterfoil_sdk::formats::tree::{Hash, inclusion_path, node_hash, root_of};
use serde_json::{Value, json};
use std::sync::Mutex;

fn decision_key() -> SigningKey<key::Decision> {
    SigningKey::from_seed(&[0x11; 32])
}

fn log_key() -> SigningKey<key::Log> {
    SigningKey::from_seed(&[0x14; 32])
}

pub fn pinned_keys() -> String {
    let decision = Jwk::new(decision_key().public(), Purpose::Decision);
    key_set(&[decision, Jwk::new(log_key().public(), Purpose::Log)])
}

fn seed() -> OpeningSeed {
    OpeningSeed::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
}

/// A decision about a call with these arguments, with these members instead of its own.
pub fn decision(arguments: &Value, changes: Value) -> Value {
    let digest = Digest::of(b"something");
    let mut decision = json!({
        "typ": "decision/v1", "iss": ISSUER, "project": PROJECT, "env": "live", "action": ACTION, "follows": null,
        "supersedes": null, "session": null, "run": null, "at": clock::now(), "nonce": nonce(), "origin": "sdk",
        "mode": "hook", "via": "key_1", "agent": "agt_019355a0c0007000800000000000d001", "principal": null,
        "provider": "notes", "tool": "note_write", "pin": digest, "class": null, "shape": {},
        "args": seed().commit("args", &document_value(arguments)).commitment(),
        "facts": seed().commit("facts", &digest.to_string()).commitment(), "verdict": "ALLOW", "reason": "rule",
        "rules": ["notes-update"], "policy": digest, "grants": digest, "control": 1, "gen": 0,
        "effect": "enforced", "marks": [], "hold": null, "answers": null, "capability": null, "ask": null,
        "quote": null, "plan": null,
    });
    merge(&mut decision, changes);
    decision
}

pub struct Ledger {
    log: SigningKey<key::Log>,
    grown: Mutex<Grown>,
}

#[derive(Default)]
struct Grown {
    leaves: Vec<Hash>,
    prev: Option<Digest>,
}

impl Ledger {
    pub fn new() -> Self {
        Self { log: log_key(), grown: Mutex::default() }
    }

    /// Under a log key that nobody pinned.
    pub fn by_a_stranger() -> Self {
        Self { log: SigningKey::from_seed(&[0x77; 32]), grown: Mutex::default() }
    }

    /// This ledger as it was at a smaller size, or under another log key.
    pub fn with_leaves(mut self, other: &Self, size: usize) -> Self {
        self.grown = Mutex::new(Grown { leaves: other.grown().leaves[..size].to_vec(), prev: None });
        self
    }

    fn grown(&self) -> std::sync::MutexGuard<'_, Grown> {
        self.grown.lock().expect("no test broke off inside")
    }

    /// The receipt of a decision's place.
    pub fn append(&self, decision: &Value) -> Value {
        self.append_signed(decision, &decision_key())
    }

    pub fn append_signed(&self, decision: &Value, key: &SigningKey<key::Decision>) -> Value {
        let sig = base64url(&key.sign(&canonical(decision)));
        let statement =
            json!({ "payload": decision, "signature": { "alg": "Ed25519", "kid": key.kid(), "sig": sig } });
        let body = canonical(&statement);
        let project: ProjectId = PROJECT.parse().expect("an id");
        let at = Timestamp::parse(decision["at"].as_str().expect("a time")).expect("a time").plus_millis(1);
        let mut grown = self.grown();
        let prev = grown.prev.unwrap_or_else(|| genesis(project));
        let entry =
            Entry::new(project, grown.leaves.len() as u64, at, Kind::Decision, Digest::of(&body), prev);
        grown.prev = Some(entry.hash());
        grown.leaves.push(entry.leaf_hash());
        let size = grown.leaves.len() as u64;
        let path =
            inclusion_path(entry.seq, size, &|level, at| node(&grown.leaves, level, at)).expect("inside");
        let note = self.note(&grown.leaves);
        let receipt = Receipt::new(&body, entry, &path, &note).expect("JSON");
        serde_json::from_slice(&receipt.bytes()).expect("JSON")
    }

    /// As many receipts of ordinary decisions, as texts.
    pub fn grow(&self, count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|_| self.append(&decision(&json!({}), json!({}))).to_string().into_bytes()).collect()
    }

    fn note(&self, leaves: &[Hash]) -> String {
        let issuer: Issuer = ISSUER.parse().expect("an issuer");
        let size = leaves.len() as u64;
        let root = root_of(size, &|level, at| node(leaves, level, at)).expect("all leaves are here");
        Checkpoint { origin: issuer.origin(), size, root }.sign(&self.log)
    }

    /// What lies below the log's address.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        let grown = self.grown();
        if path == "checkpoint" {
            return Some(self.note(&grown.leaves).into_bytes());
        }
        let mut parts = path.strip_prefix("tile/")?.split('/');
        let level: u8 = parts.next()?.parse().ok()?;
        let index: u64 = parts.next()?.trim_end_matches(".p").parse().ok()?;
        let count: u64 = parts.next().map_or(Ok(256), str::parse).ok()?;
        let hashes = (0..count).map(|at| node(&grown.leaves, level * 8, index * 256 + at));
        Some(hashes.collect::<Option<Vec<_>>>()?.iter().flat_map(|hash| *hash.bytes()).collect())
    }
}

fn node(leaves: &[Hash], level: u8, index: u64) -> Option<Hash> {
    match level {
        0 => leaves.get(usize::try_from(index).ok()?).copied(),
        _ => Some(node_hash(&node(leaves, level - 1, index * 2)?, &node(leaves, level - 1, index * 2 + 1)?)),
    }
}

pub const ADDRESS: &str = "https://log.example";

impl Fetch for Ledger {
    fn get<'f>(&'f self, address: &'f str, _: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>> {
        let path = address.strip_prefix(ADDRESS).map(|path| path.trim_start_matches('/'));
        let file = path.and_then(|path| self.file(path));
        Box::pin(async move { file.ok_or_else(|| FetchError(format!("`{address}`: 404"))) })
    }
}

/// What the verdict API answers, with these members instead of its own.
pub fn answer(receipt: &Value, changes: Value) -> Value {
    let payload = &receipt["statement"]["payload"];
    let digest = receipt["entry"]["body"].as_str().expect("a digest");
    let mut answer = json!({
        "action_id": payload["action"],
        "decision": {
            "decision_id": digest.replace("sha256:", "dec_"), "verdict": payload["verdict"], "engine": "test",
            "effect": payload["effect"],
        },
        "dev.counterfoil/receipt": {
            "typ": "receipt-full/v1", "receipt": receipt, "openings": [["args", seed().salt("args")]],
        },
    });
    merge(&mut answer, changes);
    answer
}
