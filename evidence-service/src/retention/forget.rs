//! Forgetting a principal: every statement about its actions, the openings, and the name itself (T5).
//!
//! A decision names its principal as a commitment that nobody here can open, and the API key it came by in clear
//! (`via`). So the actions are found by the keys that are bound to the principal, and by digests of decisions, which
//! whoever holds the disclosure key reads out of the openings.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, ProjectId};
use counterfoil_core::statement::Removal;

use super::days::Day;
use super::erase::{Erasure, most_at_once};
use super::store::{self, Said};
use crate::clock;
use crate::database::DatabaseError;
use crate::ledger::{AppendError, Ledger};

/// What to forget: the principal of these keys, and these decisions.
#[derive(Clone, Debug, Default)]
pub struct Forget {
    pub principal: Option<String>,
    pub keys: BTreeSet<KeyId>,
    pub decisions: BTreeSet<Digest>,
}

/// What was forgotten.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Forgotten {
    /// API keys that open nothing any more and name nobody.
    pub keys: BTreeSet<KeyId>,
    pub actions: u64,
    pub bodies: u64,
    pub tombstones: u64,
}

/// Entries looked at by one statement: each body among them is read.
const WINDOW: u64 = 4096;
/// A sweep beside us, or a second `forget`, may be faster with a batch; then what is left is looked up again.
const TRIES: usize = 5;

impl Ledger {
    /// Revokes the keys first, so that nothing is decided for the principal while its past is taken away.
    pub(crate) async fn forget(
        &self,
        project: ProjectId,
        what: &Forget,
        behalf: &str,
    ) -> Result<Forgotten, AppendError> {
        let keys = self.revoke_and_unname(project, what).await?;
        let mut forgotten = Forgotten { keys, ..Forgotten::default() };
        let actions = self.actions_of(project, &forgotten.keys, &what.decisions).await?;
        forgotten.actions = actions.len() as u64;
        let actions: Vec<uuid::Uuid> = actions.into_iter().collect();
        for some in actions.chunks(most_at_once()) {
            self.erase_about(project, some, behalf, &mut forgotten).await?;
        }
        let mut client = self.database().sweeper().await?;
        let tx = client.begin(project).await?;
        store::delete_keyed(&tx, &forgotten.keys).await?;
        // Openings that came after their decisions' bodies had gone.
        store::delete_openings_of(&tx, &what.decisions).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        Ok(forgotten)
    }

    async fn revoke_and_unname(
        &self,
        project: ProjectId,
        what: &Forget,
    ) -> Result<BTreeSet<KeyId>, AppendError> {
        let mut client = self.database().app().await?;
        let tx = client.begin(project).await?;
        let keys = store::unname(&tx, what.principal.as_deref(), &what.keys, clock::now()).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        Ok(keys)
    }

    /// Actions of decisions that came by one of the keys or are one of those named, as far as their bodies are there.
    async fn actions_of(
        &self,
        project: ProjectId,
        keys: &BTreeSet<KeyId>,
        decisions: &BTreeSet<Digest>,
    ) -> Result<BTreeSet<uuid::Uuid>, AppendError> {
        let mut found = BTreeSet::new();
        if keys.is_empty() && decisions.is_empty() {
            return Ok(found);
        }
        let mut client = self.database().sweeper().await?;
        let tx = client.begin(project).await?;
        let size = store::size(&tx).await?;
        for first in (0..size).step_by(WINDOW as usize) {
            found.extend(store::decided(&tx, first..first + WINDOW, keys, decisions).await?);
        }
        Ok(found)
    }

    async fn erase_about(
        &self,
        project: ProjectId,
        actions: &[uuid::Uuid],
        behalf: &str,
        forgotten: &mut Forgotten,
    ) -> Result<(), AppendError> {
        let mut tries = 0;
        loop {
            let said = {
                let mut client = self.database().sweeper().await?;
                let tx = client.begin(project).await?;
                store::said_about(&tx, actions).await?
            };
            match self.erase_listed(project, said, Removal::Request, behalf, forgotten).await {
                Err(AppendError::Unavailable(_)) if tries < TRIES => tries += 1,
                erased => return erased,
            }
        }
    }

    /// Empties these bodies, day by day, so many at once.
    pub(super) async fn erase_listed(
        &self,
        project: ProjectId,
        said: Vec<Said>,
        removal: Removal,
        behalf: &str,
        forgotten: &mut Forgotten,
    ) -> Result<(), AppendError> {
        let mut days: BTreeMap<Day, Vec<u64>> = BTreeMap::new();
        for Said { seq, at } in said {
            days.entry(Day::of(at)).or_default().push(seq);
        }
        let issuer = &self.project(project).await?.issuer;
        for (day, seqs) in days {
            for seqs in seqs.chunks(most_at_once()) {
                let erasure = Erasure {
                    issuer: issuer.clone(),
                    signer: &self.keys().ledger,
                    behalf: behalf.to_owned(),
                    removal,
                    day,
                    seqs: seqs.to_vec(),
                    upto: None,
                };
                self.append(project, &erasure).await?;
                forgotten.bodies += seqs.len() as u64;
                forgotten.tombstones += 1;
            }
        }
        Ok(())
    }
}
