//! Appending at a chosen time, with what a record request writes beside it.

use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::id::{InstanceId, ProjectId};
use counterfoil_core::projection::Projection;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Done, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed, seal};
use crate::ledger::{Ledger, store};
use crate::reconciliation;

/// What [`Ledger::append`] does, under a clock of the test's own.
pub(super) async fn append_at<J: Job>(
    ledger: &Ledger,
    project: ProjectId,
    job: &J,
    at: Timestamp,
) -> Result<Done<J::Outcome>, AppendError> {
    let issuer = ledger.project(project).await?.issuer.clone();
    let mut client = ledger.database().app().await?;
    let locked = store::lock_and_read(&mut client, project, &job.questions()).await?;
    let (tx, head, facts) = locked.ok_or(AppendError::NoSuchProject)?;
    let at = head.next_at(at);
    let Plan { head, accepted, outcome, .. } = job.plan(&head, &facts, at)?;
    if accepted.is_empty() {
        return Ok(Done { sealed: None, outcome });
    }
    let sealed = seal(accepted, head, at, &issuer, ledger.keys());
    store::write(&tx, &sealed, &[], &std::collections::HashMap::new()).await?;
    job.beside(&tx, &sealed).await?;
    tx.commit().await.map_err(DatabaseError::from)?;
    Ok(Done { sealed: Some(sealed), outcome })
}

/// Statements of any kind, taken as they are.
pub(super) struct Bodies {
    pub(super) instance: InstanceId,
    pub(super) bodies: Vec<Vec<u8>>,
}

impl Bodies {
    pub(super) fn one<T>(instance: InstanceId, signed: &Signed<T>) -> Self {
        Self { instance, bodies: vec![signed.bytes().to_vec()] }
    }

    fn statements(&self) -> Vec<(Vec<u8>, Statement)> {
        let read = |body: &Vec<u8>| {
            let envelope = Envelope::parse(body).expect("an envelope");
            (body.clone(), envelope.statement().expect("a statement"))
        };
        self.bodies.iter().map(read).collect()
    }
}

impl Job for Bodies {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, _: Timestamp) -> Result<Plan<()>, AppendError> {
        let accepted = self.statements().into_iter().map(|(body, statement)| Accepted {
            kind: statement.kind(),
            projection: Projection::of(&statement),
            digest: Digest::of(&body),
            body,
        });
        Ok(Plan::saying(head.clone(), accepted.collect(), ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let statements = self.statements();
        let placed = sealed.placed[sealed.before..].iter().zip(&statements);
        let placed: Vec<_> = placed
            .map(|(placed, (_, statement))| (placed.entry.seq, placed.accepted.digest, statement))
            .collect();
        reconciliation::open_and_close(tx, self.instance, sealed.head.last_at, &placed).await
    }
}
