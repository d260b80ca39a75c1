//! What an operator does about findings: reads them, and says what became of them.

use counterfoil_core::id::ProjectId;

use super::{Setup, SetupError};
use crate::control::public_text;
use crate::ledger::AppendError;
use crate::reconciliation;

pub use crate::reconciliation::{Listed, Which};

impl Setup {
    /// The newest findings whose entries stand below a number, newest first, resolved and cleared ones among them.
    pub async fn findings(
        &self,
        project: ProjectId,
        below: u64,
        most: u32,
    ) -> Result<Vec<Listed>, SetupError> {
        Ok(reconciliation::list(&self.ledger, project, below, most).await?)
    }

    /// `resolution/v1`: a public note of 1 to 280 characters without an address, under a pseudonym. Returns the number of
    /// its entry. The finding stays where it is, and stays as it is.
    pub async fn resolve_finding(
        &self,
        project: ProjectId,
        which: Which,
        note: &str,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        let note = note.parse().map_err(|error: counterfoil_core::id::IdError| {
            AppendError::Refused(format!("the note: {error}"))
        })?;
        let behalf = public_text(behalf)?;
        let seq = reconciliation::resolve(&self.ledger, project, which, note, behalf).await?;
        self.saved()?;
        Ok(seq)
    }
}
