//! What an entry says to the comparison. Pure: bodies in, events out; no column of an index is believed where a body is.

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind};
use counterfoil_core::execution::{Said, Submitted};
use counterfoil_core::id::ActionId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::reconcile::{Observed, Stated};
use counterfoil_core::statement::{Decision, FindingCode, Received, SeenCheckpoint, Statement};

use super::keys::Keys;
use super::store::entries::Entered;

pub(super) enum Event {
    Decided(Box<Decision>, Entry),
    /// A decision whose body is gone: it stands, and nothing more can be said about it.
    Erased {
        action: ActionId,
        digest: Digest,
        seq: u64,
    },
    Observed {
        action: ActionId,
        decision: Digest,
        observed: Observed,
    },
    Stated(Box<Heard>),
    /// A catalogue whose signature does not hold.
    UnsignedCatalog(Entry),
    /// OUTCOME_UNKNOWN was said of the decision of this number.
    OutcomeUnknown {
        decision: u64,
    },
}

/// An execution, whose key it names, and what checkpoint its provider holds.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) stated: Stated,
    pub(super) key: Option<Thumbprint>,
    pub(super) seen: Option<SeenCheckpoint>,
}

impl Event {
    /// None for what is not compared.
    pub(super) fn of(entered: &Entered, keys: &Keys) -> Option<Self> {
        let entry = &entered.entry;
        match (&entered.statement, entry.kind) {
            (Some(Statement::Decision(decision)), _) => Some(Self::Decided(decision.clone(), entry.clone())),
            (Some(Statement::Observation(seen)), _) => Some(Self::Observed {
                action: seen.action,
                decision: seen.decision,
                observed: Observed::of(seen, entry.body, entry),
            }),
            (Some(Statement::Received(received)), Kind::Catalog) => {
                (!received.holds).then(|| Self::UnsignedCatalog(entry.clone()))
            }
            (Some(Statement::Received(received)), _) => {
                Heard::of(received, entry, keys).map(|heard| Self::Stated(Box::new(heard)))
            }
            (Some(Statement::Finding(said)), _) if said.code == FindingCode::OutcomeUnknown => {
                said.seq.map(|decision| Self::OutcomeUnknown { decision })
            }
            (None, Kind::Decision) => {
                let action = entered.action?;
                Some(Self::Erased { action, digest: entry.body, seq: entry.seq })
            }
            (Some(_) | None, _) => None,
        }
    }

    /// The decision that it names.
    pub(super) fn name(&self) -> Option<(ActionId, Digest)> {
        match self {
            Self::Observed { action, decision, .. } => Some((*action, *decision)),
            Self::Stated(heard) => heard.stated.action.zip(heard.stated.decision),
            Self::Decided(..)
            | Self::Erased { .. }
            | Self::UnsignedCatalog(_)
            | Self::OutcomeUnknown { .. } => None,
        }
    }

    /// The decision whose call the gateway saw.
    pub(super) fn observes(&self) -> Option<(ActionId, Digest)> {
        match self {
            Self::Observed { action, decision, .. } => Some((*action, *decision)),
            Self::Stated(_)
            | Self::Decided(..)
            | Self::Erased { .. }
            | Self::UnsignedCatalog(_)
            | Self::OutcomeUnknown { .. } => None,
        }
    }
}

impl Heard {
    /// None for what is no execution.
    pub(super) fn of(received: &Received, entry: &Entry, keys: &Keys) -> Option<Self> {
        let submitted = Submitted::unwrap(received).ok()??;
        let (standing, key) = keys.standing(&submitted, received, entry.seq);
        let seen = match submitted.said() {
            Said::Native(said) => said.seen,
            Said::Vendor(_) => None,
        };
        Some(Self { stated: Stated::of(&submitted, entry.body, entry, standing), key, seen })
    }
}
