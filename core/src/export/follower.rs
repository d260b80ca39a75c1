//! Verifying a record as it comes, line by line.

use super::absences::Absences;
use super::{EntryLine, Line};
use crate::audit::control::Control;
use crate::audit::day::Day;
use crate::audit::keys::Keys;
use crate::audit::{Broken, Fault, Place, Trust, body};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::digest::Digest;
use crate::entry::{Entry, Kind, genesis};
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::receipt::is_skewed;
use crate::statement::Statement;
use crate::time::Timestamp;
use crate::tree::{Frontier, Hash};

/// Memory does not grow with the number of entries, but with the number of absent bodies whose tombstone is still to
/// come, and those lie in runs.
#[derive(Debug)]
pub struct Follower {
    issuer: Issuer,
    trust: Trust,
    /// As entry 0 names it: the ledger key that was pinned signed for it.
    project: Option<ProjectId>,
    frontier: Frontier,
    last_hash: Option<Digest>,
    last_at: Option<Timestamp>,
    keys: Keys,
    control: Control,
    day: Day,
    absences: Absences,
    /// The newest checkpoint that the record passed through.
    newest: Option<String>,
}

/// Why a record is no longer followed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Contradiction {
    #[error("BROKEN: {0}")]
    Broken(#[from] Broken),
    /// Both notes are signed; the later one has fewer entries.
    #[error("SHRUNK: the record had {had} entries, and its newest checkpoint says {size}")]
    Shrunk { had: u64, size: u64, kept: Option<String>, newest: String },
    /// Both notes are signed, and no record passes through both.
    #[error("FORKED: two signed checkpoints of size {size} have different roots")]
    Forked { size: u64, kept: String, newest: String },
}

impl Follower {
    /// From entry 0 on. `trust` needs the log keys and the ledger keys of that issuer.
    pub fn new(issuer: Issuer, trust: Trust) -> Self {
        Self {
            issuer,
            keys: Keys::trusting(&trust.ledger),
            trust,
            project: None,
            frontier: Frontier::empty(),
            last_hash: None,
            last_at: None,
            control: Control::default(),
            day: Day::default(),
            absences: Absences::default(),
            newest: None,
        }
    }

