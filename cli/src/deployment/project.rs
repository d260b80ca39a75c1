//! What this folder knows about its project: `project.toml`, written last when a deployment is made.
//!
//!     id = "prj_…"
//!     issuer = "https://counterfoil.localhost/p/0-k3m9q2v8"
//!     name = "demo"
//!     agent = "agt_…"
//!     agent_name = "demo agent"
//!     database = "managed"

use std::fs;

use anyhow::{Context, bail};
use counterfoil_core::id::{AgentId, ProjectId};
use counterfoil_core::issuer::Issuer;
use serde::{Deserialize, Serialize};

use super::Folder;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectRecord {
    pub id: ProjectId,
    pub issuer: Issuer,
    pub name: String,
    pub agent: AgentId,
    pub agent_name: String,
    pub database: DatabaseKind,
}

/// Who looks after the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    /// A cluster of this folder, started by `counterfoil dev`.
    Managed,
    /// Somebody else's, that was named when the deployment was made.
    Given,
}

impl ProjectRecord {
    /// None where nothing was made yet.
    pub fn find(folder: &Folder) -> anyhow::Result<Option<Self>> {
        let path = folder.project();
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
        Ok(Some(toml::from_str(&text).with_context(|| format!("`{}`", path.display()))?))
    }

    pub fn of(folder: &Folder) -> anyhow::Result<Self> {
        match Self::find(folder)? {
            Some(record) => Ok(record),
            None => bail!(
                "there is no deployment in `{}`: make one with `counterfoil init`",
                folder.path().display()
            ),
        }
    }

    pub fn write(&self, folder: &Folder) -> anyhow::Result<()> {
        let path = folder.project();
        fs::write(&path, toml::to_string(self)?).with_context(|| format!("`{}`", path.display()))
    }
}
