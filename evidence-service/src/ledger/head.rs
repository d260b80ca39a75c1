//! The head of a project: the newest entry, the tree's right edge, and what decides. Pure.
//!
//! Held in one row whose lock orders every append of the project.

use std::collections::BTreeSet;

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Kind, genesis};
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::{Counts, Scope};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::{Frontier, Hash};

#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) project: ProjectId,
    pub(crate) frontier: Frontier,
    pub(crate) last_hash: Digest,
    pub(crate) last_at: Timestamp,
    /// First seq of the day of `last_at`, and that day's entries by kind.
    pub(crate) epoch_first: u64,
    pub(crate) counts: Counts,
    pub(crate) control: u64,
    pub(crate) floor: u64,
    pub(crate) generation: u64,
    pub(crate) killed: bool,
    pub(crate) documents: Documents,
    /// Agents, connections and environments that are killed.
    pub(crate) stopped: BTreeSet<Scope>,
    /// Until when windows stand, or stood: time alone ends them too.
    pub(crate) breakglass_until: Option<Timestamp>,
    pub(crate) shadow_until: Option<Timestamp>,
}

/// Digests of what is in force; null until published.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Documents {
    pub(crate) policy: Option<Digest>,
    pub(crate) registry: Option<Digest>,
    pub(crate) rules: Option<Digest>,
}

impl Head {
    /// Before the first entry.
    pub(crate) fn of_new_project(project: ProjectId, at: Timestamp) -> Self {
        Self {
            project,
            frontier: Frontier::empty(),
            last_hash: genesis(project),
            last_at: at,
            epoch_first: 0,
            counts: Counts::new(),
            control: 0,
            floor: 0,
            generation: 0,
            killed: false,
            documents: Documents::default(),
            stopped: BTreeSet::new(),
            breakglass_until: None,
            shadow_until: None,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.frontier.size()
    }

    pub(crate) fn root(&self) -> Hash {
        self.frontier.root()
    }

    /// The time of the next entry: never before the last one's.
    pub(crate) fn next_at(&self, now: Timestamp) -> Timestamp {
        now.max(self.last_at)
    }

    /// Whether an entry at that time opens a new day. The first day of a project has none before it to close.
    pub(crate) fn opens_a_day(&self, at: Timestamp) -> bool {
        self.size() > 0 && at.epoch() != self.last_at.epoch()
    }

    /// A statement that changes what decides is about to be numbered.
    pub(crate) fn count_control(&mut self, width: Width) {
        self.control += 1;
        if width == Width::Narrower {
            self.floor = self.control;
        }
    }

    pub(crate) fn count_entry(&mut self, kind: Kind) {
        *self.counts.entry(kind).or_insert(0) += 1;
    }
}

/// Whether a change takes something away. Then whatever was judged before it is stale.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Width {
    Wider,
    Narrower,
}
