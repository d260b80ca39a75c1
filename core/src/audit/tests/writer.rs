//! Writes a small ledger the way the evidence service does: every kind of statement, two commits on each side of
//! midnight, keys that come and go.

use super::rows::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, Rows};
use super::statements;
use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::entry::{Entry, genesis};
use crate::envelope::{Envelope, Signed};
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::key::{Decision, KeyPurpose, Ledger, Log, Purpose, SigningKey};
use crate::projection::Projection;
use crate::statement::{Counts, KeyEvent, KeyStatement, PublishedType, Statement};
use crate::time::Timestamp;
use crate::tree::Frontier;
use serde::Serialize;
use std::rc::Rc;

pub(crate) fn project() -> ProjectId {
    ProjectId::from_uuid(uuid::Uuid::from_u128(0x0192_0000_7000_8000_0000_0000_0000_0001))
}

pub(crate) fn issuer() -> Issuer {
    "https://gw.example/p/7-k3m9q2v8".parse().expect("good issuer")
}

/// 2026-11-30T23:59:00Z: a minute before midnight.
pub(crate) const START: i64 = 1_796_083_140_000;

/// What decides, as the statements carry it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) control: u64,
    pub(crate) floor: u64,
    pub(crate) generation: u64,
}

pub(crate) struct Writer {
    pub(crate) ledger: Rc<SigningKey<Ledger>>,
    pub(crate) log: Rc<SigningKey<Log>>,
    pub(crate) decision: Rc<SigningKey<Decision>>,
    pub(crate) now: Timestamp,
    pub(crate) numbers: Numbers,
    pub(crate) policy: Digest,
    frontier: Frontier,
    last_hash: Digest,
    first_of_day: u64,
    counts: Counts,
    waiting: Vec<Vec<u8>>,
    pub(crate) rows: Rows,
}

impl Writer {
    pub(crate) fn new() -> Self {
        let log = Rc::new(SigningKey::from_seed(&[2; 32]));
        let rows = Rows {
            log: log.public().clone(),
            entries: Vec::new(),
            checkpoints: Vec::new(),
            head: empty_head(),
            keys: Vec::new(),
            documents: Vec::new(),
            tombstones: Vec::new(),
        };
        Self {
            ledger: Rc::new(SigningKey::from_seed(&[1; 32])),
            log,
            decision: Rc::new(SigningKey::from_seed(&[3; 32])),
            now: Timestamp::from_millis(START).expect("within range"),
            numbers: Numbers::default(),
            policy: Digest::of(b"no policy"),
            frontier: Frontier::empty(),
            last_hash: genesis(project()),
            first_of_day: 0,
            counts: Counts::new(),
            waiting: Vec::new(),
            rows,
        }
    }

    /// Signs a statement that goes into the next commit.
    pub(crate) fn state<T: Serialize, P: KeyPurpose>(&mut self, statement: T, key: &SigningKey<P>) -> Digest {
        let signed = Signed::sign(statement, key);
        self.waiting.push(signed.bytes().to_vec());
        signed.digest()
    }

    /// A key/v1 in a commit of its own or with others, and its row.
    pub(crate) fn key<S: KeyPurpose, P: KeyPurpose>(
        &mut self,
        event: KeyEvent,
        key: &SigningKey<S>,
        by: &SigningKey<P>,
    ) {
        self.numbers.control += 1;
        let seq = self.next_seq();
        let said: KeyStatement = statements::key(event, key, self.numbers, self.now);
        let (thumbprint, at) = (key.kid().to_string(), self.now.millis());
        match event {
            KeyEvent::Introduced => self.rows.keys.push(KeyRow {
                thumbprint,
                purpose: Purpose::as_str(S::PURPOSE).to_owned(),
                x: key.public().x(),
                introduced: seq,
                introduced_at: at,
                ended: None,
                revoked: false,
            }),
            KeyEvent::Retired | KeyEvent::Revoked => {
                let rows = &mut self.rows.keys;
                let row =
                    rows.iter_mut().find(|row| row.thumbprint == thumbprint).expect("introduced before");
                (row.ended, row.revoked) = (Some((seq, at)), event == KeyEvent::Revoked);
            }
        }
        self.state(said, by);
    }

    pub(crate) fn publish(&mut self, typ: PublishedType, text: &str) {
        self.numbers.control += 1;
        if typ == PublishedType::Registry {
            self.numbers.floor = self.numbers.control;
        }
        let document = Digest::of(text.as_bytes());
        self.policy = Digest::of(format!("bundle {}", self.numbers.control).as_bytes());
        let said = statements::published(typ, document, self.policy, self.numbers, self.now);
        self.rows.documents.push(DocumentRow {
            seq: self.next_seq(),
            kind: typ.kind().to_string(),
            digest: document.bytes().to_vec(),
            text: text.to_owned(),
        });
        match typ {
            PublishedType::Registry => self.rows.head.registry = Some(document.bytes().to_vec()),
            PublishedType::Rules => self.rows.head.rules = Some(document.bytes().to_vec()),
        }
        let ledger = Rc::clone(&self.ledger);
        self.state(said, &ledger);
    }

