//! Held calls, on the gateway's side: what is parked, how an answer is awaited, what comes back.
//!
//! Promised: what a person approves is dispatched from the bytes that were parked, and only if they open under our own
//! key for this project, hold and action; a hold is taken up by the agent that opened it and by nobody else. A caller
//! that goes away stops the dispatch, never the question. Whatever is not a yes is no.
//! Not promised: that a yes is still there when it is used. The record transaction decides that, once.
//!
//!     STEP_UP ── parked beside its decision ── a person answers ── judged again ── recorded ── dispatched

mod card;
mod finding;
mod parking;
mod sealing;
mod tokens;
mod waiting;
mod words;

pub use card::is_for_a_person;
pub use finding::{looked_up, taken_up};
pub use parking::{asked_of, call_of, park};
pub use sealing::Sealer;
pub use tokens::{Round, TaskId, is_ours};
pub use waiting::wait;
pub use words::{APPROVAL, elsewhere};

use crate::answer::Answer;
use crate::evidence::Evidence;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::Answered;
use counterfoil_core::id::{ActionId, HoldId, KeyId};
use counterfoil_core::statement::Reason;
use counterfoil_core::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// What one gateway knows about holds: its keys and its manners. The holds themselves are the evidence service's.
pub struct Holds {
    pub sealer: Sealer,
    pub evidence: Arc<Evidence>,
    /// How long a hold can be answered.
    pub lifetime: Duration,
    /// How long a request may be kept waiting, and by which keys how long instead.
    pub patience: Duration,
    pub patience_of: BTreeMap<KeyId, Duration>,
    /// Where a person finds the console. Callers whose user can open an address are shown it.
    pub console: Option<String>,
    /// Cancelled when this process is about to end: nobody is kept waiting by it then.
    pub closing: CancellationToken,
}

impl Holds {
    pub fn patience_of(&self, key: KeyId) -> Duration {
        self.patience_of.get(&key).copied().unwrap_or(self.patience)
    }

    /// The page of one hold. Whoever opens it has to say who he is; the address lets nobody in.
    pub fn page(&self, hold: HoldId) -> Option<String> {
        self.console.as_ref().map(|console| format!("{}/holds/{hold}", console.trim_end_matches('/')))
    }
}

/// How a caller waits where a person has to be asked: chosen for each request by what it declared.
pub enum Manner {
    /// It does not: it gets a task and asks about it (tasks extension).
    Task(oneshot::Sender<Begun>),
    /// It is kept for a while and then asked to come again, with a state of ours (2026-07-28).
    Rounds { shows_pages: bool },
    /// It is told by an error to show its user a page (-32042 of 2025-11-25), and comes again.
    Page,
    /// It is kept for a while and then told in words to repeat the call.
    Repeat,
}

/// What a task is begun with: the answer that says so, and what its id has to name.
pub struct Begun {
    pub answer: Answer,
    pub hold: HoldId,
    pub call: String,
    pub expires_at: Timestamp,
}

/// Whether this decision asks a person, and what it has to do with earlier ones.
pub enum Question {
    NotAsked,
    /// It opens a hold.
    Opens(HoldId, Timestamp),
    /// Another round of a call that is held already.
    Joins(Joined),
    /// The call is too large to be parked, so nobody can be asked.
    TooLarge,
    /// A round of a call that was dispatched for somebody else.
    Elsewhere,
    /// A round of a call whose hold has ended.
    Over {
        action: ActionId,
        ended: Ended,
    },
}

/// The hold that a round belongs to.
pub struct Joined {
    pub hold: HoldId,
    pub action: ActionId,
    pub decision: Digest,
    pub seed: Zeroizing<[u8; 16]>,
    pub expires_at: Timestamp,
}

/// A held call whose hold has ended, to be judged again as the action that it was.
pub struct Reopened {
    pub hold: HoldId,
    pub action: ActionId,
    /// The held decision.
    pub decision: Digest,
    /// Commitments come out byte for byte as they were.
    pub seed: Zeroizing<[u8; 16]>,
    pub ended: Ended,
}

/// How a hold ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    Approved(Answered),
    Denied(Option<Answered>),
    Expired,
    Swept,
}

impl Ended {
    /// Why the call is denied; none where it was approved.
    pub fn refusal(&self) -> Option<Reason> {
        match self {
            Self::Approved(_) => None,
            Self::Denied(_) => Some(Reason::AnsweredNo),
            Self::Expired => Some(Reason::HoldExpired),
            Self::Swept => Some(Reason::Killed),
        }
    }

    pub fn answered(&self) -> Option<&Answered> {
        match self {
            Self::Approved(answered) => Some(answered),
            Self::Denied(answered) => answered.as_ref(),
            Self::Expired | Self::Swept => None,
        }
    }
}

impl Question {
    /// The hold that the decision names.
    pub fn hold(&self) -> Option<HoldId> {
        match self {
            Self::Opens(hold, _) => Some(*hold),
            Self::Joins(joined) => Some(joined.hold),
            Self::NotAsked | Self::TooLarge | Self::Elsewhere | Self::Over { .. } => None,
        }
    }

    /// The action of the round that opened the hold.
    pub fn follows(&self) -> Option<ActionId> {
        match self {
            Self::Joins(joined) => Some(joined.action),
            Self::Over { action, .. } => Some(*action),
            Self::NotAsked | Self::Opens(..) | Self::TooLarge | Self::Elsewhere => None,
        }
    }
}
