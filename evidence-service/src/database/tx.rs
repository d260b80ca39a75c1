//! The transaction of one project, and questions to the directory.

use counterfoil_core::id::ProjectId;
use deadpool_postgres::Object;
use futures_util::FutureExt as _;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::{DatabaseError, Sql, store};

/// A transaction that sees exactly one project. Dropping it rolls back.
///
/// Not the client library's own, which waits for the answer to `begin` before anything else may be sent: here the
/// first statements travel right behind it.
pub(crate) struct ProjectTx<'c> {
    client: &'c Object,
    project: ProjectId,
    /// Whether a `rollback` is owed.
    open: bool,
}

pub(crate) type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

/// A statement with its parameters.
pub(crate) type Asked<'p> = (Sql, Parameters<'p>);

impl<'c> ProjectTx<'c> {
    pub(super) async fn begin(client: &'c mut Object, project: ProjectId) -> Result<Self, DatabaseError> {
        Self::enter(client, project, (store::BEGIN, store::ENTER)).await
    }

    /// Sees one moment of the project for as long as it lasts, and changes nothing.
    pub(super) async fn begin_snapshot(
        client: &'c mut Object,
        project: ProjectId,
    ) -> Result<Self, DatabaseError> {
        Self::enter(client, project, (store::BEGIN_SNAPSHOT, store::ENTER_TO_READ)).await
    }

    async fn enter(
        client: &'c mut Object,
        project: ProjectId,
        (begin, enter): (Sql, Sql),
    ) -> Result<Self, DatabaseError> {
        let enter = client.prepare_cached(enter.text()).await?;
        let tx = Self { client, project, open: true };
        let name = project.uuid().to_string();
        let parameters: [&(dyn ToSql + Sync); 1] = [&name];
        // INVARIANT: `join` polls in this order, and a query is sent when it is first polled.
        let (begun, entered) = futures_util::future::join(
            tx.client.batch_execute(begin.text()),
            tx.client.query_one(&enter, &parameters),
        )
        .await;
        begun?;
        entered?;
        Ok(tx)
    }

    /// For an append. As [`Self::begin`], with two more statements that travel right behind the first ones instead of waiting for
    /// their answers. The server still runs them one after the other, each under a snapshot of its own, and none
    /// after one that failed.
    pub(super) async fn begin_with(
        client: &'c mut Object,
        project: ProjectId,
        (first, second): (Asked<'_>, Asked<'_>),
    ) -> Result<(Self, Option<Row>, Option<Row>), DatabaseError> {
        // Prepared before anything is sent, so that the order of sending is the order below.
        let enter = client.prepare_cached(store::ENTER_TO_APPEND.text()).await?;
        let one = client.prepare_cached(first.0.text()).await?;
        let two = client.prepare_cached(second.0.text()).await?;
        let tx = Self { client, project, open: true };
        let name = project.uuid().to_string();
        let parameters: [&(dyn ToSql + Sync); 1] = [&name];
        // INVARIANT: `join4` polls in this order, and a query is sent when it is first polled.
        let (begun, entered, first, second) = futures_util::future::join4(
            tx.client.batch_execute(store::BEGIN.text()),
            tx.client.query_one(&enter, &parameters),
            tx.client.query_opt(&one, first.1),
            tx.client.query_opt(&two, second.1),
        )
        .await;
        begun?;
        entered?;
        let (first, second) = (first?, second?);
        Ok((tx, first, second))
    }

    pub(crate) fn project(&self) -> ProjectId {
        self.project
    }

    pub(crate) async fn rows(&self, sql: Sql, parameters: Parameters<'_>) -> Result<Vec<Row>, DatabaseError> {
        let statement = self.client.prepare_cached(sql.text()).await?;
        Ok(self.client.query(&statement, parameters).await?)
    }

    pub(crate) async fn maybe_row(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, DatabaseError> {
        let statement = self.client.prepare_cached(sql.text()).await?;
        Ok(self.client.query_opt(&statement, parameters).await?)
    }

    pub(crate) async fn row(&self, sql: Sql, parameters: Parameters<'_>) -> Result<Row, DatabaseError> {
        let statement = self.client.prepare_cached(sql.text()).await?;
        Ok(self.client.query_one(&statement, parameters).await?)
    }

    /// Runs a statement that must touch exactly `expected` rows.
    pub(crate) async fn change(
        &self,
        expected: u64,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<(), DatabaseError> {
        let statement = self.client.prepare_cached(sql.text()).await?;
        let touched = self.client.execute(&statement, parameters).await?;
        if touched == expected {
            return Ok(());
        }
        Err(DatabaseError::Refused(format!("{touched} rows changed where {expected} should have")))
    }

    /// Runs statements that may touch any number of rows, one after the other, in one journey.
    pub(crate) async fn touch_each(&self, asked: &[Asked<'_>]) -> Result<(), DatabaseError> {
        // Prepared before anything is sent, so that the order of sending is the order given.
        let mut prepared = Vec::with_capacity(asked.len());
        for (sql, parameters) in asked {
            prepared.push((self.client.prepare_cached(sql.text()).await?, *parameters));
        }
        // INVARIANT: `try_join_all` first polls its futures in this order, and a query is sent when it is first polled.
        let runs = prepared.iter().map(|(statement, parameters)| self.client.execute(statement, parameters));
        futures_util::future::try_join_all(runs).await?;
        Ok(())
    }

    /// Runs a statement that may touch any number of rows.
    pub(crate) async fn touch(&self, sql: Sql, parameters: Parameters<'_>) -> Result<u64, DatabaseError> {
        let statement = self.client.prepare_cached(sql.text()).await?;
        Ok(self.client.execute(&statement, parameters).await?)
    }

    /// An error says only that the answer did not come: the commit may stand. See `ledger::doubt`.
    pub(crate) async fn commit(mut self) -> Result<(), tokio_postgres::Error> {
        self.open = false;
        self.client.batch_execute(store::COMMIT.text()).await
    }
}

impl Drop for ProjectTx<'_> {
    fn drop(&mut self) {
        if self.open {
            // Polled once, which sends it; nobody waits for the answer, and the next statement on this connection
            // comes after it. On a connection that broke the server rolls back by itself.
            let _ = self.client.batch_execute(store::ROLLBACK.text()).now_or_never();
        }
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