    fn next_seq(&self) -> i64 {
        i64::try_from(self.frontier.size()).expect("small")
            + i64::try_from(self.waiting.len()).expect("small")
    }

    /// The record transaction: number, hash, grow the tree, sign, move the head.
    pub(crate) fn commit(&mut self) {
        let bodies = std::mem::take(&mut self.waiting);
        let entries: Vec<(Entry, Vec<u8>, Projection)> =
            bodies.into_iter().map(|body| self.number(body)).collect();
        let leaves: Vec<_> = entries.iter().map(|(entry, _, _)| entry.leaf_hash()).collect();
        let paths = self.frontier.append(&leaves);
        let (size, root) = (self.frontier.size(), self.frontier.root());
        let stored_size = i64::try_from(size).expect("small");
        for ((entry, body, projection), path) in entries.into_iter().zip(paths) {
            self.rows.entries.push(EntryRow {
                seq: i64::try_from(entry.seq).expect("small"),
                at: entry.at.millis(),
                kind: entry.kind.to_string(),
                body_digest: entry.body.bytes().to_vec(),
                prev: entry.prev.bytes().to_vec(),
                hash: entry.hash().bytes().to_vec(),
                body: Some(body),
                path: path.iter().flat_map(|node| *node.bytes()).collect(),
                checkpoint_size: stored_size,
                projection,
            });
        }
        let note = Checkpoint { origin: issuer().origin(), size, root }.sign(&self.log);
        let (root, at) = (root.bytes().to_vec(), self.now.millis());
        self.rows.checkpoints.push(CheckpointRow { size: stored_size, root, at, note });
        self.move_head();
    }

    /// The first append of the next day closes the one before.
    pub(crate) fn tomorrow(&mut self) {
        let (yesterday, first, last) = (self.now.epoch(), self.first_of_day, self.frontier.size() - 1);
        self.forget_yesterday();
        let counts = std::mem::take(&mut self.counts);
        let closing = statements::epoch(&yesterday, first, last, self.frontier.root(), counts, self.now);
        let ledger = Rc::clone(&self.ledger);
        self.state(closing, &ledger);
        self.first_of_day = self.frontier.size();
    }

    /// A day passes and nobody closes it.
    pub(crate) fn forget_yesterday(&mut self) {
        self.now = self.now.plus_millis(24 * 3600 * 1000);
    }

    fn number(&mut self, body: Vec<u8>) -> (Entry, Vec<u8>, Projection) {
        let statement: Statement =
            Envelope::parse(&body).expect("our own").statement().expect("of a type we know");
        let seq = self.counts.values().sum::<u64>() + self.first_of_day;
        let entry = Entry::new(project(), seq, self.now, statement.kind(), Digest::of(&body), self.last_hash);
        self.last_hash = entry.hash();
        *self.counts.entry(entry.kind).or_insert(0) += 1;
        (entry, body, Projection::of(&statement))
    }

    fn move_head(&mut self) {
        let last = self.rows.checkpoints.last().expect("one was pushed");
        let head = &mut self.rows.head;
        (head.size, head.root, head.checkpoint) = (last.size, last.root.clone(), last.note.clone());
        head.frontier = self.frontier.to_bytes();
        head.last_hash = self.last_hash.bytes().to_vec();
        head.last_at = self.now.millis();
        head.epoch_first = i64::try_from(self.first_of_day).expect("small");
        head.epoch_counts = serde_json::to_string(&self.counts).expect("text keys");
        head.control = i64::try_from(self.numbers.control).expect("small");
        head.floor = i64::try_from(self.numbers.floor).expect("small");
        head.generation = i64::try_from(self.numbers.generation).expect("small");
        head.policy = (head.registry.is_some() && head.rules.is_some()).then(|| self.policy.bytes().to_vec());
    }
}

fn empty_head() -> HeadRow {
    HeadRow {
        size: 0,
        root: crate::tree::Hash::empty_root().bytes().to_vec(),
        frontier: Vec::new(),
        last_hash: genesis(project()).bytes().to_vec(),
        last_at: START,
        epoch_first: 0,
        epoch_counts: "{}".to_owned(),
        control: 0,
        floor: 0,
        generation: 0,
        killed: false,
        policy: None,
        registry: None,
        rules: None,
        stopped: String::new(),
        breakglass_until: None,
        shadow_until: None,
        checkpoint: String::new(),
    }
}
