//! After five questions that nobody answered: half a minute of no, then one probe.

use counterfoil_core::time::Timestamp;
use std::sync::Mutex;

const FAILURES: u32 = 5;
/// In milliseconds.
const REST: i64 = 30_000;

#[derive(Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    open_until: i64,
    probing: Option<()>,
}

impl Breaker {
    /// Whether a question may be asked now.
    pub(super) fn takes(&self, now: Timestamp) -> bool {
        let Ok(mut state) = self.0.lock() else { return false };
        if state.failures < FAILURES {
            return true;
        }
        if now.millis() < state.open_until || state.probing.is_some() {
            return false;
        }
        state.probing = Some(());
        true
    }

    pub(super) fn answered(&self) {
        if let Ok(mut state) = self.0.lock() {
            *state = State::default();
        }
    }

    pub(super) fn unanswered(&self, now: Timestamp) {
        if let Ok(mut state) = self.0.lock() {
            state.failures += 1;
            state.probing = None;
            if state.failures >= FAILURES {
                state.open_until = now.millis() + REST;
            }
        }
    }
}
