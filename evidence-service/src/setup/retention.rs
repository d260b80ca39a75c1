//! Retention by an operator's hand: days, archives, forgetting.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::Removal;
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

use super::{Setup, SetupError};
use crate::accounts::opaque;
use crate::control::public_text;
use crate::retention::{Archived, Day, EpochRow, Forget, Forgotten, Swept, store};

/// A sealed opening, and the decision that it opens.
#[derive(Clone, Debug)]
pub struct SealedOpening {
    pub id: Uuid,
    pub decision: Digest,
    pub jwe: String,
}

impl Setup {
    /// What the service does by itself every hour, for one project, as if it were `now`.
    pub async fn sweep_as_of(&self, project: ProjectId, now: Timestamp) -> Result<Swept, SetupError> {
        let swept = self.ledger.sweep(project, now).await?;
        self.saved()?;
        Ok(swept)
    }

    /// Every day of a project, and how many bodies of it are there.
    pub async fn epochs(&self, project: ProjectId) -> Result<Vec<EpochRow>, SetupError> {
        Ok(self.ledger.epochs(project).await?)
    }

    /// A page of the entries from `first` to `last`: ask again from the one after its last. Empty at the end.
    pub async fn archived(
        &self,
        project: ProjectId,
        first: u64,
        last: u64,
    ) -> Result<Vec<Archived>, SetupError> {
        Ok(self.ledger.archived(project, first, last).await?)
    }

    /// Empties what is left of a day that is over and settled. There is no way back.
    pub async fn erase_epoch(
        &self,
        project: ProjectId,
        day: Day,
        removal: Removal,
        behalf: &str,
    ) -> Result<Forgotten, SetupError> {
        let erased = self.ledger.erase_epoch(project, day, removal, &public_text(behalf)?).await?;
        self.saved()?;
        Ok(erased)
    }

    /// A page of openings after the one named. Only the disclosure key opens them, and it is not here.
    pub async fn openings(
        &self,
        project: ProjectId,
        after: Option<Uuid>,
    ) -> Result<Vec<SealedOpening>, SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        Ok(store::openings(&tx, after.unwrap_or_default()).await?)
    }

    /// Revokes the keys, takes the principal's name off them, and empties what was said about its actions. There is no
    /// way back.
    pub async fn forget(
        &self,
        project: ProjectId,
        what: &Forget,
        behalf: &str,
    ) -> Result<Forgotten, SetupError> {
        if what.principal.as_deref().is_some_and(|principal| !opaque(principal)) {
            return Err(SetupError::NotOpaque);
        }
        let forgotten = self.ledger.forget(project, what, &public_text(behalf)?).await?;
        self.saved()?;
        Ok(forgotten)
    }
}
