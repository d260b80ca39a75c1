//! What a sweep says: OUTCOME_UNKNOWN. What closes it is found by the comparison, like every other clearance.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Finding, FindingCode, FindingType};
use counterfoil_core::time::Timestamp;

use super::store::calls::{self, Silent};
use super::store::findings::{self, NewRow};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// Calls of one project that became due.
pub(super) struct Outcomes<'k> {
    pub(super) issuer: Issuer,
    pub(super) signer: &'k SigningKey<LedgerPurpose>,
    pub(super) silent: Vec<Silent>,
}

impl Outcomes<'_> {
    fn finding(&self, call: &Silent, head: &Head, at: Timestamp) -> Accepted {
        let finding = Finding {
            typ: FindingType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            code: FindingCode::OutcomeUnknown,
            action: Some(call.action),
            statement: Some(call.decision),
            seq: Some(call.seq),
        };
        Accepted::about(Kind::Finding, &Signed::sign(finding, self.signer), call.action)
    }
}

impl Job for Outcomes<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let accepted = self.silent.iter().map(|call| self.finding(call, head, at)).collect();
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    /// Observations change these rows under the same head lock, so what is still open here is open.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let calls: Vec<u64> = self.silent.iter().map(|call| call.seq).collect();
        calls::found(tx, &calls).await?;
        let placed = sealed.placed.iter().skip(sealed.before);
        let rows: Vec<NewRow> = self
            .silent
            .iter()
            .zip(placed)
            .map(|(call, placed)| NewRow {
                seq: placed.entry.seq,
                digest: placed.accepted.digest,
                code: FindingCode::OutcomeUnknown,
                action: Some(call.action),
                statement: Some(call.decision),
                about: Some(call.seq),
            })
            .collect();
        findings::keep(tx, &rows).await
    }
}
