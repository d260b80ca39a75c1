//! What the record has about one decision, without the bodies.

use super::Standing;
use crate::commitment::Commitment;
use crate::digest::Digest;
use crate::entry::Entry;
use crate::execution::{Said, Submitted};
use crate::id::{ActionId, ProviderId, ToolName};
use crate::statement::{Decision, Effect, Mark, Mode, Observation, ObservationStatus, Outcome, Verdict};
use crate::time::Timestamp;

/// Which calls are counted together.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Account {
    /// The verdict binds.
    Governed,
    /// A verdict other than ALLOW that a declared shadow window made advisory: what ran, ran as a rehearsal.
    Rehearsal,
    BreakGlass,
}

impl Account {
    pub const ALL: &'static [Self] = &[Self::Governed, Self::Rehearsal, Self::BreakGlass];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Governed => "governed",
            Self::Rehearsal => "rehearsal",
            Self::BreakGlass => "break_glass",
        }
    }

    fn of(decision: &Decision) -> Self {
        match (decision.verdict, decision.effect) {
            _ if decision.marks.contains(&Mark::BreakGlass) => Self::BreakGlass,
            (Verdict::Allow, _) | (_, Effect::Enforced) => Self::Governed,
            (_, Effect::Advisory) => Self::Rehearsal,
        }
    }
}

/// One decision, and the place of its entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decided {
    pub digest: Digest,
    pub seq: u64,
    pub entered_at: Timestamp,
    pub action: ActionId,
    pub provider: Option<ProviderId>,
    pub tool: Option<ToolName>,
    pub args: Option<Commitment>,
    pub mode: Mode,
    pub account: Account,
    pub(super) cleared: bool,
    /// What the quote was opened to, in the smallest unit of its currency; null where there is none or it is sealed.
    pub quoted: Option<u64>,
}

impl Decided {
    pub fn of(decision: &Decision, digest: Digest, entry: &Entry) -> Self {
        Self {
            digest,
            seq: entry.seq,
            entered_at: entry.at,
            action: decision.action,
            provider: decision.provider.clone(),
            tool: decision.tool.clone(),
            args: decision.args,
            mode: decision.mode,
            account: Account::of(decision),
            cleared: decision.is_cleared(),
            quoted: None,
        }
    }

    #[must_use]
    pub fn quoting(mut self, amount: u64) -> Self {
        self.quoted = Some(amount);
        self
    }

    pub fn is_cleared(&self) -> bool {
        self.cleared
    }
}

/// The gateway's observation of that decision. Where there are several, the first by entry counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Observed {
    pub digest: Digest,
    pub seq: u64,
    pub entered_at: Timestamp,
    pub status: ObservationStatus,
    pub is_error: bool,
    pub result: Option<Commitment>,
}

impl Observed {
    pub fn of(seen: &Observation, digest: Digest, entry: &Entry) -> Self {
        Self {
            digest,
            seq: entry.seq,
            entered_at: entry.at,
            status: seen.status,
            is_error: seen.is_error == Some(true),
            result: seen.result,
        }
    }
}

/// One execution, and the place of its entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stated {
    /// Digest of the body: the wrapper `received/v1`.
    pub digest: Digest,
    pub seq: u64,
    pub entered_at: Timestamp,
    pub standing: Standing,
    pub action: Option<ActionId>,
    pub decision: Option<Digest>,
    /// Null in the six-field form, like `tool`, `args` and `result`.
    pub provider: Option<ProviderId>,
    pub tool: Option<ToolName>,
    pub args: Option<Commitment>,
    pub result: Option<Commitment>,
    pub outcome: Outcome,
    pub fingerprint: Digest,
    /// What `charged` was opened to, in the smallest unit of the quote's currency.
    pub charged: Option<u64>,
}

impl Stated {
    pub fn of(submitted: &Submitted, digest: Digest, entry: &Entry, standing: Standing) -> Self {
        let (provider, tool, args, result) = match submitted.said() {
            Said::Native(said) => {
                (Some(said.provider.clone()), Some(said.tool.clone()), said.args, said.result)
            }
            Said::Vendor(_) => (None, None, None, None),
        };
        Self {
            digest,
            seq: entry.seq,
            entered_at: entry.at,
            standing,
            action: submitted.action(),
            decision: submitted.decision(),
            provider,
            tool,
            args,
            result,
            outcome: submitted.outcome(),
            fingerprint: submitted.fingerprint(),
            charged: None,
        }
    }

    /// Whether the signature holds and is still not the provider's word: another provider's key, or another's name.
    pub fn is_foreign_to(&self, decided: &Decided) -> bool {
        let Standing::Holds(signer) = &self.standing else { return false };
        let asked = decided.provider.as_ref() == Some(signer);
        let speaks_for_itself = self.provider.as_ref().is_none_or(|named| named == signer);
        !(asked && speaks_for_itself)
    }

    #[must_use]
    pub fn charging(mut self, amount: u64) -> Self {
        self.charged = Some(amount);
        self
    }
}

/// A decision with everything that names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Matter {
    pub decided: Decided,
    pub observed: Option<Observed>,
    pub stated: Vec<Stated>,
}

impl Matter {
    pub fn new(decided: Decided) -> Self {
        Self { decided, observed: None, stated: Vec::new() }
    }
}
