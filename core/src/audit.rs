//! The audit of a project's ledger: everything that was stored, recomputed from the signed bodies.
//!
//! Promised: a ledger that is found clean is one chain without holes under checkpoints that the trusted log keys
//! signed; every body was signed by a key that an entry before it introduced and none ended; what decides, the days,
//! the keys, the head and every column that finds rows follow from the entries. Otherwise the first thing that does
//! not is named: `entry 41, column verdict: is `ALLOW`; the rest of the record gives `DENY``.
//! Not promised: that the end is the end. Whoever holds every key can cut the record to an older, genuine state; a
//! checkpoint kept elsewhere ([`Trust::held`]) or a receipt shows it. Columns of an erased body are not compared.
//!
//! The order of calls: [`Auditor::checkpoint`] whenever [`Auditor::wants_checkpoint`], [`Auditor::entry`] by seq,
//! then documents, then [`Auditor::finish`]. Memory does not grow with the number of entries.

pub(crate) mod answers;
pub(crate) mod body;
mod broken;
mod columns;
mod commit;
pub(crate) mod control;
pub(crate) mod day;
pub(crate) mod grants;
pub(crate) mod graves;
pub(crate) mod keys;
mod sessions;
mod stored;

pub use broken::{Broken, Fault, Place};
pub use control::listed;
pub use stored::{
    StoredCheckpoint, StoredColumns, StoredDocument, StoredEntry, StoredHead, StoredKey, StoredProject,
    StoredSession, StoredTombstone,
};

use crate::digest::{Digest, hex};
use crate::entry::{Entry, Kind, genesis};
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::key::PublicKey;
use crate::receipt::is_skewed;
use crate::statement::{SettingName, Statement};
use crate::time::Timestamp;
use crate::tree::{Frontier, Hash};
use answers::Answers;
use columns::Columns;
use commit::Commit;
use control::Control;
use day::Day;
use grants::Grants;
use graves::Graves;
use keys::{Keys, signed};
use sessions::Sessions;
use std::collections::BTreeMap;

/// What the auditor brings along. Keys that come with the ledger prove only that it agrees with itself.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Keys that may sign checkpoints.
    pub log: Vec<PublicKey>,
    /// The first ledger key must be one of these; with none here, it is believed.
    pub ledger: Vec<PublicKey>,
    /// Checkpoints seen before: the record must pass through each.
    pub held: BTreeMap<u64, Hash>,
}

/// What was found where nothing is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clean {
    pub size: u64,
    pub root: Hash,
    /// Entries whose body is there and was checked.
    pub verified: u64,
    /// Entries whose body was emptied under a tombstone.
    pub erased: u64,
}

#[derive(Debug)]
pub struct Auditor {
    project: ProjectId,
    issuer: Issuer,
    trust: Trust,
    tombstones: Vec<StoredTombstone>,
    graves: Graves,
    frontier: Frontier,
    last_hash: Digest,
    last_at: Option<Timestamp>,
    last_note: String,
    commit: Option<Commit>,
    keys: Keys,
    control: Control,
    answers: Answers,
    grants: Grants,
    sessions: Sessions,
    day: Day,
    /// Which documents the chain asks for.
    documents: BTreeMap<i64, (Kind, Digest)>,
    /// What the tombstones of the chain say.
    buried: Vec<StoredTombstone>,
    /// What was set last; none once the body that says it was erased.
    settings: Option<BTreeMap<SettingName, String>>,
    erased: u64,
}

impl Auditor {
    pub fn new(project: ProjectId, issuer: Issuer, trust: Trust, tombstones: Vec<StoredTombstone>) -> Self {
        let keys = Keys::trusting(&trust.ledger);
        let graves = Graves::claimed(tombstones.iter().filter_map(body::claim));
        Self {
            project,
            issuer,
            trust,
            tombstones,
            graves,
            frontier: Frontier::empty(),
            last_hash: genesis(project),
            last_at: None,
            last_note: String::new(),
            commit: None,
            keys,
            control: Control::default(),
            answers: Answers::default(),
            grants: Grants::default(),
            sessions: Sessions::default(),
            day: Day::default(),
            documents: BTreeMap::new(),
            buried: Vec::new(),
            settings: Some(BTreeMap::new()),
            erased: 0,
        }
    }

    /// How many entries were found right so far: the seq of the next one.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Whether the next row of `checkpoints`, by size, is due before the next entry.
    pub fn wants_checkpoint(&self) -> bool {
        self.commit.is_none()
    }

