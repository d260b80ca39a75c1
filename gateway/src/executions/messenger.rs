//! The messenger of one project: one request under way, what waits meanwhile goes into the next.

use super::Executions;
use crate::evidence::{Evidence, NoAnswer};
use counterfoil_core::id::InstanceId;
use counterfoil_core::record::{ExecutionItem, Item, ItemAnswer, RecordRequest};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One request. The evidence service checks a signature for each under its project's lock.
const MOST: usize = 64;
const MOST_BYTES: usize = 1024 * 1024;
/// Between tries while the evidence service is away.
const RETRY: Duration = Duration::from_millis(500);
/// How long a stopping gateway tries to deliver what is left.
const DRAIN: Duration = Duration::from_secs(5);

pub struct Messenger {
    instance: InstanceId,
    evidence: Arc<Evidence>,
    waiting: mpsc::Receiver<ExecutionItem>,
    held: VecDeque<ExecutionItem>,
    executions: Arc<Executions>,
}

/// Whether it is of use to ask again at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Carried {
    All,
    TryLater,
}

impl Messenger {
    pub(super) fn new(
        instance: InstanceId,
        evidence: Arc<Evidence>,
        waiting: mpsc::Receiver<ExecutionItem>,
        executions: Arc<Executions>,
    ) -> Self {
        Self { instance, evidence, waiting, held: VecDeque::new(), executions }
    }

    /// Runs until `drain` is cancelled and nothing is left, or the drain takes too long.
    pub async fn run(mut self, drain: CancellationToken) {
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                () = self.wait() => {}
            }
            if self.carry().await == Carried::TryLater {
                tokio::select! {
                    () = drain.cancelled() => break,
                    () = tokio::time::sleep(RETRY) => {}
                }
            }
        }
        let drained = tokio::time::timeout(DRAIN, self.drain()).await.is_ok();
        let (left, dropped) = (self.held.len(), self.executions.dropped());
        tracing::info!(project = %self.executions.project, drained, left, dropped, "messenger stopped");
    }

    async fn drain(&mut self) {
        loop {
            self.take_all();
            if self.held.is_empty() {
                return;
            }
            if self.carry().await == Carried::TryLater {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    async fn wait(&mut self) {
        self.take_all();
        if self.held.is_empty()
            && let Some(item) = self.waiting.recv().await
        {
            self.held.push_back(item);
            self.take_all();
        }
    }

    /// No more than one request takes: the rest stays in the queue, whose bound is what new ones meet.
    fn take_all(&mut self) {
        while self.held.len() < MOST
            && let Ok(item) = self.waiting.try_recv()
        {
            self.held.push_back(item);
        }
    }

    /// One request.
    async fn carry(&mut self) -> Carried {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while let Some(next) = self.held.front() {
            bytes += next.execution.get().len();
            if items.len() == MOST || (bytes > MOST_BYTES && !items.is_empty()) {
                break;
            }
            items.extend(self.held.pop_front());
        }
        if items.is_empty() {
            return Carried::All;
        }
        let raw = items.iter().map(|item| Item::Execution(item.clone()).to_raw()).collect();
        let request = RecordRequest { v: 1, instance: self.instance, items: raw };
        match self.evidence.record(&request).await {
            Ok(answer) if answer.answers.len() == items.len() => self.hear(items, answer.answers),
            Ok(_) | Err(NoAnswer::Unusable(_)) => {
                items.iter().for_each(|_| self.executions.give_up("the evidence service cannot use them"));
                Carried::All
            }
            Err(NoAnswer::NotTaken(_) | NoAnswer::InDoubt(_)) => {
                self.again(items);
                Carried::TryLater
            }
        }
    }

    fn hear(&mut self, items: Vec<ExecutionItem>, answers: Vec<Box<RawValue>>) -> Carried {
        let mut again = Vec::new();
        for (item, answer) in items.into_iter().zip(answers) {
            match serde_json::from_str(answer.get()) {
                Ok(ItemAnswer::Recorded(accepted) | ItemAnswer::Duplicate(accepted)) => {
                    self.executions.keep_accepted(item.provider, &accepted.receipt);
                }
                // In doubt. The same bytes a second time get the same acceptance.
                Ok(ItemAnswer::Unknown { .. }) | Err(_) => again.push(item),
                Ok(ItemAnswer::Refused { .. } | ItemAnswer::Kept { .. }) => {
                    self.executions.give_up("refused")
                }
            }
        }
        if again.is_empty() {
            return Carried::All;
        }
        self.again(again);
        Carried::TryLater
    }

    /// Back to the front, in order.
    fn again(&mut self, items: Vec<ExecutionItem>) {
        for item in items.into_iter().rev() {
            self.held.push_front(item);
        }
    }
}
