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

/// A statement with its parameters.
pub(crate) type Asked<'p> = (Sql, Parameters<'p>);

impl<'c> ProjectTx<'c> {
    pub(super) async fn begin(client: &'c mut Object, project: ProjectId) -> Result<Self, DatabaseError> {
        let tx = client.transaction().await?;
        let enter = tx.prepare_cached(store::ENTER.text()).await?;
        tx.query_one(&enter, &[&project.uuid().to_string()]).await?;
        Ok(Self { tx, project })
    }

    /// As [`Self::begin`], with two more statements that travel right behind the first one instead of waiting for its
    /// answer. The server still runs them one after the other, each under a snapshot of its own, and none after one
    /// that failed.
    pub(super) async fn begin_with(
        client: &'c mut Object,
        project: ProjectId,
        (first, second): (Asked<'_>, Asked<'_>),
    ) -> Result<(Self, Option<Row>, Option<Row>), DatabaseError> {
        let tx = client.transaction().await?;
        // Prepared before anything is sent, so that the order of sending is the order below.
        let enter = tx.prepare_cached(store::ENTER.text()).await?;
        let (one, two) =
            (tx.prepare_cached(first.0.text()).await?, tx.prepare_cached(second.0.text()).await?);
        let name = project.uuid().to_string();
        let parameters: [&(dyn ToSql + Sync); 1] = [&name];
        // INVARIANT: `join3` polls in this order, and a query is sent when it is first polled.
        let (entered, first, second) = futures_util::future::join3(
            tx.query_one(&enter, &parameters),
            tx.query_opt(&one, first.1),
            tx.query_opt(&two, second.1),
        )
        .await;
        entered?;
        let (first, second) = (first?, second?);
        Ok((Self { tx, project }, first, second))
    }

    /// Sees one moment of the project for as long as it lasts, and changes nothing.
    pub(super) async fn begin_snapshot(
        client: &'c mut Object,
        project: ProjectId,
    ) -> Result<Self, DatabaseError> {
        let snapshot = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let tx = snapshot.read_only(true).start().await?;
        let enter = tx.prepare_cached(store::ENTER_TO_READ.text()).await?;
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

    /// Runs a statement that may touch any number of rows.
    pub(crate) async fn touch(&self, sql: Sql, parameters: Parameters<'_>) -> Result<u64, DatabaseError> {
        let statement = self.tx.prepare_cached(sql.text()).await?;
        Ok(self.tx.execute(&statement, parameters).await?)
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
