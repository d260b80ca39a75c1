//! What one API key did since a quiet half hour: a fact for rules, counted by the ledger from the decisions that it numbers.
//!
//! Promised: a pure function of the entries. Whoever reads the decisions of a key in their order gets the same counts, so an
//! auditor recomputes every stored one. Nothing in it comes from the caller, and nothing in it names arguments or nouns.
//! Not promised: that a session is one task. It ends when the key was quiet for half an hour, and only then.
//!
//! A held call that is asked again counts again, and so does the decision that lets it go: decisions are counted, not calls.

use crate::id::{ActionId, KeyId, SessionId};
use crate::statement::{DataClass, Decision, Destination, Mode, Operation};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A key that made no decision for longer than this begins anew.
pub const QUIET_MILLIS: i64 = 30 * 60 * 1000;

/// The counts of a session at one moment. Words that did not occur are absent and mean 0.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    pub session: SessionId,
    /// Entry time of its first decision; null before that.
    pub since: Option<Timestamp>,
    /// Seq of the newest decision that is counted; null before the first.
    pub upto: Option<u64>,
    /// Cleared decisions by the operation that their class declares, `unknown` where there is none. The next two likewise.
    pub operations: BTreeMap<Operation, u64>,
    pub data_classes: BTreeMap<DataClass, u64>,
    pub destinations: BTreeMap<Destination, u64>,
    /// Decisions that let a call go out.
    pub cleared: u64,
    /// All others: denied, held, to be narrowed, to be asked later.
    pub refused: u64,
}

/// A session as it stands in the ledger.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    pub summary: Summary,
    /// Entry time of the newest decision.
    pub last_at: Timestamp,
}

/// The answer of `GET /internal/v1/sessions?project=prj_…&key=key_…`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SessionAnswer {
    pub v: u8,
    /// Null where the key made no decision yet. It may be over: see [`Summary::at`].
    pub running: Option<Running>,
}

impl Summary {
    /// Nothing done yet. A session bears the number of its first action, so nobody chooses it.
    pub fn begun_by(first: ActionId) -> Self {
        Self {
            session: SessionId::from_uuid(first.uuid()),
            since: None,
            upto: None,
            operations: BTreeMap::new(),
            data_classes: BTreeMap::new(),
            destinations: BTreeMap::new(),
            cleared: 0,
            refused: 0,
        }
    }

    /// What `action` meets at that moment: the session that runs, or one of its own.
    pub fn at(running: Option<&Running>, now: Timestamp, action: ActionId) -> Self {
        match running {
            Some(running) if !running.is_over(now) => running.summary.clone(),
            Some(_) | None => Self::begun_by(action),
        }
    }

    fn count(&mut self, decision: &Decision) {
        if !decision.is_cleared() {
            self.refused += 1;
            return;
        }
        self.cleared += 1;
        let class = decision.class.as_ref();
        *self.operations.entry(class.map_or(Operation::Unknown, |class| class.operation)).or_insert(0) += 1;
        *self.data_classes.entry(class.map_or(DataClass::Unknown, |class| class.data_class)).or_insert(0) +=
            1;
        let destination = class.map_or(Destination::Unknown, |class| class.destination);
        *self.destinations.entry(destination).or_insert(0) += 1;
    }
}

impl Running {
    pub fn is_over(&self, now: Timestamp) -> bool {
        now.millis() - self.last_at.millis() > QUIET_MILLIS
    }

    /// The session after a decision of its key was numbered `seq` at `at`.
    #[must_use]
    pub fn after(running: Option<&Self>, decision: &Decision, (seq, at): (u64, Timestamp)) -> Self {
        let mut summary = Summary::at(running, at, decision.action);
        summary.count(decision);
        summary.since = summary.since.or(Some(at));
        summary.upto = Some(seq);
        Self { summary, last_at: at }
    }
}

/// The key whose session a decision belongs to. A vendor that asks before it calls declares its sessions itself, and they
/// are not counted here.
pub fn key_of(decision: &Decision) -> Option<KeyId> {
    match decision.mode {
        Mode::Gateway => decision.via.parse().ok(),
        Mode::Hook => None,
    }
}