    /// The checkpoint of the next commit.
    pub fn checkpoint(&mut self, row: &StoredCheckpoint<'_>) -> Result<(), Broken> {
        if let Some(open) = &self.commit {
            return Err(open.unfinished(self.size()));
        }
        self.commit = Some(Commit::open(row, self.size(), &self.issuer.origin(), &self.trust.log)?);
        Ok(())
    }

    pub fn entry(&mut self, row: &StoredEntry<'_>) -> Result<(), Broken> {
        let at = |column| Place::Entry { seq: row.seq, column };
        self.is_next(row.seq)?;
        let columns = Columns::read(row)?;
        at("prev").same(columns.prev, self.last_hash)?;

        let statement = self.statement(row, &columns)?;
        let entry = columns.entry(self.project, self.size());
        let commit = self.commit.as_ref().ok_or_else(|| {
            Place::Checkpoint { size: row.checkpoint_size, column: "size" }.is(Fault::Missing)
        })?;
        commit.holds(&entry, row, &columns, statement.is_some())?;

        self.time(&entry, statement.as_ref()).map_err(|fault| at("at").is(fault))?;
        if statement.is_none() && !self.graves.cover(entry.seq, &entry.epoch) {
            return Err(at("body").is(Fault::NoTombstone));
        }
        if let Some(statement) = &statement {
            body::projected(row, statement)?;
            self.follow(statement, row.seq, entry.at).map_err(|fault| at("body").is(fault))?;
        }
        self.answers.follow(statement.as_ref(), &entry).map_err(|fault| at("body").is(fault))?;
        self.sessions.follow(statement.as_ref(), &entry);
        let root = self.frontier.root();
        self.day.follow(&entry, statement.as_ref(), root).map_err(|fault| at("kind").is(fault))?;
        self.append(&entry)?;
        if statement.is_none() && entry.kind == Kind::Settings {
            self.settings = None;
        }
        self.erased += u64::from(statement.is_none());
        Ok(())
    }

    /// A row of `documents`, after the entries.
    pub fn document(&mut self, row: &StoredDocument<'_>) -> Result<(), Broken> {
        let at = |column| Place::Document { seq: row.seq, column };
        let (kind, digest) = self.documents.remove(&row.seq).ok_or_else(|| at("seq").is(Fault::Surplus))?;
        at("kind").same(row.kind, kind.as_str())?;
        at("digest").same(hex(row.digest), digest.hex())?;
        at("text").same(Digest::of(row.text.as_bytes()), digest)
    }

    /// A row of `sessions`, after the entries.
    pub fn session(&self, row: &StoredSession<'_>) -> Result<(), Broken> {
        self.sessions.compare(row.key, row.running)
    }

    /// A column of `projects` that repeats a setting, after the entries; `unset` is its value where nobody said anything.
    pub fn setting(&self, name: &SettingName, stored: &str, unset: &str) -> Result<(), Broken> {
        let Some(settings) = &self.settings else { return Ok(()) };
        let follows = settings.get(name).map_or(unset, String::as_str);
        Place::Setting { name: name.clone() }.same(stored, follows)
    }

