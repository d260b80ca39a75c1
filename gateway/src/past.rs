//! What a key did before, asked of the ledger where the rules want to know (G13).
//!
//! Promised: no call goes out on an older past than the one that stands in front of it. Here the calls of one key take turns,
//! each asking for the past that the one before left; between gateways the record transaction compares, and whoever was
//! overtaken is judged again. Nothing is remembered here that could be old.
//! Where no rule asks, nobody waits and nobody is asked.

use crate::house::House;
use crate::pipeline::{Classified, Turn};
use counterfoil_core::id::KeyId;
use counterfoil_core::session::{Running, Summary};
use counterfoil_core::statement::Mode;
use counterfoil_core::time::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::OwnedMutexGuard;

/// Whose turn it is, by key.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<KeyId, Weak<tokio::sync::Mutex<()>>>>);

/// The past that one call is judged on.
pub struct Past {
    running: Option<Running>,
    /// Held until the call is recorded.
    pub turn: OwnedMutexGuard<()>,
}

impl Past {
    /// None where no rule asks. Without an answer of the ledger nothing is judged.
    pub async fn of(call: &Classified, house: &House) -> Result<Option<Self>, Turn> {
        // A vendor declares its sessions itself, and nobody counts them: rules that ask for counts fail closed.
        if !call.control.bundle.has_sessions() || call.received.mode() == Mode::Hook {
            return Ok(None);
        }
        let caller = &call.received.caller;
        let turn = house.turns.of(caller.key).lock_owned().await;
        let asked = house.evidence.session(caller.project.id, caller.key).await;
        let running = asked.map_err(|_| Turn::Unrecorded)?.running;
        Ok(Some(Self { running, turn }))
    }

    /// What the rules are told at that moment.
    pub fn summary(&self, call: &Classified, now: Timestamp) -> Summary {
        Summary::at(self.running.as_ref(), now, call.action)
    }
}

impl Turns {
    fn of(&self, key: KeyId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(&key).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(key, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests;
