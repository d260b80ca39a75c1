//! Reconciling again: every decision of the package with what names it, and the findings that must be there.
//!
//! Memory holds what is open: a matter is judged and dropped once nothing more is due of honest parties. What names a
//! dropped one later makes it a suspect, and a second pass keeps suspects to the end.

mod open;
mod vendors;

pub(super) use open::Due;

use super::report::{NotChecked, Report};
use crate::digest::Digest;
use crate::entry::{Entry, Kind};
use crate::id::ActionId;
use crate::key::Thumbprint;
use crate::reconcile::{
    Cap, Decided, Found, Issued, Matter, Observed, Stated, Status, Watch, reconcile, stray,
};
use crate::statement::{Clearance, Decision, Finding, FindingCode, Mode, Observation};
use crate::time::Timestamp;
use open::Open;
use std::collections::{BTreeMap, BTreeSet};

const MINUTE_MILLIS: i64 = 60 * 1000;
/// No package says when a gateway's lease lapsed or what a tool's ceiling was: after a day without an observation,
/// nobody is waiting any more.
const LONGEST_CALL: i64 = 24 * 60 * MINUTE_MILLIS;
/// How long after its cause a finding may come. Younger causes are at the edge.
const FINDING_WITHIN: i64 = 15 * MINUTE_MILLIS;
/// When a matter is judged at the latest.
const HORIZON: i64 = LONGEST_CALL + 60 * MINUTE_MILLIS;

pub(super) struct Book {
    open: BTreeMap<Digest, Open>,
    by_age: BTreeSet<(Timestamp, Digest)>,
    /// Number of the first entry: what stands before is not known to be absent.
    starts_at: u64,
    /// Decisions that the second pass keeps; none in the first.
    kept: Option<BTreeSet<Digest>>,
    suspects: BTreeSet<Digest>,
    /// Kept decisions whose body was erased.
    erased: BTreeSet<Digest>,
    /// In the second pass, observations of decisions that do not stand yet: a gateway that waited in vain for a commit says so, and
    /// its word may be numbered first.
    early: BTreeMap<Digest, (ActionId, Observed)>,
    /// Findings that stand, by what they say, and by their own digest.
    stand: BTreeSet<(FindingCode, Digest)>,
    stand_as: BTreeMap<Digest, (FindingCode, Digest)>,
    /// Findings that follow and did not stand when they were looked for.
    wanted: BTreeMap<(FindingCode, Digest), Found>,
    forged: Cap,
    foreign: Cap,
    /// Statements beyond the cap: counted, not named.
    uncounted: BTreeSet<Digest>,
    hidden: bool,
    /// Whether a decision is among them: what its session was told is not known then.
    hides_decisions: bool,
    issued: Issued,
    unjudged: u64,
    last_at: Option<Timestamp>,
    broken: Option<String>,
}

impl Book {
    pub(super) fn first(starts_at: u64) -> Self {
        Self {
            open: BTreeMap::new(),
            by_age: BTreeSet::new(),
            starts_at,
            kept: None,
            suspects: BTreeSet::new(),
            erased: BTreeSet::new(),
            early: BTreeMap::new(),
            stand: BTreeSet::new(),
            stand_as: BTreeMap::new(),
            wanted: BTreeMap::new(),
            forged: Cap::default(),
            foreign: Cap::default(),
            uncounted: BTreeSet::new(),
            hidden: false,
            hides_decisions: false,
            issued: Issued::default(),
            unjudged: 0,
            last_at: None,
            broken: None,
        }
    }

    pub(super) fn again(starts_at: u64, suspects: BTreeSet<Digest>) -> Self {
        Self { kept: Some(suspects), ..Self::first(starts_at) }
    }

    /// Decisions that need the second pass; none after it.
    pub(super) fn suspects(&self) -> BTreeSet<Digest> {
        if self.kept.is_some() { BTreeSet::new() } else { self.suspects.clone() }
    }

    pub(super) fn broken(&self) -> Option<String> {
        // In the first pass a matter may have been dropped too early to say so.
        self.broken.clone().filter(|_| self.suspects().is_empty())
    }

