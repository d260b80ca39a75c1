//! The directory tables, as their owner: slots, digests of API keys, service tokens and operators.

mod store;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, ProjectId};
use counterfoil_core::issuer::PublicId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::time::Timestamp;
use tokio_postgres::{Client, NoTls};

use super::operators::{Kept, ListedOperator, Role};
use crate::config::DatabaseConfig;
use crate::database::{self, DatabaseError};

#[cfg(test)]
pub(crate) use store::ALL;
pub(super) use store::{lock_migrations, make_roles_and_database};

/// Connects as the owner for each change: they are rare, and nothing mighty stays open.
pub(super) struct Directory {
    connection: tokio_postgres::Config,
}

impl Directory {
    pub(super) fn open(config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        Ok(Self { connection: database::connection(config, &config.migrator_user)? })
    }

    /// The next free slot, now taken by the project.
    pub(super) async fn take_slot(
        &self,
        project: ProjectId,
        public_id: &PublicId,
        at: Timestamp,
    ) -> Result<u64, DatabaseError> {
        store::take_slot(&self.connect().await?, project, public_id, at).await
    }

    pub(super) async fn name_api_key(
        &self,
        secret: Digest,
        project: ProjectId,
        key: KeyId,
    ) -> Result<(), DatabaseError> {
        store::insert_api_key(&self.connect().await?, secret, project, key).await
    }

    pub(super) async fn name_service_token(
        &self,
        secret: Digest,
        projects: &[ProjectId],
        kids: &[Thumbprint],
        at: Timestamp,
    ) -> Result<(), DatabaseError> {
        store::insert_service_token(&self.connect().await?, secret, projects, kids, at).await
    }

    /// False where a live token has that name.
    pub(super) async fn name_operator(
        &self,
        secret: Digest,
        project: ProjectId,
        named: (&str, Role, Kept),
        at: Timestamp,
    ) -> Result<bool, DatabaseError> {
        store::insert_operator(&self.connect().await?, secret, project, named, at).await
    }

    pub(super) async fn operators(&self, project: ProjectId) -> Result<Vec<ListedOperator>, DatabaseError> {
        store::operators(&self.connect().await?, project).await
    }

    /// False where no live token has that name.
    pub(super) async fn revoke_operator(
        &self,
        project: ProjectId,
        behalf: &str,
        at: Timestamp,
    ) -> Result<bool, DatabaseError> {
        store::revoke_operator(&self.connect().await?, project, behalf, at).await
    }

    pub(super) async fn projects(&self) -> Result<Vec<ProjectId>, DatabaseError> {
        store::projects(&self.connect().await?).await
    }

    async fn connect(&self) -> Result<Client, DatabaseError> {
        let (client, connection) = self.connection.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}
