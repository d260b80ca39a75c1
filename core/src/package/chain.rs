//! One pass over the entries: chain, tree, signatures, key states, what decides, days.

mod graves;
mod keyring;

use super::base::Base;
use super::book::{Book, Due};
use super::files::{Files, Stop, broken};
use super::items::{Line, Shown, Withheld, digest_of};
use super::report::{NotChecked, Report, Verdict};
use super::trust::{Promise, Trust};
use crate::audit::answers::Answers;
use crate::audit::control::Control;
use crate::audit::day::Day;
use crate::audit::grants::Grants;
use crate::audit::{Fault, Place, body};
use crate::catalog::Catalog;
use crate::digest::Digest;
use crate::entry::{Entry, Kind, genesis};
use crate::execution::Submitted;
use crate::receipt::is_skewed;
use crate::reconcile::{DEFAULT_SIGN_WITHIN, Duty, Stated, Terms};
use crate::statement::{Decision, PublishedType, Received, ReceivedForm, Statement};
use crate::time::Timestamp;
use crate::tree::{self, Frontier, Hash};
use graves::Graves;
use keyring::Keyring;
use std::collections::BTreeMap;

pub(super) struct Chain<'a> {
    base: &'a Base,
    trust: &'a Trust<'a>,
    frontier: Frontier,
    last_hash: Option<Digest>,
    last_at: Option<Timestamp>,
    keys: Keyring<'a>,
    /// None where the package does not start at entry 0: what was in force there is not in it.
    control: Option<Control>,
    answers: Answers,
    /// As control.
    grants: Option<Grants>,
    day: Option<Day>,
    /// Registries by the control number from which they are in force.
    registries: BTreeMap<u64, Digest>,
    graves: Graves,
    book: Book,
}

impl<'a> Chain<'a> {
    pub(super) fn new(base: &'a Base, trust: &'a Trust<'a>, book: Book) -> Self {
        let whole = base.first() == 0;
        Self {
            base,
            trust,
            frontier: base.frontier.clone(),
            last_hash: whole.then(|| genesis(base.manifest.project)),
            last_at: None,
            keys: Keyring::new(base, trust),
            control: whole.then(Control::default),
            answers: if whole { Answers::default() } else { Answers::of_a_part() },
            grants: whole.then(Grants::default),
            day: whole.then(Day::default),
            registries: BTreeMap::new(),
            graves: Graves::new(&base.tombstones),
            book,
        }
    }

    pub(super) fn step(&mut self, leaf: &[u8], line: Option<Line>, report: &mut Report) -> Result<(), Stop> {
        let seq = self.frontier.size();
        if seq >= self.base.end.size {
            return Err(broken("entries.bin has more entries than new.checkpoint"));
        }
        let entry = self.entry(leaf, seq)?;
        let line =
            line.ok_or_else(|| Verdict::Incomplete(format!("statements.jsonl ends before entry {seq}")))?;
        let body = match line.shown(seq)? {
            Shown::Body(body) => Some(body),
            Shown::Withheld(withheld) => {
                self.withheld(&entry, &withheld, report);
                None
            }
            Shown::Absent => {
                self.absent(&entry, report)?;
                None
            }
        };
        let statement = match &body {
            Some(body) if digest_of(body) != entry.body => {
                return Err(at(
                    seq,
                    "body",
                    Fault::Differs { stored: digest_of(body).to_string(), follows: entry.body.to_string() },
                ));
            }
            Some(body) => Some(self.statement(body.get().as_bytes(), &entry)?),
            None => None,
        };
        self.follow(statement.as_ref(), &entry, report)?;
        report.verified += u64::from(statement.is_some());
        self.append(&entry, leaf)
    }

    /// The entry of a leaf, in canonical form and in its place in the chain.
    fn entry(&self, leaf: &[u8], seq: u64) -> Result<Entry, Stop> {
        let entry: Entry = serde_json::from_slice(leaf)
            .map_err(|error| at(seq, "leaf", Fault::Unreadable(error.to_string())))?;
        if entry.bytes() != leaf {
            return Err(at(seq, "leaf", Fault::NotCanonical));
        }
        let place = |column| Place::Entry { seq: number(seq), column };
        place("seq").same(entry.seq, seq)?;
        place("project").same(entry.project, self.base.manifest.project)?;
        place("epoch").same(&entry.epoch, &entry.at.epoch())?;
        if let Some(last_hash) = self.last_hash {
            place("prev").same(entry.prev, last_hash)?;
        }
        match self.last_at {
            Some(last) if entry.at < last => Err(at(seq, "at", Fault::TimeGoesBack(last))),
            Some(_) | None => Ok(entry),
        }
    }

