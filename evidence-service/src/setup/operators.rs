//! Tokens of operators.

use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;

use super::{IssuedToken, Setup, SetupError};
use crate::accounts::BearerSecret;
use crate::accounts::operators::PREFIX;
use crate::clock;
use crate::control::public_text;

pub use crate::accounts::operators::Role;

/// Where a token is kept, and so who can use it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kept {
    /// By a person.
    Apart,
    /// In a file that every program of one user can read: answers by it are marked `local`.
    OnThisMachine,
}

/// A token as it is listed: by its name, never by what it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedOperator {
    /// The pseudonym under which its acts are public.
    pub behalf: String,
    pub role: String,
    pub kept: Kept,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl Setup {
    /// A token under a pseudonym that no live token of the project has. The secret is in the answer and nowhere else.
    pub async fn create_operator(
        &self,
        project: ProjectId,
        behalf: &str,
        (role, kept): (Role, Kept),
    ) -> Result<IssuedToken, SetupError> {
        let behalf = public_text(behalf)?;
        let secret = BearerSecret::mint(PREFIX)?;
        // Fails for a project that is not one of ours, before a token of it exists.
        self.ledger.project(project).await?;
        let named = (behalf.as_str(), role, kept);
        match self.directory.name_operator(secret.digest(), project, named, clock::now()).await? {
            true => Ok(IssuedToken { secret }),
            false => Err(SetupError::OperatorExists(behalf)),
        }
    }

    /// Oldest first, those that were revoked among them.
    pub async fn operators(&self, project: ProjectId) -> Result<Vec<ListedOperator>, SetupError> {
        Ok(self.directory.operators(project).await?)
    }

    /// From now on the token of that name is nobody's. Fails where there is none.
    pub async fn revoke_operator(&self, project: ProjectId, behalf: &str) -> Result<(), SetupError> {
        match self.directory.revoke_operator(project, behalf, clock::now()).await? {
            true => Ok(()),
            false => Err(SetupError::NoSuchOperator(behalf.to_owned())),
        }
    }
}
