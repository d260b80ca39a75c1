//! `kill/v1`: from its commit on no ALLOW of the project is recorded, on any replica.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Kill, KillType};
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
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Job for Killing<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let mut head = head.clone();
        head.count_control(Width::Narrower);
        head.generation += 1;
        head.killed = true;
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
            scope: None,
        };
        let accepted = vec![Accepted::own(Kind::Kill, &Signed::sign(statement, self.signer))];
        Ok(Plan { head, accepted, keyed: Vec::new(), outcome: () })
    }

    /// Grants and holds go with it, and stay gone when the project is resumed.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        holds::taken_by_kill(tx, sealed).await
    }
}
