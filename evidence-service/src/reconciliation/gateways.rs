//! Which gateway processes were heard lately. Every question of a gateway counts, and it asks at least every two
//! seconds for what decides.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use counterfoil_core::id::{InstanceId, ProjectId};

use super::store::calls;
use crate::clock;
use crate::database::{Database, DatabaseError};

/// However often a gateway asks, its row is written no more often than this.
const BETWEEN_WRITES: Duration = Duration::from_millis(500);

/// What this process wrote lately.
#[derive(Default)]
pub(crate) struct Heard(Mutex<HashMap<(ProjectId, InstanceId), Instant>>);

impl Heard {
    /// Notes that a gateway lives.
    pub(crate) async fn note(
        &self,
        database: &Database,
        project: ProjectId,
        instance: InstanceId,
    ) -> Result<(), DatabaseError> {
        if !self.is_due(project, instance) {
            return Ok(());
        }
        let mut client = database.app().await?;
        let tx = client.begin(project).await?;
        calls::heard(&tx, instance, clock::now()).await?;
        tx.commit().await.map_err(DatabaseError::from)
    }

    fn is_due(&self, project: ProjectId, instance: InstanceId) -> bool {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|_, at| at.elapsed() < BETWEEN_WRITES);
        match written.get(&(project, instance)) {
            Some(_) => false,
            None => written.insert((project, instance), Instant::now()).is_none(),
        }
    }
}
