//! One question at a time, however many calls wait for its answer.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Mutex;

#[derive(Default)]
pub(super) struct Gate {
    turn: Mutex<()>,
    rounds: AtomicU64,
}

impl Gate {
    /// Does the work, unless somebody finished it while this waited for its turn.
    pub(super) async fn once(&self, work: impl Future<Output = ()>) {
        let round = self.rounds.load(Ordering::Acquire);
        let _turn = self.turn.lock().await;
        if self.rounds.load(Ordering::Acquire) == round {
            work.await;
            self.rounds.fetch_add(1, Ordering::Release);
        }
    }
}
