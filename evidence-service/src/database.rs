//! The database as the rest of the service sees it: a transaction of one project, or a question to the directory.
//!
//! Promised: tenant tables are reached through [`ProjectTx`] alone, whose first statement names the project, so that
//! row-level security has a tenant to compare with; every statement is a [`Sql`] written in a `store.rs`, and a test
//! prepares each of them. The roles used here own nothing and cannot step around row-level security; `open`
//! refuses to go on otherwise.
//! Not promised: correctness through row-level security. Every statement names its project as well.

mod error;
mod roles;
mod session;
mod statement;
pub(crate) mod store;
mod tx;

use counterfoil_core::id::ProjectId;
use deadpool_postgres::{Hook, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{NoTls, Row};

use crate::config::DatabaseConfig;

pub use error::DatabaseError;
pub(crate) use session::{Line, Sessions};
pub(crate) use statement::{Sql, statements};
pub(crate) use tx::{Asked, DirectoryClient, Parameters, ProjectTx};

/// Three pools: of the role that appends, of the role that only reads what is public, of the role that empties bodies.
pub struct Database {
    app: Pool,
    reader: Pool,
    sweeper: Pool,
    sessions: Sessions,
}

/// A pooled connection that has not begun anything.
pub struct Client(Object);

impl Database {
    /// Connects both roles once and refuses roles that could do more than they should.
    pub async fn open(config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        let sessions = Sessions::default();
        let app = pool(config, &config.app_user, config.connections, Some(sessions.clone()))?;
        let reader = pool(config, &config.reader_user, config.connections.div_ceil(2), None)?;
        let sweeper = pool(config, &config.sweeper_user, SWEEPERS, Some(sessions.clone()))?;
        let database = Self { app, reader, sweeper, sessions };
        roles::refuse_mighty(&database.app().await?.0).await?;
        roles::refuse_mighty(&database.reader().await?.0).await?;
        roles::refuse_mighty(&database.sweeper().await?.0).await?;
        Ok(database)
    }

    /// For everything that writes. Never a connection that is older than the newest change of line.
    pub async fn app(&self) -> Result<Client, DatabaseError> {
        self.current(&self.app).await
    }

    /// For what empties bodies, with the same care.
    pub async fn sweeper(&self) -> Result<Client, DatabaseError> {
        self.current(&self.sweeper).await
    }

    async fn current(&self, pool: &Pool) -> Result<Client, DatabaseError> {
        loop {
            let found = pool.get().await?;
            if self.sessions.is_current(Object::metrics(&found).created) {
                return Ok(Client(found));
            }
            drop(Object::take(found));
        }
    }

    /// For pages.
    pub async fn reader(&self) -> Result<Client, DatabaseError> {
        Ok(Client(self.reader.get().await?))
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }
}

impl Client {
    /// Begins a transaction that sees one project.
    pub(crate) async fn begin(&mut self, project: ProjectId) -> Result<ProjectTx<'_>, DatabaseError> {
        ProjectTx::begin(&mut self.0, project).await
    }

    /// Begins a transaction and asks two things in it, in one journey.
    pub(crate) async fn begin_with(
        &mut self,
        project: ProjectId,
        asked: (Asked<'_>, Asked<'_>),
    ) -> Result<(ProjectTx<'_>, Option<Row>, Option<Row>), DatabaseError> {
        ProjectTx::begin_with(&mut self.0, project, asked).await
    }

    /// Begins a transaction that sees one moment of one project, for long reads.
    pub(crate) async fn begin_snapshot(
        &mut self,
        project: ProjectId,
    ) -> Result<ProjectTx<'_>, DatabaseError> {
        ProjectTx::begin_snapshot(&mut self.0, project).await
    }

    pub(crate) fn directory(&self) -> DirectoryClient<'_> {
        DirectoryClient::new(&self.0)
    }
}

fn pool(
    config: &DatabaseConfig,
    user: &str,
    connections: usize,
    watched: Option<Sessions>,
) -> Result<Pool, DatabaseError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(connection(config, user)?, NoTls, recycling);
    let mut builder = Pool::builder(manager).max_size(connections.max(1)).runtime(Runtime::Tokio1);
    // A request waits for a connection no longer than its gateway waits for the request.
    builder = builder.wait_timeout(Some(WAIT)).create_timeout(Some(WAIT)).recycle_timeout(Some(WAIT));
    if let Some(sessions) = watched {
        builder = builder.post_create(Hook::async_fn(move |client, metrics| {
            let (sessions, created) = (sessions.clone(), metrics.created);
            Box::pin(async move { sessions.greet(client, created).await })
        }));
    }
    builder.build().map_err(|error| DatabaseError::Configuration(error.to_string()))
}

/// How to reach the configured database as one of its users.
pub(crate) fn connection(
    config: &DatabaseConfig,
    user: &str,
) -> Result<tokio_postgres::Config, DatabaseError> {
    let mut connection = tokio_postgres::Config::new();
    connection.host(&config.host).port(config.port).dbname(&config.name).user(user);
    connection.application_name("counterfoil-evidence").connect_timeout(WAIT);
    if let Some(path) = &config.password_file {
        let password = std::fs::read_to_string(path)
            .map_err(|error| DatabaseError::Configuration(format!("`{}`: {error}", path.display())))?;
        connection.password(password.trim_end());
    }
    Ok(connection)
}

/// One sweep at a time; one more for an operator's erasure beside it.
const SWEEPERS: usize = 2;
const WAIT: std::time::Duration = std::time::Duration::from_secs(5);
