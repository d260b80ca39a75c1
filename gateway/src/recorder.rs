//! The recorder: takes signed statements to the evidence service and comes back with receipts.
//!
//! Promised: nothing is called recorded unless its receipt verifies under pinned keys. One request is under way at a
//! time; whatever waits meanwhile goes into the next, so batches grow with load and an idle gateway waits for nothing.
//! Observations and openings ride along and delay no answer; they are kept over failures and drained at the end.
//! Not promised: that they arrive. Their queue is bounded; what it drops is counted, and shows as OUTCOME_UNKNOWN.

mod batch;
mod check;
mod courier;

pub use courier::Courier;

use crate::control::Follower;
use crate::evidence::Evidence;
use crate::metrics::{Depth, Tally};
use check::Expected;
use counterfoil_core::envelope::Signed;
use counterfoil_core::hold::Parked;
use counterfoil_core::id::{InstanceId, KeyId, ProjectId};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{Idempotency, Item, OpeningItem, RawItem, RefusedReason, StatementItem};
use counterfoil_core::statement::{Decision, Observation};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Decisions that may wait. At 2,000 a second half a second's worth; more would outlive their callers' patience.
const DECISIONS: usize = 1024;
/// Observations and openings that may wait, most of them below 4 KiB.
const TRAILING: usize = 8192;

/// The evidence service keeps no larger ones.
const LARGEST_OPENING: usize = 256 * 1024;

/// How one project's statements reach the ledger.
pub struct Recorder {
    decisions: mpsc::Sender<Waiting>,
    trailing: mpsc::Sender<RawItem>,
    tally: Arc<Tally>,
}

/// What became of a decision.
#[derive(Debug)]
pub enum Fate {
    Recorded(Box<Acknowledged>),
    /// The ledger refused it; it certainly is not recorded.
    Refused(RefusedReason),
    /// It certainly is not recorded.
    NotTaken,
    /// It may be recorded. Nothing may be sent.
    InDoubt,
}

/// A receipt that was checked.
#[derive(Debug)]
pub struct Acknowledged {
    pub receipt: Receipt,
    /// When the request that carried the decision was sent: the commit came after it.
    pub asked_at: Instant,
}

/// What travels with a statement and is not in it.
#[derive(Default)]
pub struct Beside {
    /// The key whose call it decides.
    pub credential: Option<KeyId>,
    /// What makes a vendor's question the same one again.
    pub idempotency: Option<Idempotency>,
    /// If it opens a hold.
    pub parked: Option<Parked>,
    /// The newest decision of the session that it was judged on.
    pub judged_on: Option<u64>,
}

pub(crate) struct Waiting {
    item: RawItem,
    expected: Expected,
    judged_at: Instant,
    fate: oneshot::Sender<Fate>,
}

impl Recorder {
    /// The recorder, and the courier that must be run for it.
    pub fn new(
        project: ProjectId,
        instance: InstanceId,
        evidence: Arc<Evidence>,
        control: Arc<Follower>,
        clock: Arc<crate::clock::LedgerClock>,
    ) -> (Self, Courier) {
        let (decisions, waiting) = mpsc::channel(DECISIONS);
        let (trailing, trail) = mpsc::channel(TRAILING);
        let tally = Arc::new(Tally::default());
        let recorder = Self { decisions, trailing, tally: tally.clone() };
        let courier = Courier::new(courier::Route {
            project,
            instance,
            evidence,
            control,
            clock,
            waiting,
            trail,
            tally,
        });
        (recorder, courier)
    }

    /// Hands a decision over, with what travels beside it, and waits for its fate.
    pub async fn record(&self, signed: &Signed<Decision>, beside: Beside, judged_at: Instant) -> Fate {
        let (fate, answer) = oneshot::channel();
        let decision = signed.payload();
        let statement = String::from_utf8(signed.bytes().to_vec()).expect("canonical JSON is UTF-8");
        let waiting = Waiting {
            item: statement_item(decision.project, beside, &statement),
            expected: Expected {
                project: decision.project,
                digest: signed.digest(),
                statement,
                decided_at: decision.at,
            },
            judged_at,
            fate,
        };
        // A full queue means that the ledger does not keep up: no, at once, rather than late.
        if self.decisions.try_send(waiting).is_err() {
            return Fate::NotTaken;
        }
        // The courier ends only after it answered everybody; if it is gone all the same, nobody knows.
        answer.await.unwrap_or(Fate::InDoubt)
    }

    /// Hands over an observation, which rides in the next batch.
    pub fn observe(&self, signed: &Signed<Observation>) {
        let statement = std::str::from_utf8(signed.bytes()).expect("canonical JSON is UTF-8");
        self.trail(statement_item(signed.payload().project, Beside::default(), statement));
    }

    /// Hands over a sealed opening, which rides in the next batch.
    pub fn keep(&self, opening: OpeningItem) {
        if opening.jwe.len() > LARGEST_OPENING {
            tracing::warn!(bytes = opening.jwe.len(), "opening too large to be kept");
            self.tally.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.trail(Item::Opening(opening).to_raw());
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What waits now, in the queues and in the courier's hands.
    pub fn depth(&self) -> Depth {
        let queued = |(most, free): (usize, usize)| most.saturating_sub(free) as u64;
        let held = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let decisions = queued((self.decisions.max_capacity(), self.decisions.capacity()));
        let trailing = queued((self.trailing.max_capacity(), self.trailing.capacity()));
        Depth {
            decisions: decisions + held(&self.tally.held_decisions),
            trailing: trailing + held(&self.tally.held_trailing),
        }
    }

    fn trail(&self, item: RawItem) {
        if self.trailing.try_send(item).is_err() {
            self.tally.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A signed statement as the record request carries it.
fn statement_item(project: ProjectId, beside: Beside, statement: &str) -> RawItem {
    let Beside { credential, idempotency, parked, judged_on } = beside;
    let statement = RawValue::from_string(statement.to_owned()).expect("a signed envelope is one JSON text");
    Item::Statement(StatementItem { project, credential, idempotency, parked, judged_on, statement }).to_raw()
}

#[cfg(test)]
mod tests;
