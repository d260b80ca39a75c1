//! The courier of one project: one request under way, everything that waits goes into the next.

use super::batch::Batch;
use super::check::Checker;
use super::{Fate, Waiting};
use crate::clock::LedgerClock;
use crate::control::Follower;
use crate::evidence::{Evidence, NoAnswer};
use crate::metrics::Tally;
use counterfoil_core::id::{InstanceId, ProjectId};
use counterfoil_core::record::{ItemAnswer, MAX_ITEMS, RawItem, RawRecordAnswer, RecordRequest, Trailed};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What trails waits this long for a decision to ride with: from some 40 calls a second on most find one, and a call
/// costs one commit instead of two.
const LINGER: Duration = Duration::from_millis(25);
/// Between tries to deliver what trails while the evidence service is away. Decisions never wait for it.
const RETRY: Duration = Duration::from_millis(500);
/// What trails is kept over an outage up to this many items, some 4 KiB each.
const KEPT: usize = 8192;
/// How long a stopping gateway tries to deliver what is left.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Route {
    pub project: ProjectId,
    pub instance: InstanceId,
    pub evidence: Arc<Evidence>,
    pub control: Arc<Follower>,
    pub clock: Arc<LedgerClock>,
    pub waiting: mpsc::Receiver<Waiting>,
    pub trail: mpsc::Receiver<RawItem>,
    pub tally: Arc<Tally>,
}

pub struct Courier {
    route: Route,
    decisions: VecDeque<Waiting>,
    trailing: VecDeque<RawItem>,
    /// Set while something trails: without a decision to ride with, it goes by itself at this moment.
    linger_until: Option<Instant>,
    /// Set after a failure: what trails is not tried again before.
    rest_until: Option<Instant>,
}

impl Courier {
    pub(super) fn new(route: Route) -> Self {
        Self {
            route,
            decisions: VecDeque::new(),
            trailing: VecDeque::new(),
            linger_until: None,
            rest_until: None,
        }
    }

