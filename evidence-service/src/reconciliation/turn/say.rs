//! What a turn has to say: `finding/v1` and `clearance/v1`, in one commit with the rows of the turn.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::reconcile::Found;
use counterfoil_core::statement::{Clearance, ClearanceType, Finding, FindingType};
use counterfoil_core::time::Timestamp;

use super::super::comparison::{Clears, Judged};
use super::super::store::findings::{self, NewRow};
use super::Turn;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::{AppendError, Ledger};

/// A turn as it is appended.
pub(in crate::reconciliation) struct Saying<'t> {
    turn: &'t Turn,
    issuer: Issuer,
    signer: &'t SigningKey<LedgerPurpose>,
}

impl Turn {
    pub(in crate::reconciliation) async fn saying<'t>(
        &'t self,
        ledger: &'t Ledger,
    ) -> Result<Saying<'t>, AppendError> {
        let issuer = ledger.project(self.project).await?.issuer.clone();
        Ok(Saying { turn: self, issuer, signer: &ledger.keys().ledger })
    }

    /// Appends it. Where the record went on, and by its own time nothing is due yet, the rows alone are kept.
    pub(super) async fn say(&self, ledger: &Ledger) -> Result<(), AppendError> {
        let done = ledger.append(self.project, &self.saying(ledger).await?).await?;
        match done.sealed {
            Some(_) => Ok(()),
            None => self.keep(ledger).await,
        }
    }

    /// By the clock only if nothing came after what was read; else by the record's own time, which is never ahead of
    /// what comes.
    fn judged_at(&self, size: u64) -> Judged {
        let now = if size == self.upto { self.now } else { self.last_at };
        self.judged(now)
    }
}

impl Saying<'_> {
    fn finding(&self, found: &Found, head: &Head, at: Timestamp) -> Accepted {
        let finding = Finding {
            typ: FindingType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            code: found.code,
            action: found.action,
            statement: Some(found.statement),
            seq: Some(found.seq),
        };
        let signed = Signed::sign(finding, self.signer);
        match found.action {
            Some(action) => Accepted::about(Kind::Finding, &signed, action),
            None => Accepted::own(Kind::Finding, &signed),
        }
    }

    fn clearance(&self, clears: &Clears, head: &Head, at: Timestamp) -> Accepted {
        let clearance = Clearance {
            typ: ClearanceType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            finding: clears.finding.1,
            code: clears.code,
            action: clears.action,
            statement: clears.by,
            seq: clears.seq,
        };
        Accepted::about(Kind::Clearance, &Signed::sign(clearance, self.signer), clears.action)
    }
}

impl Job for Saying<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let judged = self.turn.judged_at(head.size());
        let findings = judged.found.iter().map(|found| self.finding(found, head, at));
        let clearances = judged.clears.iter().map(|clears| self.clearance(clears, head, at));
        let accepted = findings.chain(clearances).collect();
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let before = sealed.head.size() - sealed.placed.len() as u64;
        let judged = self.turn.judged_at(before);
        self.turn.write(tx, &judged).await?;
        let (said, closed) = sealed.placed[sealed.before..].split_at(judged.found.len());
        let rows: Vec<NewRow> = judged
            .found
            .iter()
            .zip(said)
            .map(|(found, placed)| NewRow {
                seq: placed.entry.seq,
                digest: placed.accepted.digest,
                code: found.code,
                action: found.action,
                statement: Some(found.statement),
                about: Some(found.seq),
            })
            .collect();
        findings::keep(tx, &rows).await?;
        let cleared: Vec<(u64, u64)> = judged
            .clears
            .iter()
            .zip(closed)
            .map(|(clears, placed)| (clears.finding.0, placed.entry.seq))
            .collect();
        findings::clear(tx, &cleared).await
    }
}
