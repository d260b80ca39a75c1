//! What never changes about a project, and the public halves of keys that were seen in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{PublicKey, Thumbprint};
use counterfoil_core::statement::{Environment, Verdict};

use super::append::AppendError;
use super::{Ledger, store};
use crate::database::DatabaseError;

/// Fixed when the project was made.
#[derive(Clone, Debug)]
pub struct Project {
    pub id: ProjectId,
    pub issuer: Issuer,
    pub name: String,
    pub env: Environment,
    pub base_verdict: Verdict,
    /// P-256 JWK that openings are sealed to.
    pub disclosure_key: String,
    pub(crate) grants_nonce: String,
}

/// One asynchronous lock a project: writers of one process take turns before they take a connection.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    pub(super) fn of(&self, project: ProjectId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(project).or_default())
    }
}

#[derive(Default)]
pub(super) struct Cache {
    projects: RwLock<HashMap<ProjectId, Arc<Project>>>,
    keys: RwLock<HashMap<(ProjectId, Thumbprint), PublicKey>>,
}

impl Ledger {
    /// Fails with `NoSuchProject` for an id that is not one of ours.
    pub async fn project(&self, id: ProjectId) -> Result<Arc<Project>, AppendError> {
        let known = self.cache.projects.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(project) = known {
            return Ok(project);
        }
        let mut client = self.database.app().await?;
        let tx = client.begin(id).await?;
        let project = Arc::new(store::read_project(&tx).await?.ok_or(AppendError::NoSuchProject)?);
        let mut projects = self.cache.projects.write().unwrap_or_else(PoisonError::into_inner);
        projects.insert(id, Arc::clone(&project));
        Ok(project)
    }

    /// Every project of the deployment, oldest first.
    pub(crate) async fn all_projects(&self) -> Result<Vec<ProjectId>, AppendError> {
        let client = self.database.app().await?;
        Ok(store::all_projects(&client.directory()).await?)
    }

    /// The projects that were made after the one of that slot, which becomes the slot of the last one.
    pub(crate) async fn projects_after(&self, slot: &mut i64) -> Result<Vec<ProjectId>, AppendError> {
        let client = self.database.app().await?;
        Ok(store::projects_after(&client.directory(), slot).await?)
    }

    /// The public halves of the named keys, as far as the project has introduced them. Their state is not looked at:
    /// that is read inside the append.
    pub(super) async fn public_keys(
        &self,
        project: ProjectId,
        kids: &[Thumbprint],
    ) -> Result<HashMap<Thumbprint, PublicKey>, AppendError> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        {
            let cache = self.cache.keys.read().unwrap_or_else(PoisonError::into_inner);
            for kid in kids {
                match cache.get(&(project, kid.clone())) {
                    Some(key) => drop(found.insert(kid.clone(), key.clone())),
                    None => missing.push(kid.as_str()),
                }
            }
        }
        if !missing.is_empty() {
            let mut client = self.database.app().await?;
            let tx = client.begin(project).await?;
            let read = store::public_keys(&tx, &missing).await?;
            let mut cache = self.cache.keys.write().unwrap_or_else(PoisonError::into_inner);
            for (kid, key) in read {
                cache.insert((project, kid.clone()), key.clone());
                found.insert(kid, key);
            }
        }
        Ok(found)
    }
}

impl From<DatabaseError> for AppendError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(error.to_string())
    }
}
