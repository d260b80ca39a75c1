//! The transaction of one project, and questions to the directory.

use counterfoil_core::id::ProjectId;
use deadpool_postgres::{Object, Transaction};
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row};

use super::{DatabaseError, Sql, store};

/// A transaction that sees exactly one project. Dropping it rolls back.
pub(crate) struct ProjectTx<'c> {
    tx: Transaction<'c>,
    project: ProjectId,
}

pub(crate) type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

impl<'c> ProjectTx<'c> {
    pub(super) async fn begin(client: &'c mut Object, project: ProjectId) -> Result<Self, DatabaseError> {
        let tx = client.transaction().await?;
        let enter = tx.prepare_cached(store::ENTER.text()).await?;
        tx.query_one(&enter, &[&project.uuid().to_string()]).await?;
        Ok(Self { tx, project })
    }

    /// Sees one moment of the project for as long as it lasts, and changes nothing.
    pub(super) async fn begin_snapshot(
        client: &'c mut Object,
        project: ProjectId,
    ) -> Result<Self, DatabaseError> {
        let snapshot = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let tx = snapshot.read_only(true).start().await?;
        let enter = tx.prepare_cached(store::ENTER.text()).await?;
        tx.query_one(&enter, &[&project.uuid().to_string()]).await?;
        Ok(Self { tx, project })
    }

    pub(crate) fn project(&self) -> ProjectId {
        self.project
    }

    pub(crate) async fn rows(&self, sql: Sql, parameters: Parameters<'_>) -> Result<Vec<Row>, DatabaseError> {
        let statement = self.tx.prepare_cached(sql.text()).await?;
        Ok(self.tx.query(&statement, parameters).await?)
    }

    pub(crate) async fn maybe_row(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, DatabaseError> {
        let statement = self.tx.prepare_cached(sql.text()).await?;
        Ok(self.tx.query_opt(&statement, parameters).await?)
    }

    pub(crate) async fn row(&self, sql: Sql, parameters: Parameters<'_>) -> Result<Row, DatabaseError> {
        let statement = self.tx.prepare_cached(sql.text()).await?;
        Ok(self.tx.query_one(&statement, parameters).await?)
    }

    /// Runs a statement that must touch exactly `expected` rows.
    pub(crate) async fn change(
        &self,
        expected: u64,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<(), DatabaseError> {
        let statement = self.tx.prepare_cached(sql.text()).await?;
        let touched = self.tx.execute(&statement, parameters).await?;
        if touched == expected {
            return Ok(());
        }
        Err(DatabaseError::Refused(format!("{touched} rows changed where {expected} should have")))
    }

    /// An error says only that the answer did not come: the commit may stand. See `ledger::doubt`.
    pub(crate) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        self.tx.commit().await
    }
}

/// Asks the directory functions, which stand outside tenancy and answer with one row.
pub(crate) struct DirectoryClient<'c>(&'c Object);

impl<'c> DirectoryClient<'c> {
    pub(super) fn new(client: &'c Object) -> Self {
        Self(client)
    }

    pub(crate) async fn ask(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, DatabaseError> {
        let statement = self.0.prepare_cached(sql.text()).await?;
        Ok(self.0.query_opt(&statement, parameters).await?)
    }
}