    fn statement(&mut self, bytes: &[u8], entry: &Entry) -> Result<Statement, Stop> {
        let fault = |fault| at(entry.seq, "body", fault);
        let place = |column| Place::Entry { seq: number(entry.seq), column };
        let envelope = body::parse(bytes).map_err(fault)?;
        let statement = envelope.statement().map_err(|error| fault(Fault::Unreadable(error.to_string())))?;
        self.keys.signed(&envelope, &statement, entry).map_err(fault)?;
        place("kind").same(entry.kind, statement.kind())?;
        place("body").same(statement.project(), entry.project)?;
        if let Some(issuer) = statement.issuer() {
            place("body").same(issuer, self.trust.keys.issuer())?;
        }
        match &statement {
            Statement::Decision(decision) if is_skewed(decision.at, entry.at) => {
                Err(fault(Fault::Skew(decision.at)))
            }
            _ => Ok(statement),
        }
    }

    fn withheld(&mut self, entry: &Entry, withheld: &Withheld, report: &mut Report) {
        report.withheld += 1;
        self.book.hide(entry);
        if withheld.form.kind() != entry.kind || entry.kind == Kind::Observation {
            report.incomplete.push(format!("entry {}: a body of kind {} is withheld", entry.seq, entry.kind));
        }
    }

    fn absent(&mut self, entry: &Entry, report: &mut Report) -> Result<(), Stop> {
        if !entry.kind.can_be_erased() {
            return Err(at(entry.seq, "body", Fault::NotErasable(entry.kind)));
        }
        self.book.hide(entry);
        if self.graves.covers(entry) {
            report.erased += 1;
        } else {
            report.incomplete.push(format!("entry {}: {}", entry.seq, Fault::NoTombstone));
        }
        Ok(())
    }

    /// Takes over what a statement changes, and hands it to the book.
    fn follow(
        &mut self,
        statement: Option<&Statement>,
        entry: &Entry,
        report: &mut Report,
    ) -> Result<(), Stop> {
        let fault = |column, fault| at(entry.seq, column, fault);
        if let (Some(control), Some(statement)) = (&mut self.control, statement) {
            control.follow(statement, entry.at).map_err(|f| fault("body", f))?;
        }
        self.answers.follow(statement, entry).map_err(|f| fault("body", f))?;
        if let (Some(grants), Some(statement)) = (&mut self.grants, statement) {
            grants.follow(statement, entry.at).map_err(|f| fault("body", f))?;
        }
        self.follow_day(statement, entry).map_err(|f| fault("kind", f))?;
        self.book.advance(entry.at, report);
        let Some(statement) = statement else { return Ok(()) };
        match statement {
            Statement::Key(said) => {
                self.keys.follow(said, entry).map_err(|f| fault("body", f))?;
            }
            Statement::Published(said) if said.typ == PublishedType::Registry => {
                self.registries.insert(said.control, said.document);
            }
            Statement::Tombstone(said) => self.graves.bears_out(said, entry.seq).map_err(broken)?,
            Statement::Decision(decision) => {
                let due = self.due(decision, entry.seq);
                self.book.decide(decision, entry, due, report);
            }
            Statement::Observation(seen) => self.book.observe(seen, entry, report),
            Statement::Received(received) => self.receive(received, entry, report)?,
            Statement::Finding(said) => self.book.find(said, entry.body, report),
            Statement::Clearance(said) => self.book.clear(said, entry).map_err(broken)?,
            Statement::Published(_)
            | Statement::Epoch(_)
            | Statement::Kill(_)
            | Statement::Resolution(_)
            | Statement::Coverage(_)
            | Statement::Settings(_)
            | Statement::Incident(_)
            | Statement::Hold(_)
            | Statement::Answer(_)
            | Statement::Grant(_)
            | Statement::Resume(_)
            | Statement::Breakglass(_)
            | Statement::Probe(_)
            | Statement::Shadow(_) => {}
            Statement::Session(said) => self.book.session(said, entry),
        }
        Ok(())
    }

    fn follow_day(&mut self, statement: Option<&Statement>, entry: &Entry) -> Result<(), Fault> {
        let Some(day) = &mut self.day else { return Ok(()) };
        // Only an epoch entry asks for the root, which costs a hash for every level of the tree.
        let root = if entry.kind == Kind::Epoch { self.frontier.root() } else { Hash::empty_root() };
        day.follow(entry, statement, root)
    }