    /// How many entries were found right so far: the seq of the next one.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The newest checkpoint that the record passed through.
    pub fn checkpoint(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    pub fn follow(&mut self, line: &Line) -> Result<(), Contradiction> {
        match line {
            Line::Entry(line) => Ok(self.entry(line)?),
            Line::Checkpoint(line) => self.pass_through(&line.checkpoint),
        }
    }

    /// To be asked where the stream has nothing more: every body that did not come was buried by then.
    pub fn nothing_is_missing(&self) -> Result<(), Broken> {
        match self.absences.first() {
            Some(seq) => Err(at(seq, "body").is(Fault::NoTombstone)),
            None => Ok(()),
        }
    }

    fn entry(&mut self, line: &EntryLine) -> Result<(), Broken> {
        let (entry, seq) = (&line.entry, self.size());
        let project = *self.project.get_or_insert(entry.project);
        at(seq, "seq").same(entry.seq, seq)?;
        at(seq, "project").same(entry.project, project)?;
        at(seq, "epoch").same(&entry.epoch, &entry.at.epoch())?;
        at(seq, "prev").same(entry.prev, self.last_hash.unwrap_or_else(|| genesis(project)))?;
        if let Some(last) = self.last_at.filter(|last| entry.at < *last) {
            return Err(at(seq, "at").is(Fault::TimeGoesBack(last)));
        }
        let statement = match &line.body {
            Some(body) => Some(self.statement(body.get().as_bytes(), entry)?),
            None => {
                self.may_be_absent(entry)?;
                None
            }
        };
        self.take(statement.as_ref(), entry)?;
        self.append(entry)
    }

    fn may_be_absent(&mut self, entry: &Entry) -> Result<(), Broken> {
        if !entry.kind.can_be_erased() {
            return Err(at(entry.seq, "body").is(Fault::NotErasable(entry.kind)));
        }
        self.absences.note(entry.seq, &entry.epoch);
        Ok(())
    }

    fn statement(&self, bytes: &[u8], entry: &Entry) -> Result<Statement, Broken> {
        let place = |column| at(entry.seq, column);
        place("body").same(Digest::of(bytes), entry.body)?;
        let envelope = body::parse(bytes).map_err(|fault| place("body").is(fault))?;
        let statement = envelope.statement().map_err(|error| place("body").unreadable(error))?;
        body::signed(&envelope, &statement, &self.keys, entry.seq)
            .map_err(|fault| place("body").is(fault))?;
        place("kind").same(entry.kind, statement.kind())?;
        place("body").same(statement.project(), entry.project)?;
        if let Some(issuer) = statement.issuer() {
            place("body").same(issuer, &self.issuer)?;
        }
        match &statement {
            Statement::Decision(decision) if is_skewed(decision.at, entry.at) => {
                Err(place("at").is(Fault::Skew(decision.at)))
            }
            _ => Ok(statement),
        }
    }

    /// Takes over what a statement changes.
    fn take(&mut self, statement: Option<&Statement>, entry: &Entry) -> Result<(), Broken> {
        let fault = |column| move |fault| at(entry.seq, column).is(fault);
        // Only an epoch entry asks for the root, which costs a hash for every level of the tree.
        let root = if entry.kind == Kind::Epoch { self.frontier.root() } else { Hash::empty_root() };
        self.day.follow(entry, statement, root).map_err(fault("kind"))?;
        let Some(statement) = statement else { return Ok(()) };
        self.control.follow(statement, entry.at).map_err(fault("body"))?;
        match statement {
            Statement::Key(said) => {
                self.keys.follow(said, signed(entry.seq), entry.at).map_err(fault("body"))
            }
            Statement::Tombstone(said) => {
                self.absences.explain(said);
                Ok(())
            }
            Statement::Decision(_)
            | Statement::Observation(_)
            | Statement::Received(_)
            | Statement::Published(_)
            | Statement::Epoch(_)
            | Statement::Finding(_)
            | Statement::Clearance(_)
            | Statement::Resolution(_)
            | Statement::Coverage(_)
            | Statement::Settings(_)
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

    fn append(&mut self, entry: &Entry) -> Result<(), Broken> {
        self.frontier.grow(entry.leaf_hash());
        (self.last_hash, self.last_at) = (Some(entry.hash()), Some(entry.at));
        match self.trust.held.get(&self.size()) {
            Some(held) if *held != self.frontier.root() => Err(at(entry.seq, "prev").is(Fault::Differs {
                stored: format!("root {}", self.frontier.root()),
                follows: format!("root {held} of the checkpoint held for size {}", self.size()),
            })),
            Some(_) | None => Ok(()),
        }
    }

    /// A checkpoint is that of the tree so far, or it contradicts what came before.
    fn pass_through(&mut self, note: &str) -> Result<(), Contradiction> {
        let checkpoint = self.verified(note)?;
        let (size, newest) = (checkpoint.size, note.to_owned());
        if size < self.size() {
            let kept = self.newest.clone();
            return Err(Contradiction::Shrunk { had: self.size(), size, kept, newest });
        }
        let place = |column| Place::Checkpoint { size: signed(size), column };
        place("size").same(size, self.size())?;
        if checkpoint.root != self.frontier.root() {
            let kept = self.newest.clone();
            let of_the_same = kept.filter(|kept| self.verified(kept).is_ok_and(|kept| kept.size == size));
            return Err(match of_the_same {
                Some(kept) => Contradiction::Forked { size, kept, newest },
                None => {
                    let (stored, follows) = (checkpoint.root.to_string(), self.frontier.root().to_string());
                    place("root").is(Fault::Differs { stored, follows }).into()
                }
            });
        }
        self.newest = Some(newest);
        Ok(())
    }

    fn verified(&self, note: &str) -> Result<Checkpoint, Broken> {
        let place = |column| Place::Checkpoint { size: signed(self.size()), column };
        let mut why = Fault::UntrustedLogKey;
        for key in &self.trust.log {
            match Checkpoint::verify(note, key) {
                Ok(checkpoint) => {
                    place("note").same(checkpoint.origin.as_str(), &self.issuer.origin())?;
                    return Ok(checkpoint);
                }
                Err(CheckpointError::Note(crate::note::NoteError::NotByThisKey)) => {}
                Err(error) => why = error.into(),
            }
        }
        Err(place("note").is(why))
    }
}

fn at(seq: u64, column: &'static str) -> Place {
    Place::Entry { seq: signed(seq), column }
}

fn signed(number: u64) -> i64 {
    crate::audit::keys::signed(number)
}
