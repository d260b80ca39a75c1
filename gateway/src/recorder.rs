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
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{InstanceId, ProjectId};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{RawItem, RefusedReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Decisions that may wait. At 2,000 a second half a second's worth; more would outlive their callers' patience.
const DECISIONS: usize = 1024;
/// Observations and openings that may wait, most of them below 4 KiB.
const TRAILING: usize = 8192;

/// How one project's statements reach the ledger.
pub struct Recorder {
    decisions: mpsc::Sender<Waiting>,
    trailing: mpsc::Sender<RawItem>,
    dropped: Arc<AtomicU64>,
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

pub(crate) struct Waiting {
    item: RawItem,
    digest: Digest,
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
        let dropped = Arc::new(AtomicU64::new(0));
        let recorder = Self { decisions, trailing, dropped: dropped.clone() };
        let courier = Courier::new(courier::Route {
            project,
            instance,
            evidence,
            control,
            clock,
            waiting,
            trail,
            dropped,
        });
        (recorder, courier)
    }

    /// Hands a decision over and waits for its fate.
    pub async fn record(&self, item: RawItem, digest: Digest, judged_at: Instant) -> Fate {
        let (fate, answer) = oneshot::channel();
        let waiting = Waiting { item, digest, judged_at, fate };
        // A full queue means that the ledger does not keep up: no, at once, rather than late.
        if self.decisions.try_send(waiting).is_err() {
            return Fate::NotTaken;
        }
        // The courier ends only after it answered everybody; if it is gone all the same, nobody knows.
        answer.await.unwrap_or(Fate::InDoubt)
    }

    /// Hands over what rides in the next batch: an observation or an opening.
    pub fn trail(&self, item: RawItem) {
        if self.trailing.try_send(item).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
