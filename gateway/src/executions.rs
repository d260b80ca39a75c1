//! What providers state in their results, on its way to the evidence service, and the acceptances on their way back.
//!
//! Promised: a statement never delays an answer, nor a decision's commit; the agent never sees it; what comes back goes
//! to the provider in whose result it was, with a later call. Both queues are bounded.
//! Not promised: that it arrives. A gateway that dies takes what waits with it; the provider, which holds no acceptance
//! then, sends the statement itself. Whose key signed it is for the ledger to say: nothing is checked here.
//!
//!     result._meta["dev.counterfoil/execution"]   →   params._meta["dev.counterfoil/accepted"] = [{receipt/v1}, …]

mod messenger;

pub use messenger::Messenger;

use crate::answer::EXECUTION;
use crate::evidence::Evidence;
use crate::observation::Seen;
use crate::raw::Object;
use counterfoil_core::id::{InstanceId, ProjectId, ProviderId};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::ExecutionItem;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Statements that may wait, some 2 KiB each.
const WAITING: usize = 4096;
/// As the evidence service reads them: an envelope around 64 KiB.
const LARGEST: usize = 96 * 1024;
/// Acceptances that wait for a provider's next call; what is older is dropped, and listed by the evidence service.
const KEPT: usize = 64;
/// What one call carries: a receipt has 3 to 100 KiB.
const CARRIED: usize = 8;
const CARRIED_BYTES: usize = 128 * 1024;

/// One project's statements and acceptances.
pub struct Executions {
    project: ProjectId,
    queue: mpsc::Sender<ExecutionItem>,
    accepted: Mutex<BTreeMap<ProviderId, VecDeque<String>>>,
    /// Statements that were given up: too large, too many, or refused.
    dropped: AtomicU64,
}

impl Executions {
    /// And the messenger that must be run for them.
    pub fn new(project: ProjectId, instance: InstanceId, evidence: Arc<Evidence>) -> (Arc<Self>, Messenger) {
        let (queue, waiting) = mpsc::channel(WAITING);
        let accepted = Mutex::default();
        let executions = Arc::new(Self { project, queue, accepted, dropped: AtomicU64::new(0) });
        let messenger = Messenger::new(instance, evidence, waiting, Arc::clone(&executions));
        (executions, messenger)
    }

    /// Takes the statement out of what a provider answered, if there is one, and sends it on its way.
    pub fn hand_in(&self, provider: &ProviderId, seen: &Seen) {
        let Some(statement) = stated(seen) else { return };
        let execution = match statement.len() <= LARGEST {
            true => RawValue::from_string(statement).ok(),
            false => None,
        };
        let Some(execution) = execution else {
            self.give_up("malformed or too large");
            return;
        };
        let item = ExecutionItem { project: self.project, provider: provider.clone(), execution };
        if self.queue.try_send(item).is_err() {
            self.give_up("too many wait");
        }
    }

    /// What the next call to this provider carries, as receipts in JSON.
    pub fn take_accepted(&self, provider: &ProviderId) -> Vec<String> {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = accepted.get_mut(provider) else { return Vec::new() };
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(next) = waiting.front() {
            bytes += next.len();
            if taken.len() == CARRIED || (bytes > CARRIED_BYTES && !taken.is_empty()) {
                break;
            }
            taken.extend(waiting.pop_front());
        }
        taken
    }

    /// The call did not go out after all.
    pub fn put_back(&self, provider: &ProviderId, taken: Vec<String>) {
        if taken.is_empty() {
            return;
        }
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = accepted.entry(provider.clone()).or_default();
        for receipt in taken.into_iter().rev() {
            waiting.push_front(receipt);
        }
        waiting.truncate(KEPT);
    }

    fn keep_accepted(&self, provider: ProviderId, receipt: &Receipt) {
        let Ok(receipt) = String::from_utf8(receipt.bytes()) else { return };
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = accepted.entry(provider).or_default();
        waiting.push_back(receipt);
        if waiting.len() > KEPT {
            waiting.pop_front();
        }
    }

    fn give_up(&self, why: &str) {
        let count = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        // One line for each power of two, or a flood of statements would be a flood of lines.
        if count.is_power_of_two() {
            tracing::warn!(project = %self.project, count, why, "statements of providers given up");
        }
    }

    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// As text, from `_meta` of a result or from an error's `data`.
fn stated(seen: &Seen) -> Option<String> {
    let (whole, holder) = match seen {
        Seen::Returned(result) => (result, "_meta"),
        Seen::Failed(error) => (error, "data"),
        Seen::Broke(_) | Seen::TimedOut | Seen::Cancelled | Seen::NotSent(_) => return None,
    };
    let holder = Object::read_loosely(whole).ok()?.value(holder)?;
    Object::read_loosely(holder).ok()?.value(EXECUTION).map(str::to_owned)
}

#[cfg(test)]
mod tests;
