//! Kills, resumptions and windows, as an operator makes them on the deployment.

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::Scope;
use counterfoil_core::time::Timestamp;

use super::{Attested, Setup, SetupError};
use crate::control::acts;

pub use crate::control::acts::InForce;
pub use crate::control::windows::{Turn, Window};

/// What became of one project in a loop over all.
#[derive(Debug)]
pub struct Reported {
    pub project: ProjectId,
    pub outcome: Result<InForce, SetupError>,
}

impl Setup {
    /// `kill/v1`: nothing of this project is allowed any more, on any replica, from its commit on.
    pub async fn kill(&self, project: ProjectId, by: Attested<'_>) -> Result<InForce, SetupError> {
        self.kill_in(project, None, by).await
    }

    /// As [`Setup::kill`], of one agent, connection or environment alone.
    pub async fn kill_in(
        &self,
        project: ProjectId,
        scope: Option<Scope>,
        by: Attested<'_>,
    ) -> Result<InForce, SetupError> {
        let killed = acts::kill(&self.ledger, project, scope, by).await?;
        self.saved()?;
        Ok(killed)
    }

    /// Every project, oldest first, each in a commit of its own. One that cannot be killed now keeps no other waiting.
    pub async fn kill_all(&self, by: Attested<'_>) -> Result<Vec<Reported>, SetupError> {
        let mut reported = Vec::new();
        for project in self.directory.projects().await? {
            reported.push(Reported { project, outcome: self.kill(project, by).await });
        }
        Ok(reported)
    }

    /// `resume/v1`: what the kill of the same scope stopped is judged again.
    pub async fn resume(
        &self,
        project: ProjectId,
        scope: Option<Scope>,
        by: Attested<'_>,
    ) -> Result<InForce, SetupError> {
        let resumed = acts::resume(&self.ledger, project, scope, by).await?;
        self.saved()?;
        Ok(resumed)
    }

    /// Opens or closes a window. Returns until when it stands, or when it was closed.
    pub async fn turn_window(
        &self,
        project: ProjectId,
        window: Window,
        turn: Turn,
        by: Attested<'_>,
    ) -> Result<(InForce, Timestamp), SetupError> {
        let turned = acts::turn(&self.ledger, project, (window, turn), by).await?;
        self.saved()?;
        Ok(turned)
    }
}
