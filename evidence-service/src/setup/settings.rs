//! Settings, as an operator changes them.

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::RetentionDays;

use super::{Setup, SetupError};
use crate::control::public_text;
use crate::ledger::AppendError;
use crate::settings::{Change, Setting, Visibility, store};

impl Setup {
    /// How long bodies of a project are kept.
    pub async fn retention_days(&self, project: ProjectId) -> Result<RetentionDays, SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        Ok(store::retention_days(&tx).await?)
    }

    /// `settings/v1`: bodies are kept so long from now on. Returns the entry's number.
    pub async fn keep_for(
        &self,
        project: ProjectId,
        days: RetentionDays,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        self.set(project, Setting::RetentionDays(days), behalf).await
    }

    /// Who may see the project's page and what lies below its address.
    pub async fn visibility(&self, project: ProjectId) -> Result<Visibility, SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        Ok(store::visibility(&tx).await?)
    }

    /// `settings/v1`: from now on these may see it. Returns the entry's number.
    pub async fn show_to(
        &self,
        project: ProjectId,
        visibility: Visibility,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        self.set(project, Setting::Visibility(visibility), behalf).await
    }

    async fn set(&self, project: ProjectId, setting: Setting, behalf: &str) -> Result<u64, SetupError> {
        let job = Change {
            issuer: self.ledger.project(project).await?.issuer.clone(),
            behalf: public_text(behalf)?,
            setting,
            signer: &self.ledger.keys().ledger,
        };
        let done = self.ledger.append(project, &job).await?;
        self.saved()?;
        done.last_seq().ok_or_else(|| AppendError::Unknown.into())
    }
}
