//! What a caller brings back: the state of a round, the id of a task. Both sealed, both say for themselves what they
//! are about, so any replica reads them and none keeps them.
//!
//! Promised: one that was forged, changed, or made for another agent or key reads as nothing.
//! Not promised: that it is brought once only. A hold is dispatched once; that is where replays end.
//!
//!     requestState   "cfr1." ‖ sealed {"v":1,"agent":"agt_…","key":"key_…","hold":"hld_…","call":"…","asked":"…","round":1,"expires_at":"…"}
//!     taskId         "cft1." ‖ sealed {"v":1,"agent":"agt_…","key":"key_…","hold":"hld_…","call":"…","nonce":"…","begun_at":"…","expires_at":"…"}

use super::sealing::Sealer;
use crate::call::Caller;
use crate::chance;
use counterfoil_core::id::{AgentId, HoldId, KeyId};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

const ROUND: &str = "cfr1.";
const TASK: &str = "cft1.";
/// Stock clients give up after ten requests; the ninth is told in words instead of being asked again.
pub const LAST_ROUND: u8 = 9;

/// Whether a `requestState` is one of ours, or claims to be. What a provider made is passed on to it.
pub fn is_ours(state: &str) -> bool {
    state.starts_with(ROUND)
}

/// The round that a caller was asked to come again from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    v: u8,
    agent: AgentId,
    key: KeyId,
    pub hold: HoldId,
    /// Which call was parked.
    pub call: String,
    /// The same without what a user answered: that is not sent again with every round.
    pub asked: String,
    /// How often the caller was asked to come again.
    pub round: u8,
    pub expires_at: Timestamp,
}

impl Round {
    pub fn first(
        caller: &Caller,
        hold: HoldId,
        (call, asked): (String, String),
        expires_at: Timestamp,
    ) -> Self {
        Self { v: 1, agent: caller.agent, key: caller.key, hold, call, asked, round: 0, expires_at }
    }

    /// None after the last.
    pub fn next(&self) -> Option<Self> {
        let round = self.round + 1;
        (round < LAST_ROUND).then(|| Self { round, ..self.clone() })
    }

    pub fn text(&self, caller: &Caller, sealer: &Sealer) -> String {
        seal(ROUND, self, caller, sealer)
    }

    pub fn parse(text: &str, caller: &Caller, sealer: &Sealer) -> Option<Self> {
        let round: Self = open(ROUND, text, caller, sealer)?;
        let theirs = (round.v, round.agent, round.key) == (1, caller.agent, caller.key);
        theirs.then_some(round)
    }
}

/// One task: a held call, and a caller who asks about it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskId {
    v: u8,
    agent: AgentId,
    key: KeyId,
    pub hold: HoldId,
    pub call: String,
    nonce: Nonce16,
    pub begun_at: Timestamp,
    pub expires_at: Timestamp,
}

impl TaskId {
    pub fn new(
        caller: &Caller,
        (hold, call): (HoldId, String),
        (begun_at, expires_at): (Timestamp, Timestamp),
    ) -> Self {
        let nonce = chance::nonce();
        Self { v: 1, agent: caller.agent, key: caller.key, hold, call, nonce, begun_at, expires_at }
    }

    pub fn text(&self, caller: &Caller, sealer: &Sealer) -> String {
        seal(TASK, self, caller, sealer)
    }

    pub fn parse(text: &str, caller: &Caller, sealer: &Sealer) -> Option<Self> {
        let task: Self = open(TASK, text, caller, sealer)?;
        let theirs = (task.v, task.agent, task.key) == (1, caller.agent, caller.key);
        theirs.then_some(task)
    }
}

fn context(prefix: &str, caller: &Caller) -> Value {
    json!(["counterfoil/hold-token/v1", prefix, caller.project.id, caller.agent, caller.key])
}

fn seal<T: Serialize>(prefix: &str, token: &T, caller: &Caller, sealer: &Sealer) -> String {
    let text = serde_json::to_vec(token).expect("tokens have string keys and plain values");
    format!("{prefix}{}", sealer.seal(&context(prefix, caller), Zeroizing::new(text)))
}

fn open<T: DeserializeOwned>(prefix: &str, text: &str, caller: &Caller, sealer: &Sealer) -> Option<T> {
    let text = sealer.open(&context(prefix, caller), text.strip_prefix(prefix)?)?;
    serde_json::from_slice(&text).ok()
}
