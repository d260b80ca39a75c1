//! Holds and grants, as an operator on the same machine answers and changes them.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{HoldId, ProjectId};
use counterfoil_core::statement::{AnsweredBy, Say};

use super::{Setup, SetupError};
use crate::grants;
use crate::holds;

pub use crate::grants::{
    Change as GrantChange, Changed, GrantError, Standing as StandingGrant, Which as WhichGrants,
};
pub use crate::holds::{AnswerError, Done as Answering, Held, Shown, word};

impl Setup {
    /// Held calls, newest first, at most so many.
    pub async fn holds(&self, project: ProjectId, shown: Shown, most: u32) -> Result<Vec<Held>, SetupError> {
        Ok(holds::list(&self.ledger, project, shown, most).await?)
    }

    pub async fn hold(&self, project: ProjectId, hold: HoldId) -> Result<Option<Held>, SetupError> {
        Ok(holds::one(&self.ledger, project, hold).await?)
    }

    /// `answer/v1`, marked `local`: whoever runs this can run programs here, and no more is known of them. Names the
    /// decision and the card that were seen.
    pub async fn answer_hold(
        &self,
        project: ProjectId,
        hold: HoldId,
        (decision, card): (Digest, Digest),
        (say, minutes): (Say, Option<u32>),
        behalf: &str,
    ) -> Result<Answering, SetupError> {
        let behalf = behalf.to_owned();
        let order = holds::Order { hold, decision, card, say, minutes, behalf, by: AnsweredBy::Local };
        let done = holds::answer(&self.ledger, project, order).await?;
        self.saved()?;
        Ok(done)
    }

    /// The grants that stand.
    pub async fn grants(&self, project: ProjectId) -> Result<Vec<StandingGrant>, SetupError> {
        Ok(grants::list(&self.ledger, project).await?)
    }

    /// `grant/v1` for each that is named, in one commit.
    pub async fn change_grants(
        &self,
        project: ProjectId,
        which: WhichGrants,
        change: GrantChange,
        (reason, behalf): (Option<&str>, &str),
    ) -> Result<Changed, SetupError> {
        let order =
            grants::Order { which, change, reason: reason.map(str::to_owned), behalf: behalf.to_owned() };
        let changed = grants::change(&self.ledger, project, order).await?;
        self.saved()?;
        Ok(changed)
    }
}