    /// Compares the head and the table of keys with what the entries gave.
    pub fn finish(self, head: &StoredHead<'_>, keys: &[StoredKey<'_>]) -> Result<Clean, Broken> {
        let at = |column| Place::Head { column };
        let size = self.size();
        if head.size > signed(size) {
            return Err(self.place_of_next("seq").is(Fault::Missing));
        }
        if let Some(open) = &self.commit {
            return Err(open.unfinished(size));
        }
        at("size").same(head.size, signed(size))?;
        at("root").same(hex(head.root), hex(self.frontier.root().bytes()))?;
        at("frontier").same(hex(head.frontier), hex(&self.frontier.to_bytes()))?;
        at("last_hash").same(hex(head.last_hash), self.last_hash.hex())?;
        if let Some(last_at) = self.last_at {
            at("last_at").same(head.last_at, last_at.millis())?;
        }
        at("checkpoint").same(head.checkpoint, &self.last_note)?;
        self.control.compare(head)?;
        self.day.compare(head)?;
        self.keys.compare(keys)?;
        if let Some(seq) = self.documents.keys().next() {
            return Err(Place::Document { seq: *seq, column: "seq" }.is(Fault::Missing));
        }
        body::same_tombstones(&self.tombstones, &self.buried)?;
        if let Some(ahead) = self.trust.held.keys().find(|held| **held > size) {
            let (stored, follows) = (size.to_string(), format!("at least {ahead}"));
            return Err(at("size").is(Fault::Differs { stored, follows }));
        }
        Ok(Clean { size, root: self.frontier.root(), verified: size - self.erased, erased: self.erased })
    }

    fn place_of_next(&self, column: &'static str) -> Place {
        Place::Entry { seq: signed(self.size()), column }
    }

    fn is_next(&self, seq: i64) -> Result<(), Broken> {
        let expected = signed(self.size());
        match seq.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(self.place_of_next("seq").is(Fault::Missing)),
            std::cmp::Ordering::Less => {
                Err(Place::Entry { seq, column: "seq" }.is(Fault::OutOfOrder { expected }))
            }
        }
    }

    /// The statement of a body, signed by a key that counts here; `None` where it is absent and may be.
    fn statement(&self, row: &StoredEntry<'_>, columns: &Columns) -> Result<Option<Statement>, Broken> {
        let at = |column| Place::Entry { seq: row.seq, column };
        let Some(body) = row.body else {
            return match columns.kind.can_be_erased() {
                true => Ok(None),
                false => Err(at("body").is(Fault::NotErasable(columns.kind))),
            };
        };
        let envelope = body::parse(body).map_err(|fault| at("body").is(fault))?;
        let statement = envelope.statement().map_err(|error| at("body").unreadable(error))?;
        body::signed(&envelope, &statement, &self.keys, self.size()).map_err(|fault| at("body").is(fault))?;
        // The signature says that the body is right, so a difference is in the column.
        at("body_digest").same(columns.body, Digest::of(body))?;
        at("body").same(statement.project(), self.project)?;
        if let Some(issuer) = statement.issuer() {
            at("body").same(issuer, &self.issuer)?;
        }
        at("kind").same(columns.kind, statement.kind())?;
        Ok(Some(statement))
    }

    fn time(&self, entry: &Entry, statement: Option<&Statement>) -> Result<(), Fault> {
        match (self.last_at, statement) {
            (Some(last), _) if entry.at < last => Err(Fault::TimeGoesBack(last)),
            (_, Some(Statement::Decision(decision))) if is_skewed(decision.at, entry.at) => {
                Err(Fault::Skew(decision.at))
            }
            _ => Ok(()),
        }
    }

    fn follow(&mut self, statement: &Statement, seq: i64, at: Timestamp) -> Result<(), Fault> {
        self.control.follow(statement, at)?;
        self.grants.follow(statement, at)?;
        match statement {
            Statement::Key(said) => self.keys.follow(said, seq, at),
            Statement::Published(said) => {
                self.documents.insert(seq, (said.typ.kind(), said.document));
                Ok(())
            }
            Statement::Settings(said) => {
                if let Some(settings) = &mut self.settings {
                    settings.insert(said.name.clone(), said.value.to_string());
                }
                Ok(())
            }
            Statement::Tombstone(said) => {
                self.buried.push(body::tombstone(said, seq)?);
                body::of_one_day(said, &self.graves.excused_by(self.size()))
            }
            Statement::Decision(_)
            | Statement::Observation(_)
            | Statement::Received(_)
            | Statement::Epoch(_)
            | Statement::Finding(_)
            | Statement::Clearance(_)
            | Statement::Resolution(_)
            | Statement::Coverage(_)
            | Statement::Kill(_)
            | Statement::Incident(_)
            | Statement::Hold(_)
            | Statement::Answer(_)
            | Statement::Grant(_)
            | Statement::Resume(_)
            | Statement::Breakglass(_)
            | Statement::Probe(_)
            | Statement::Shadow(_)
            | Statement::Session(_) => Ok(()),
        }
    }

    /// The entry is right: it becomes part of the tree, and closes its commit if it is the last one.
    fn append(&mut self, entry: &Entry) -> Result<(), Broken> {
        self.frontier.append(&[entry.leaf_hash()]);
        (self.last_hash, self.last_at) = (entry.hash(), Some(entry.at));
        let (size, root) = (self.size(), self.frontier.root());
        if let Some(held) = self.trust.held.get(&size)
            && *held != root
        {
            return Err(self.place_of_next("prev").is(Fault::Differs {
                stored: format!("root {root}"),
                follows: format!("root {held} of the checkpoint held for size {size}"),
            }));
        }
        match self.commit.take() {
            Some(commit) if commit.is_complete(size) => {
                commit.close(root, entry.at, &self.keys)?;
                self.last_note = commit.into_note();
            }
            open => self.commit = open,
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
