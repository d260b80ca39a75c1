//! A deployment's control plane, for commands that change it: beside running services, or alone.

use anyhow::Context;
use counterfoil_evidence::cluster::ClusterError;
use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::Setup;

use super::Folder;
use super::config;
use super::database::Database;
use super::project::{DatabaseKind, ProjectRecord};

/// The database stays up as long as this value lives.
pub struct Opened {
    pub record: ProjectRecord,
    pub setup: Setup,
    _database: Database,
}

impl Opened {
    /// Starts the folder's own cluster unless `counterfoil dev` has it already.
    pub async fn open(folder: &Folder) -> anyhow::Result<Self> {
        let record = ProjectRecord::of(folder)?;
        let database = match record.database {
            DatabaseKind::Given => Database::as_configured(folder)?,
            DatabaseKind::Managed => managed(folder)?,
        };
        let evidence = Config::from_file(&folder.evidence_config())?;
        let setup = Setup::open(&evidence).await.context("the control plane did not open")?;
        Ok(Self { record, setup, _database: database })
    }
}

fn managed(folder: &Folder) -> anyhow::Result<Database> {
    match Database::managed(folder) {
        Ok(database) => {
            config::move_database(folder, &database.address)?;
            Ok(database)
        }
        Err(error) => match error.downcast_ref::<ClusterError>() {
            Some(ClusterError::InUse(_)) => Database::as_configured(folder),
            Some(_) | None => Err(error),
        },
    }
}
