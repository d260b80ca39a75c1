//! API keys of agents and service tokens of gateways.

use counterfoil_core::id::{AgentId, KeyId, ProjectId};
use counterfoil_core::key::Thumbprint;

use super::{Setup, SetupError};
use crate::accounts::{self, BearerSecret, opaque};
use crate::clock;
use crate::database::DatabaseError;

/// A fresh API key. The secret is here and nowhere else.
#[derive(Debug)]
pub struct ApiKey {
    pub id: KeyId,
    pub agent: AgentId,
    pub secret: BearerSecret,
}

/// A fresh service token.
#[derive(Debug)]
pub struct IssuedToken {
    pub secret: BearerSecret,
}

impl Setup {
    /// An API key of one agent, on behalf of at most one opaque principal.
    pub async fn create_api_key(
        &self,
        project: ProjectId,
        agent: AgentId,
        principal: Option<&str>,
    ) -> Result<ApiKey, SetupError> {
        if principal.is_some_and(|principal| !opaque(principal)) {
            return Err(SetupError::NotOpaque);
        }
        let id = KeyId::from_uuid(clock::fresh_uuid());
        let secret = BearerSecret::mint("cfk_")?;
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        accounts::store::insert_credential(&tx, id, secret.digest(), agent, principal, clock::now()).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        self.directory.name_api_key(secret.digest(), project, id).await?;
        Ok(ApiKey { id, agent, secret })
    }

    /// From its commit on no ALLOW under this key is recorded.
    pub async fn revoke_api_key(&self, project: ProjectId, key: KeyId) -> Result<(), SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        accounts::store::revoke_credential(&tx, key, clock::now()).await?;
        Ok(tx.commit().await.map_err(DatabaseError::from)?)
    }

    /// A gateway's token: it may record for these projects, statements signed by these keys.
    pub async fn create_service_token(
        &self,
        projects: &[ProjectId],
        decision_kids: &[Thumbprint],
    ) -> Result<IssuedToken, SetupError> {
        let secret = BearerSecret::mint("cfs_")?;
        self.directory.name_service_token(secret.digest(), projects, decision_kids, clock::now()).await?;
        Ok(IssuedToken { secret })
    }

    /// A fresh agent id.
    pub fn fresh_agent() -> AgentId {
        AgentId::from_uuid(clock::fresh_uuid())
    }
}