    /// Runs until `drain` is cancelled and nothing is left, or the drain takes too long.
    pub async fn run(mut self, drain: CancellationToken) {
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                () = self.wait() => {}
            }
            self.carry().await;
            self.show_depth();
        }
        let drained = tokio::time::timeout(DRAIN, self.drain()).await.is_ok();
        let left = self.decisions.len() + self.trailing.len();
        let dropped = self.route.tally.dropped.load(Ordering::Relaxed);
        tracing::info!(project = %self.route.project, drained, left, dropped, "recorder stopped");
    }

    async fn drain(&mut self) {
        loop {
            self.take_all();
            if self.decisions.is_empty() && self.trailing.is_empty() {
                return;
            }
            if let Some(at) = self.rest_until {
                tokio::time::sleep_until(at.into()).await;
            }
            self.carry().await;
        }
    }

    /// Returns when there is something to carry. Waits by the clock only while something trails.
    async fn wait(&mut self) {
        self.take_all();
        while self.decisions.is_empty() {
            let alone_at = self.alone_at();
            if alone_at.is_some_and(|at| at <= Instant::now()) {
                return;
            }
            tokio::select! {
                Some(waiting) = self.route.waiting.recv() => self.decisions.push_back(waiting),
                Some(item) = self.route.trail.recv() => self.trailing.push_back(item),
                () = until(alone_at) => {}
            }
            self.take_all();
        }
    }

    /// When what trails goes without a decision to ride with.
    fn alone_at(&mut self) -> Option<Instant> {
        if self.trailing.is_empty() {
            self.linger_until = None;
            return None;
        }
        let linger = *self.linger_until.get_or_insert_with(|| Instant::now() + LINGER);
        Some(self.rest_until.map_or(linger, |rest| rest.max(linger)))
    }

    fn take_all(&mut self) {
        // No more than one request takes: the rest stays in the queue, whose bound is what callers meet.
        while self.decisions.len() < MAX_ITEMS
            && let Ok(waiting) = self.route.waiting.try_recv()
        {
            self.decisions.push_back(waiting);
        }
        while let Ok(item) = self.route.trail.try_recv() {
            self.trailing.push_back(item);
        }
        let excess = self.trailing.len().saturating_sub(KEPT);
        if excess > 0 {
            // The oldest go: their actions are the likeliest to be OUTCOME_UNKNOWN by now anyway.
            self.trailing.drain(..excess);
            self.route.tally.dropped.fetch_add(excess as u64, Ordering::Relaxed);
        }
        self.show_depth();
    }

    fn show_depth(&self) {
        let tally = &self.route.tally;
        tally.held_decisions.store(self.decisions.len() as u64, Ordering::Relaxed);
        tally.held_trailing.store(self.trailing.len() as u64, Ordering::Relaxed);
    }

    /// One request.
    async fn carry(&mut self) {
        let mut resting = VecDeque::new();
        let rested = self.rest_until.is_none_or(|at| Instant::now() >= at);
        let trailing = match rested {
            true => &mut self.trailing,
            false => &mut resting,
        };
        let (batch, late) = Batch::gather(&mut self.decisions, trailing);
        for waiting in late {
            settle(waiting, Fate::NotTaken);
        }
        self.linger_until = None;
        if batch.is_empty() {
            return;
        }
        let asked_at = Instant::now();
        self.route.tally.items.saw((batch.decisions.len() + batch.trailing.len()) as u64);
        let request = RecordRequest { v: 1, instance: self.route.instance, items: batch.items() };
        let answered = self.route.evidence.record(&request).await;
        tracing::debug!(
            decisions = batch.decisions.len(),
            trailing = batch.trailing.len(),
            millis = asked_at.elapsed().as_millis(),
            "batch"
        );
        match answered {
            Ok(answer) => self.hear(batch, answer, asked_at).await,
            Err(error) => self.fail(batch, &error),
        }
    }

    fn fail(&mut self, batch: Batch, error: &NoAnswer) {
        tracing::warn!(project = %self.route.project, %error, "nothing recorded");
        self.route.tally.failures.fetch_add(1, Ordering::Relaxed);
        self.rest_until = Some(Instant::now() + RETRY);
        for waiting in batch.decisions {
            let fate = match error {
                NoAnswer::NotTaken(_) | NoAnswer::Unusable(_) => Fate::NotTaken,
                NoAnswer::InDoubt(_) => Fate::InDoubt,
            };
            settle(waiting, fate);
        }
        if matches!(error, NoAnswer::Unusable(_)) {
            // The same again would only be refused again, and with it every decision that it rides with.
            let lost = batch.trailing.len() as u64;
            self.route.tally.dropped.fetch_add(lost, Ordering::Relaxed);
            return;
        }
        // Back to the front, in order. What arrived all the same is known by its digest.
        for item in batch.trailing.into_iter().rev() {
            self.trailing.push_front(item);
        }
    }

    async fn hear(&mut self, batch: Batch, answer: RawRecordAnswer, asked_at: Instant) {
        self.route.clock.heard(answer.ledger_time);
        self.rest_until = None;
        if answer.answers.len() != batch.decisions.len() + batch.trailing.len() {
            tracing::error!(project = %self.route.project, "answer has another number of items");
            for waiting in batch.decisions {
                settle(waiting, Fate::InDoubt);
            }
            return;
        }
        let mut answers = answer.answers.into_iter();
        let control = self.route.control.known();
        let mut checker = Checker::of_batch(asked_at, control.as_deref());
        let mut new = 0;
        for (waiting, answer) in batch.decisions.into_iter().zip(&mut answers) {
            // What does not read as an answer says nothing about whether the ledger has it.
            let fate = match serde_json::from_str(answer.get()) {
                Ok(answer) => {
                    new += u64::from(matches!(answer, ItemAnswer::Recorded(_)));
                    checker.fate(answer, &waiting.expected)
                }
                Err(_) => Fate::InDoubt,
            };
            settle(waiting, fate);
        }
        new += self.hear_trailing(batch.trailing, answers);
        self.route.tally.entries.saw(new);
    }

    /// How many of them became entries.
    fn hear_trailing(&mut self, items: Vec<RawItem>, answers: impl Iterator<Item = Box<RawValue>>) -> u64 {
        let mut new = 0;
        for (item, answer) in items.into_iter().zip(answers) {
            match serde_json::from_str(answer.get()).unwrap_or(Trailed::Unknown) {
                Trailed::Recorded => new += 1,
                Trailed::Duplicate | Trailed::Kept => {}
                // In doubt. The same bytes a second time are the same statement, so the ledger answers, not appends.
                Trailed::Unknown => {
                    self.rest_until = Some(Instant::now() + RETRY);
                    self.trailing.push_back(item);
                }
                Trailed::Refused { reason } => {
                    tracing::error!(project = %self.route.project, ?reason, "what trailed was refused");
                    self.route.tally.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        new
    }
}

fn settle(waiting: Waiting, fate: Fate) {
    // Nobody waits any more when the whole gateway is stopping.
    let _ = waiting.fate.send(fate);
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
