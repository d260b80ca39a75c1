//! `finding/v1` BROKEN_CHAIN: said once, in the record itself, where nobody can take it back.

use counterfoil_core::audit::Place;
use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Finding, FindingCode, FindingType};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::Ledger;
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

struct BrokenChain<'k> {
    issuer: Issuer,
    seq: Option<u64>,
    signer: &'k SigningKey<LedgerPurpose>,
}

impl Ledger {
    /// The page shows the place in words; the finding names the entry, if one is at fault.
    pub(super) async fn find_broken_chain(
        &self,
        project: ProjectId,
        seq: Option<u64>,
    ) -> Result<(), AppendError> {
        let issuer = self.project(project).await?.issuer.clone();
        self.append(project, &BrokenChain { issuer, seq, signer: &self.keys.ledger }).await?;
        Ok(())
    }
}

/// The entry that a place is about.
pub(super) fn entry_at_fault(place: &Place) -> Option<u64> {
    match place {
        Place::Entry { seq, .. } | Place::Document { seq, .. } | Place::Tombstone { seq, .. } => {
            u64::try_from(*seq).ok()
        }
        Place::Project { .. }
        | Place::Setting { .. }
        | Place::Session { .. }
        | Place::Checkpoint { .. }
        | Place::Head { .. }
        | Place::Key { .. } => None,
    }
}

impl Job for BrokenChain<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let finding = Finding {
            typ: FindingType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            code: FindingCode::BrokenChain,
            action: None,
            statement: None,
            seq: self.seq,
        };
        let accepted = vec![Accepted::own(Kind::Finding, &Signed::sign(finding, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }
}