    /// Whether a statement about this decision is due, as far as the record and the holder's registries say.
    fn due(&self, decision: &Decision, seq: u64) -> Due {
        let Some(provider) = &decision.provider else { return Due::never() };
        if !self.keys.can_sign(provider, seq) {
            return Due::never();
        }
        let registry = self.registries.range(..=decision.control).next_back();
        let promise = registry.and_then(|(_, document)| (self.trust.registry)(document, provider));
        match promise {
            Some(Promise::Signs { within }) => {
                Due::Known { terms: Terms { duty: Duty::Owes, sign_within: within } }
            }
            Some(Promise::Nothing) => Due::Known { terms: Terms::owes_nothing() },
            None => Due::Unknown { sign_within: DEFAULT_SIGN_WITHIN },
        }
    }

    fn receive(&mut self, received: &Received, entry: &Entry, report: &mut Report) -> Result<(), Stop> {
        let unreadable = |error: crate::execution::ExecutionError| {
            at(entry.seq, "body", Fault::Unreadable(error.to_string()))
        };
        let holds = Place::Entry { seq: number(entry.seq), column: "holds" };
        if received.form == ReceivedForm::Catalog {
            let catalog = Catalog::parse(&received.bytes.0)
                .map_err(|error| at(entry.seq, "body", Fault::Unreadable(error.to_string())))?;
            holds.same(received.holds, self.keys.signed_catalog(&catalog, received, entry.seq))?;
            if !received.holds {
                self.book.unsigned_catalog(entry);
            }
            return Ok(());
        }
        let Some(submitted) = Submitted::unwrap(received).map_err(unreadable)? else { return Ok(()) };
        let (standing, thumbprint) = self.keys.standing(&submitted, received, entry.seq);
        holds.same(received.holds, standing.holds())?;
        let stated = Stated::of(&submitted, entry.body, entry, standing);
        self.book.state(stated, thumbprint.as_ref(), report);
        Ok(())
    }

    /// The entry is right: it becomes part of the tree, which must pass through what the holder kept.
    fn append(&mut self, entry: &Entry, leaf: &[u8]) -> Result<(), Stop> {
        let hash = Digest::of(leaf);
        let fork = |note: &str| Verdict::Forked { one: note.to_owned(), other: self.base.note.clone() };
        if let Some((held, note)) = self.base.held_entries.get(&entry.seq)
            && *held != hash
        {
            return Err(fork(note).into());
        }
        self.frontier.grow(tree::leaf_hash(leaf));
        (self.last_hash, self.last_at) = (Some(hash), Some(entry.at));
        match self.base.held_roots.get(&self.frontier.size()) {
            Some((held, note)) if *held != self.frontier.root() => Err(fork(note).into()),
            Some(_) | None => Ok(()),
        }
    }

    /// A statement beside no entry: entries are missing, or the statement is too many.
    pub(super) fn surplus_line(&self) -> Verdict {
        let size = self.frontier.size();
        if size < self.base.end.size {
            return Verdict::Incomplete(format!("entries.bin ends before entry {size}"));
        }
        Verdict::Broken(format!("statements.jsonl goes on where entry {size} would stand"))
    }

    /// After the last entry.
    pub(super) fn finish(mut self, files: &Files<'_>, report: &mut Report) -> Result<Book, Stop> {
        let (size, end) = (self.frontier.size(), &self.base.end);
        if size < end.size {
            return Err(Verdict::Incomplete(format!("entries.bin ends before entry {size}")).into());
        }
        if self.frontier.root() != end.root {
            return Err(broken("the entries do not give the root of new.checkpoint"));
        }
        report.incomplete.extend(self.graves.unborne());
        self.keys.vouch(report)?;
        files.compare(&self.base.manifest)?;
        let now = self.last_at.unwrap_or(self.base.manifest.at);
        self.book.close(now, report);
        if let Some(why) = self.book.broken() {
            return Err(broken(why));
        }
        if report.withheld + report.erased > 0 {
            report.not_checked.push(NotChecked::Absences);
        }
        Ok(self.book)
    }
}

fn at(seq: u64, column: &'static str, fault: Fault) -> Stop {
    Place::Entry { seq: number(seq), column }.is(fault).into()
}

fn number(seq: u64) -> i64 {
    crate::audit::keys::signed(seq)
}
