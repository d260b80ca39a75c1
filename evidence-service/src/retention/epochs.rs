//! Whole days by an operator's hand: what each holds, its bodies for an archive, and erasing one (P6).

use counterfoil_core::entry::Entry;
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::Removal;

use super::days::Day;
use super::erase::most_at_once;
use super::forget::Forgotten;
use super::store;
use crate::clock;
use crate::database::DatabaseError;
use crate::ledger::{AppendError, Ledger};

/// One day of a project.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EpochRow {
    pub day: Day,
    pub first: u64,
    pub last: u64,
    /// Bodies of kinds that are emptied, and still there.
    pub bodies: u64,
    /// Bodies that were emptied.
    pub erased: u64,
}

/// An entry as an archive keeps it.
#[derive(Clone, Debug)]
pub struct Archived {
    pub entry: Entry,
    pub body: Option<Vec<u8>>,
    /// Sealed to the project's disclosure key.
    pub openings: Vec<String>,
}

impl Ledger {
    /// Every day that has an entry.
    pub(crate) async fn epochs(&self, project: ProjectId) -> Result<Vec<EpochRow>, AppendError> {
        let mut client = self.database().app().await?;
        let tx = client.begin_snapshot(project).await?;
        Ok(store::epochs(&tx).await?)
    }

    /// At most 256 entries from `first` to `last`, with everything that erasing them takes away.
    pub(crate) async fn archived(
        &self,
        project: ProjectId,
        first: u64,
        last: u64,
    ) -> Result<Vec<Archived>, AppendError> {
        let mut client = self.database().app().await?;
        let tx = client.begin_snapshot(project).await?;
        Ok(store::archived(&tx, first, last).await?)
    }

    /// Empties what is left of a closed day. Returns how many bodies, and under how many tombstones.
    pub(crate) async fn erase_epoch(
        &self,
        project: ProjectId,
        day: Day,
        removal: Removal,
        behalf: &str,
    ) -> Result<Forgotten, AppendError> {
        let refused = |why: &str| Err(AppendError::Refused(format!("{day} {why}")));
        if day.end() > clock::now() {
            return refused("is not over");
        }
        let Some(epoch) = self.epochs(project).await?.into_iter().find(|epoch| epoch.day == day) else {
            return refused("has no entry");
        };
        let mut erased = Forgotten::default();
        let mut from = epoch.first;
        loop {
            let mut client = self.database().sweeper().await?;
            let tx = client.begin(project).await?;
            let due = store::due(&tx, from, day.end(), most_at_once()).await?;
            let Some(end) = due.last() else { break };
            if store::is_open(&tx, from, end.seq).await?
                && day.end() > super::days::settled_before(clock::now())
            {
                return refused("has calls of which a provider, or a gateway, may still have to speak");
            }
            tx.commit().await.map_err(DatabaseError::from)?;
            drop(client);
            from = end.seq + 1;
            let said = due.iter().filter(|due| due.full).map(|due| store::Said { seq: due.seq, at: due.at });
            self.erase_listed(project, said.collect(), removal, behalf, &mut erased).await?;
        }
        let mut client = self.database().sweeper().await?;
        let tx = client.begin(project).await?;
        store::delete_keys_between(&tx, epoch.first, epoch.last).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        Ok(erased)
    }
}
