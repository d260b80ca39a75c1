//! The statements of a sweep: OUTCOME_UNKNOWN, and the clearance of one.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Clearance, ClearanceType, Finding, FindingCode, FindingType};
use counterfoil_core::time::Timestamp;

use super::store::{self, Late, Silent};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// Calls of one project that became due, in the order in which their statements are numbered: findings first.
pub(super) struct Outcomes<'k> {
    pub(super) issuer: Issuer,
    pub(super) signer: &'k SigningKey<LedgerPurpose>,
    pub(super) silent: Vec<Silent>,
    pub(super) late: Vec<Late>,
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

    fn clearance(&self, call: &Late, head: &Head, at: Timestamp) -> Accepted {
        let clearance = Clearance {
            typ: ClearanceType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            finding: call.finding,
            code: FindingCode::OutcomeUnknown,
            action: call.action,
            statement: call.observation,
            seq: call.came,
        };
        Accepted::about(Kind::Clearance, &Signed::sign(clearance, self.signer), call.action)
    }
}

impl Job for Outcomes<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let findings = self.silent.iter().map(|call| self.finding(call, head, at));
        let clearances = self.late.iter().map(|call| self.clearance(call, head, at));
        let accepted = findings.chain(clearances).collect();
        Ok(Plan { head: head.clone(), accepted, keyed: Vec::new(), outcome: () })
    }

    /// Observations change these rows under the same head lock, so what is still open here is open.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let placed = sealed.placed.iter().skip(sealed.before);
        let findings: Vec<_> =
            self.silent.iter().zip(placed).map(|(call, placed)| (call.seq, placed.accepted.digest)).collect();
        if !findings.is_empty() {
            store::found(tx, &findings).await?;
        }
        let cleared: Vec<u64> = self.late.iter().map(|call| call.seq).collect();
        if !cleared.is_empty() {
            store::cleared(tx, &cleared).await?;
        }
        Ok(())
    }
}
