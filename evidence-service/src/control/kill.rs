//! `kill/v1`: from its commit on no ALLOW in its scope is recorded, on any replica.
//!
//! Promised: nothing refuses a kill but a project that takes no entries; killing twice is killing. A kill of the whole
//! project closes its windows and takes with it whatever waits or was granted, in this very commit.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Kill, KillType, Scope};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::holds;
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};

pub(crate) struct Killing<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) reason: Option<String>,
    /// None for the whole project.
    pub(crate) scope: Option<Scope>,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Killing<'_> {
    fn change(&self, head: &mut Head) {
        head.count_control(Width::Narrower);
        match &self.scope {
            Some(scope) => drop(head.stopped.insert(scope.clone())),
            None => {
                head.generation += 1;
                head.killed = true;
                (head.breakglass_until, head.shadow_until) = (None, None);
            }
        }
    }
}

impl Job for Killing<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let mut head = head.clone();
        self.change(&mut head);
        let statement = Kill {
            typ: KillType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            reason: self.reason.clone(),
            scope: self.scope.clone(),
        };
        let accepted = vec![Accepted::own(Kind::Kill, &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head, accepted, ()))
    }

    /// Grants and holds go with a kill of the whole project, and stay gone when it is resumed. A kill of a part takes none:
    /// what they allow is not recorded while it stands.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        match &self.scope {
            None => holds::taken_by_kill(tx, sealed).await,
            Some(_) => Ok(()),
        }
    }
}
