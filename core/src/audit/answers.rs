//! Answers of people at a place in the chain: what they let go out, once and no longer than they say, and what they grant.
//!
//! An answer is remembered for a day, which no hold outlives; so memory holds what one day's people said. Of an answer
//! whose body is gone only its digest is known, and that is enough to have been one.

use super::broken::Fault;
use crate::digest::Digest;
use crate::entry::{Entry, Kind};
use crate::id::{ActionId, GrantId, HoldId};
use crate::statement::{Answer, Answers as Named, Decision, Grant, GrantEvent, Reason, Say, Statement};
use crate::time::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// A person has at most a day, and so has the answer to lift its hold.
const LONGEST_HOLD_MILLIS: i64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Approvals that nothing used yet, by the digest of their envelope. None where the body is gone.
    unused: BTreeMap<Digest, Option<Approval>>,
    by_age: VecDeque<(Timestamp, Digest)>,
    /// Until then an answer may stand before the first entry that is here; none where the first entry is.
    blind_until: Option<Blind>,
}

#[derive(Clone, Copy, Debug)]
enum Blind {
    FromTheFirst,
    Until(Timestamp),
}

#[derive(Debug)]
struct Approval {
    hold: HoldId,
    action: ActionId,
    decision: Digest,
    until: Timestamp,
    /// Those that it names and that were not given yet.
    grants: Vec<GrantId>,
}

impl Answers {
    /// Of a record that does not start at entry 0.
    pub(crate) fn of_a_part() -> Self {
        Self { blind_until: Some(Blind::FromTheFirst), ..Self::default() }
    }

    /// Takes over an answer; refuses a call that goes out, or a grant that is given, by one that does not say so.
    pub(crate) fn follow(&mut self, statement: Option<&Statement>, entry: &Entry) -> Result<(), Fault> {
        self.forget(entry.at);
        match statement {
            None if entry.kind == Kind::Answer => self.remember(entry, None),
            Some(Statement::Answer(said)) => self.answered(said, entry),
            // Holds that a kill took stay gone.
            Some(Statement::Kill(kill)) if kill.scope.is_none() => self.unused.clear(),
            Some(Statement::Decision(decision)) if decision.is_cleared() => {
                return self.gate(decision, entry.at);
            }
            Some(Statement::Grant(grant)) if grant.event == GrantEvent::Given => return self.give(grant),
            Some(_) | None => {}
        }
        Ok(())
    }

    fn answered(&mut self, said: &Answer, entry: &Entry) {
        if let (Say::ApproveOnce | Say::ApproveFor, Some(until)) = (said.answer, said.until) {
            let Answer { hold, action, decision, .. } = *said;
            let grants = said.grants.clone();
            self.remember(entry, Some(Approval { hold, action, decision, until, grants }));
        }
    }

    fn remember(&mut self, entry: &Entry, approval: Option<Approval>) {
        self.unused.insert(entry.body, approval);
        self.by_age.push_back((entry.at, entry.body));
    }

    fn gate(&mut self, decision: &Decision, at: Timestamp) -> Result<(), Fault> {
        let Some(named) = &decision.answers else {
            let approved = decision.reason == Reason::Approved;
            return if approved { refuse("as approved, and names no answer") } else { Ok(()) };
        };
        match self.unused.remove(&named.answer) {
            Some(Some(approval)) => approval.lets_go(decision, named, at),
            Some(None) => Ok(()),
            None if self.blind_until.is_some() => Ok(()),
            None => refuse("by an answer that does not stand before it, or was used"),
        }
    }

    fn give(&mut self, grant: &Grant) -> Result<(), Fault> {
        let refuse = |why| Err(Fault::NotGiven(why));
        let Some(answer) = grant.answer else { return refuse("that no answer gave") };
        let approval = match self.unused.get_mut(&answer) {
            Some(Some(approval)) => approval,
            Some(None) => return Ok(()),
            None if self.blind_until.is_some() => return Ok(()),
            None => return refuse("by an answer that does not stand before it, or was used"),
        };
        let Some(place) = approval.grants.iter().position(|named| *named == grant.grant) else {
            return refuse("that its answer does not name");
        };
        approval.grants.swap_remove(place);
        if approval.until == grant.until { Ok(()) } else { refuse("until another time than its answer says") }
    }

    fn forget(&mut self, now: Timestamp) {
        match self.blind_until {
            Some(Blind::FromTheFirst) => {
                self.blind_until = Some(Blind::Until(now.plus_millis(LONGEST_HOLD_MILLIS)));
            }
            Some(Blind::Until(until)) if now > until => self.blind_until = None,
            Some(Blind::Until(_)) | None => {}
        }
        while let Some((at, digest)) = self.by_age.front().copied() {
            if now.millis() - at.millis() <= LONGEST_HOLD_MILLIS {
                return;
            }
            self.by_age.pop_front();
            self.unused.remove(&digest);
        }
    }
}

impl Approval {
    fn lets_go(&self, decision: &Decision, named: &Named, at: Timestamp) -> Result<(), Fault> {
        let this =
            self.hold == named.hold && self.decision == named.decision && self.action == decision.action;
        if !this {
            return refuse("by an answer to another call");
        }
        if at > self.until {
            return refuse("by an answer whose time had passed");
        }
        Ok(())
    }
}

fn refuse(why: &'static str) -> Result<(), Fault> {
    Err(Fault::NotCleared(why))
}
