//! What an operator does to a deployment: database, projects, keys, credentials, published rules.
//!
//! Used in process by the `counterfoil` program. Everything that becomes an entry goes through the same append as a
//! gateway's decisions, under the same lock, so it is safe beside running services.
//!
//!     prepare_database(&admin, "counterfoil").await?;    // roles and database, as a superuser
//!     migrate(&config).await?;                           // schema, as its owner
//!     let setup = Setup::open(&config).await?;
//!     let project = setup.create_project(&NewProject { … }).await?;

mod credentials;
mod database;
mod directory;
mod findings;
mod governance;
mod holds;
mod keys;
mod operators;
mod projects;
mod providers;
mod publish;
mod retention;
mod settings;

#[cfg(test)]
pub(crate) use directory::ALL as DIRECTORY_STATEMENTS;

use std::sync::Arc;

use counterfoil_core::audit::{Broken, Clean};
use counterfoil_core::id::ProjectId;
use counterfoil_core::key::{Ledger as LedgerPurpose, Log, Purpose};
use counterfoil_jwks::{AtRest, Holder, KekError, KekSource, Store, StoreError};

use crate::clock::NoChance;
use crate::config::Config;
use crate::database::{Database, DatabaseError};
use crate::egress::EgressError;
use crate::keys::offer::OfferError;
use crate::ledger::{AppendError, HeadsFileError, Keys, Ledger, Project};

pub use credentials::{ApiKey, IssuedToken};
pub use database::{DEFAULT_DATABASE, migrate, prepare_database};
pub use findings::{Listed, Which};
pub use governance::{InForce, Reported, Turn, Window};
pub use holds::{
    AnswerError, Answering, Changed, GrantChange, GrantError, Held, Shown, StandingGrant, WhichGrants, word,
};
pub use operators::{Kept, ListedOperator, Role};
pub use projects::{DisclosureJwk, NewProject};
pub use providers::{ImportedKey, ProviderKeyState};
pub use publish::{Attested, Publication};
pub use retention::SealedOpening;

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Keys(#[from] StoreError),
    #[error(transparent)]
    Kek(#[from] KekError),
    #[error(transparent)]
    HeadsFile(#[from] HeadsFileError),
    #[error(transparent)]
    NoChance(#[from] NoChance),
    #[error("migration failed: {0}")]
    Migration(String),
    #[error("`{0}` is not a name for a database: a-z, 0-9 and _, at most 63")]
    NotADatabaseName(String),
    #[error("a principal must be opaque: 1 to 128 printable characters that are no address")]
    NotOpaque,
    #[error("{}", .0.join("; "))]
    Lint(Vec<String>),
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("an operator `{0}` has a token already: revoke it first, or choose another name")]
    OperatorExists(String),
    #[error("no operator `{0}` has a token")]
    NoSuchOperator(String),
    #[error("`{0}` is not a P-256 public JWK with kty, crv, x and y")]
    NotADisclosureKey(String),
}

/// An open deployment: the ledger's keys, the database as the app role, the directory as its owner.
pub struct Setup {
    ledger: Arc<Ledger>,
    directory: directory::Directory,
    host: counterfoil_core::issuer::Host,
}

impl Setup {
    pub async fn open(config: &Config) -> Result<Self, SetupError> {
        Ok(Self {
            ledger: open_ledger(config).await?,
            directory: directory::Directory::open(&config.database)?,
            host: config.host.clone(),
        })
    }

    /// Every project of the deployment, oldest first.
    pub async fn projects(&self) -> Result<Vec<Arc<Project>>, SetupError> {
        let mut projects = Vec::new();
        for id in self.directory.projects().await? {
            projects.push(self.ledger.project(id).await?);
        }
        Ok(projects)
    }

    /// The receipt of one entry, without openings.
    pub async fn receipt(&self, project: ProjectId, seq: u64) -> Result<Option<Vec<u8>>, SetupError> {
        Ok(self.ledger.receipt(project, seq).await?)
    }

    /// Recomputes one project from its signed bodies: what the service does by itself every hour.
    pub async fn audit(&self, project: ProjectId) -> Result<Result<Clean, Broken>, SetupError> {
        Ok(self.ledger.audit(project).await?)
    }

    fn saved(&self) -> Result<(), SetupError> {
        Ok(self.ledger.save_heads()?)
    }
}

/// The ledger with its keys, as the service and the setup both use it.
pub(crate) async fn open_ledger(config: &Config) -> Result<Arc<Ledger>, SetupError> {
    let kek = KekSource::from_parts(config.kek_file.as_deref()).load()?;
    let (cards, externals) = (AtRest::new(&kek, "hold-card"), AtRest::new(&kek, "session-external"));
    let store = Store::open(&config.keys, Holder::Evidence, kek, config.mode)?;
    let published = store.published();
    let ever = |purpose| {
        published.iter().filter(|key| key.purpose == purpose).map(|key| key.public.clone()).collect()
    };
    let keys = Keys {
        ledger: store.signing_key::<LedgerPurpose>()?,
        log: store.signing_key::<Log>()?,
        cards,
        externals,
        all_ledger: ever(Purpose::Ledger),
        all_log: ever(Purpose::Log),
    };
    let database = Arc::new(Database::open(&config.database).await?);
    Ok(Arc::new(Ledger::open(database, keys, &config.heads_file)?))
}