    pub(super) fn decide(&mut self, decision: &Decision, entry: &Entry, due: Due, report: &mut Report) {
        self.previous(decision, entry);
        let mut matter = Matter::new(Decided::of(decision, entry.body, entry));
        let early = self.early.remove(&entry.body).filter(|(action, _)| *action == decision.action);
        matter.observed = early.map(|(_, observed)| observed);
        self.open.insert(entry.body, Open { matter, due, cleared: Vec::new() });
        self.by_age.insert((entry.at, entry.body));
        report.most_open = report.most_open.max(self.open.len());
        self.settle(entry.body, entry.at, report);
    }

    pub(super) fn observe(&mut self, seen: &Observation, entry: &Entry, report: &mut Report) {
        match self.open.get_mut(&seen.decision) {
            Some(open) => {
                let matter = &mut open.matter;
                if matter.observed.is_none() && matter.decided.action == seen.action {
                    matter.observed = Some(Observed::of(seen, entry.body, entry));
                    self.settle(seen.decision, entry.at, report);
                }
            }
            None if self.kept.is_none() => self.suspect(seen.decision),
            None => {
                let observed = (seen.action, Observed::of(seen, entry.body, entry));
                self.early.entry(seen.decision).or_insert(observed);
            }
        }
    }

    pub(super) fn state(&mut self, stated: Stated, key: Option<&Thumbprint>, report: &mut Report) {
        let holds = stated.standing.holds();
        if !holds && !self.forged.admits(key, stated.entered_at) {
            return;
        }
        let named = stated.decision.filter(|digest| match self.open.get(digest) {
            Some(open) => stated.action == Some(open.matter.decided.action),
            None => self.kept.is_none() || self.erased.contains(digest),
        });
        let Some(named) = named else {
            self.suspect(stated.digest);
            let admitted = !holds || self.foreign.admits(key, stated.entered_at);
            if admitted && self.kept.is_some() && self.starts_at == 0 {
                self.want(stray(&stated));
            }
            return;
        };
        let Some(open) = self.open.get_mut(&named) else {
            self.suspect(named);
            return;
        };
        let foreign = stated.is_foreign_to(&open.matter.decided);
        let (digest, at) = (stated.digest, stated.entered_at);
        open.matter.stated.push(stated);
        if foreign {
            self.suspect(named);
            if !self.foreign.admits(key, at) {
                self.uncounted.insert(digest);
            }
        }
        self.settle(named, at, report);
    }

    pub(super) fn find(&mut self, said: &Finding, own: Digest, report: &mut Report) {
        *report.findings.entry(said.code).or_insert(0) += 1;
        if let Some(about) = said.statement {
            self.stand.insert((said.code, about));
            self.stand_as.insert(own, (said.code, about));
            self.wanted.remove(&(said.code, about));
        }
    }

    /// A clearance closes a finding that stands, with what came late.
    pub(super) fn clear(&mut self, said: &Clearance, entry: &Entry) -> Result<(), String> {
        let (code, about) = match self.stand_as.get(&said.finding) {
            Some(stands) => *stands,
            // Cleared here, found before the first entry of this package.
            None if self.starts_at > 0 => return Ok(()),
            None => return Err(format!("entry {}: clears a finding that does not stand", entry.seq)),
        };
        if code != said.code {
            return Err(format!("entry {}: clears {code} as {}", entry.seq, said.code));
        }
        match self.open.get_mut(&about) {
            Some(open) => open.cleared.push((code, said.statement)),
            None if self.kept.is_some() => {
                return Err(format!("entry {}: clears what nothing of that kind closes", entry.seq));
            }
            None => self.suspect(about),
        }
        Ok(())
    }

    /// A body that cannot be read here.
    pub(super) fn hide(&mut self, entry: &Entry) {
        match entry.kind {
            Kind::Decision => {
                (self.hidden, self.hides_decisions) = (true, true);
                if self.kept.as_ref().is_some_and(|kept| kept.contains(&entry.body)) {
                    self.erased.insert(entry.body);
                }
            }
            Kind::Observation | Kind::Execution => self.hidden = true,
            _ => {}
        }
    }

