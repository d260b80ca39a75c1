//! The largest committed head that this process has seen of each project.
//!
//! Promised: a head that is smaller than one seen, or differs from it, makes its project read-only at once, and so
//! does a head that does not continue the one seen after the database changed its identity or timeline (failover to
//! a standby that lost the tail, restore of an old backup). A copy in a file outside the database's volume carries
//! the knowledge over a restart.
//! Not promised: that the file is newer than a second. Receipts and witnesses reach further.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use counterfoil_core::id::ProjectId;
use counterfoil_core::tree::Hash;

use super::head::Head;
use crate::database::Line;

#[derive(Default)]
pub(crate) struct Seen(Mutex<State>);

#[derive(Default)]
struct State {
    heads: HashMap<ProjectId, Known>,
    stopped: HashMap<ProjectId, String>,
    changed: bool,
}

/// A committed head, and the number of the database line on which it was last found to hold (0: on none yet).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    size: u64,
    root: Hash,
    line: u64,
}

/// What must be looked up before the first write on a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Proof {
    Needless,
    /// The ledger must have had this root at this size.
    RootAt(u64, Hash),
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("project `{project}` is read-only: {why}")]
pub struct ReadOnly {
    pub project: ProjectId,
    pub why: String,
}

impl Seen {
    /// What to compare a head with. Taken before the head is read: between the two it can only have grown.
    pub(crate) fn known(&self, project: ProjectId) -> Option<Known> {
        self.state().heads.get(&project).copied()
    }

    /// Called before anything is written.
    pub(crate) fn compare(&self, head: &Head, known: Option<Known>, line: &Line) -> Result<Proof, ReadOnly> {
        let mut state = self.state();
        if let Some(why) = state.stopped.get(&head.project) {
            return Err(ReadOnly { project: head.project, why: why.clone() });
        }
        let Some(known) = known else { return Ok(Proof::Needless) };
        if head.size() < known.size {
            let why = format!("the ledger has {} entries, {} were seen before", head.size(), known.size);
            return Err(state.stop(head.project, why));
        }
        if head.size() == known.size && head.root() != known.root {
            let why = format!("the root of {} entries is not the one seen before", known.size);
            return Err(state.stop(head.project, why));
        }
        let proved = known.line == line.number() || head.size() == known.size;
        Ok(if proved { Proof::Needless } else { Proof::RootAt(known.size, known.root) })
    }

    /// The looked-up root of [`Proof::RootAt`]: none, or another, stops the project.
    pub(crate) fn prove(
        &self,
        head: &Head,
        size: u64,
        seen: Hash,
        found: Option<Hash>,
    ) -> Result<(), ReadOnly> {
        if found == Some(seen) {
            return Ok(());
        }
        let why = format!("the ledger does not continue the {size} entries that were seen before");
        Err(self.state().stop(head.project, why))
    }

    /// After a commit, or after a head was proved.
    pub(crate) fn remember(&self, head: &Head, line: &Line) {
        let mut state = self.state();
        let newer = state.heads.get(&head.project).is_none_or(|known| known.size <= head.size());
        if newer {
            let known = Known { size: head.size(), root: head.root(), line: line.number() };
            state.heads.insert(head.project, known);
            state.changed = true;
        }
    }

    /// From the file: heads that an earlier process saw.
    pub(crate) fn recall(&self, heads: impl IntoIterator<Item = (ProjectId, u64, Hash)>) {
        let mut state = self.state();
        for (project, size, root) in heads {
            let newer = state.heads.get(&project).is_none_or(|known| known.size < size);
            if newer {
                state.heads.insert(project, Known { size, root, line: 0 });
            }
        }
    }

    /// Everything seen, if it changed since the last call.
    pub(crate) fn changes(&self) -> Option<Vec<(ProjectId, u64, Hash)>> {
        let mut state = self.state();
        std::mem::take(&mut state.changed).then(|| state.all())
    }

    /// How many entries each project was last seen to have.
    pub(crate) fn sizes(&self) -> Vec<(ProjectId, u64)> {
        self.state().heads.iter().map(|(project, known)| (*project, known.size)).collect()
    }

    /// The root that the ledger must pass through, as far as this process knows.
    pub(crate) fn held(&self, project: ProjectId) -> Option<(u64, Hash)> {
        self.known(project).map(|known| (known.size, known.root))
    }

    /// Why a project takes no entries, if it takes none.
    pub(crate) fn stopped(&self, project: ProjectId) -> Option<String> {
        self.state().stopped.get(&project).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // INVARIANT: no panic happens while it is held, so a poisoned lock still guards whole values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stop(&mut self, project: ProjectId, why: String) -> ReadOnly {
        tracing::error!(%project, why, "project is read-only");
        self.stopped.insert(project, why.clone());
        ReadOnly { project, why }
    }

    fn all(&self) -> Vec<(ProjectId, u64, Hash)> {
        self.heads.iter().map(|(project, known)| (*project, known.size, known.root)).collect()
    }
}

#[cfg(test)]
mod tests;
