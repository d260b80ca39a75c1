//! Answers that somebody waits for, by the number of the request.

use super::connection::Outcome;
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::oneshot;

#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<u64, oneshot::Sender<Outcome>>>);

impl Waiting {
    pub(super) fn expect(&self, id: u64) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id, sender);
        receiver
    }

    pub(super) fn answer(&self, id: u64, outcome: Outcome) {
        if let Some(sender) = self.lock().remove(&id) {
            // Nobody waits any more: it was given up a moment ago.
            let _ = sender.send(outcome);
        }
    }

    pub(super) fn fail(&self) {
        for (_, sender) in self.lock().drain() {
            let _ = sender.send(Outcome::Gone);
        }
    }

    /// Whose line it was can only be told when one call is out.
    pub(super) fn fail_oversized(&self) {
        let mut waiting = self.lock();
        if waiting.len() == 1 {
            for (_, sender) in waiting.drain() {
                let _ = sender.send(Outcome::Oversized);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Outcome>>> {
        self.0.lock().expect("no holder panics")
    }
}

/// Forgets an answer when its asker goes, so that a late one is thrown away.
pub(super) struct Forget<'a>(pub(super) &'a Waiting, pub(super) u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