    pub(super) fn advance(&mut self, now: Timestamp, report: &mut Report) {
        self.last_at = Some(now);
        while let Some((since, digest)) = self.by_age.first().copied() {
            if now.millis() - since.millis() <= HORIZON {
                return;
            }
            self.by_age.remove(&(since, digest));
            if !self.is_kept(&digest) {
                self.drop_judged(&digest, now, report);
            }
        }
    }

    /// After the last entry.
    pub(super) fn close(&mut self, now: Timestamp, report: &mut Report) {
        self.last_at = Some(now);
        for open in std::mem::take(&mut self.open).into_values() {
            self.judge(&open, now, report);
        }
        if self.unjudged > 0 {
            report.not_checked.push(NotChecked::Duties(self.unjudged));
        }
    }

    /// The first finding that follows and stands nowhere.
    pub(super) fn omitted(&self) -> Option<Found> {
        let now = self.last_at?;
        let overdue = |found: &&Found| found.since.millis() + FINDING_WITHIN < now.millis();
        let about_absence = |found: &&Found| {
            matches!(found.code, FindingCode::MissingExecution | FindingCode::OutcomeUnknown)
        };
        let untold = |found: &&Found| self.hides_decisions && found.code == FindingCode::UnknownPrevious;
        let wanted = self.wanted.values().filter(overdue);
        let wanted = wanted.filter(|found| !(untold(found) || self.hidden && about_absence(found)));
        wanted.min_by_key(|found| found.seq).cloned()
    }

    fn suspect(&mut self, digest: Digest) {
        if self.kept.is_none() {
            self.suspects.insert(digest);
        }
    }

    fn is_kept(&self, digest: &Digest) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.contains(digest))
    }

    fn want(&mut self, found: Found) {
        let key = (found.code, found.statement);
        if !self.stand.contains(&key) && !self.uncounted.contains(&found.statement) {
            self.wanted.insert(key, found);
        }
    }

    /// Judges and drops a matter of which nothing more is due.
    fn settle(&mut self, digest: Digest, now: Timestamp, report: &mut Report) {
        let settled = self.open.get(&digest).is_some_and(|open| open.is_settled(now));
        if settled && !self.is_kept(&digest) {
            self.drop_judged(&digest, now, report);
        }
    }

    fn drop_judged(&mut self, digest: &Digest, now: Timestamp, report: &mut Report) {
        if let Some(open) = self.open.remove(digest) {
            self.by_age.remove(&(open.matter.decided.entered_at, *digest));
            self.judge(&open, now, report);
        }
    }

    fn judge(&mut self, open: &Open, now: Timestamp, report: &mut Report) {
        let decided = &open.matter.decided;
        let age = now.millis() - decided.entered_at.millis();
        let watch = if age > LONGEST_CALL { Watch::Closed } else { Watch::Open };
        let judged = reconcile(&open.matter, open.due.terms(), watch, now);
        *report.calls.entry((judged.account, judged.status)).or_insert(0) += 1;
        if matches!(open.due, Due::Unknown { .. }) && judged.status == Status::Unsigned {
            self.unjudged += 1;
        }
        let unobserved = decided.mode == Mode::Gateway && open.matter.observed.is_none();
        let unfinished = decided.is_cleared() && unobserved && watch == Watch::Open;
        if unfinished || judged.status == Status::Waiting {
            report.is_open(decided.action);
        }
        self.follow_clearances(open, &judged.clears, decided.action);
        for mut found in judged.findings {
            if found.code == FindingCode::OutcomeUnknown {
                found.since = decided.entered_at.plus_millis(LONGEST_CALL);
            }
            self.want(found);
        }
    }

    fn follow_clearances(&mut self, open: &Open, closes: &[crate::reconcile::Cleared], action: ActionId) {
        let follows = |(code, by): &&(FindingCode, Digest)| {
            // Without the registry nobody can say whether a statement was late.
            let unknown = matches!(open.due, Due::Unknown { .. }) && *code == FindingCode::MissingExecution;
            unknown || closes.iter().any(|closed| closed.code == *code && closed.by == *by)
        };
        if let Some((code, _)) = open.cleared.iter().find(|cleared| !follows(cleared)) {
            self.broken.get_or_insert(format!("{action}: {code} was cleared by what does not close it"));
        }
    }
}
