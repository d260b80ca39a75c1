//! Putting statements of providers into the record, and the receipts that come back.

use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ProjectId;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::projection::Projection;
use counterfoil_core::receipt::Receipt;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;

use super::store::{self, Row};
use super::submission::Submission;
use super::weigh::{Asked, Fate, New, weigh};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::Ledger;
use crate::ledger::append::{AppendError, Done, Job, Plan};
use crate::ledger::facts::{Facts, Questions, Stored};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// What its sender is told.
#[derive(Debug)]
pub(crate) enum Acceptance {
    Accepted(Accepting),
    /// Nothing was recorded: the sender's allowance is used up.
    Spent {
        seconds: u64,
    },
}

#[derive(Debug)]
pub(crate) struct Accepting {
    pub(crate) signature_valid: bool,
    /// Whether the entry stood before.
    pub(crate) repeated: bool,
    pub(crate) receipt: Receipt,
}

/// Statements of one commit.
struct Submissions<'k> {
    submissions: Vec<Submission>,
    signer: &'k SigningKey<LedgerPurpose>,
    // INVARIANT: of the newest plan, which is the one that gets stored.
    new: Mutex<Vec<New>>,
}

struct Outcome {
    fates: Vec<Fate>,
    stored: Vec<Stored>,
}

impl Job for Submissions<'_> {
    type Outcome = Outcome;

    fn questions(&self) -> Questions {
        Questions { submissions: self.submissions.iter().map(Asked::about).collect(), ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Outcome>, AppendError> {
        // Every key that was read stands below the size of the head, so its order against the new entry is known.
        let (fates, new) = weigh(&self.submissions, &facts.submissions, head.size(), at);
        let accepted = new.iter().map(|new| {
            let submission = &self.submissions[new.index];
            let (kid, holds) = (new.thumbprint.clone(), new.provider.is_some());
            let signed = Signed::sign(submission.wrapped(head.project, at, kid, holds), self.signer);
            let projection = Projection::of(&Statement::Received(Box::new(signed.payload().clone())));
            Accepted { projection, ..Accepted::own(Kind::Execution, &signed) }
        });
        let accepted = accepted.collect();
        let stored = fates.iter().filter_map(|fate| match fate {
            Fate::Stored(seq) => facts.stored.get(seq).cloned(),
            Fate::New(_) | Fate::Twin(_) | Fate::Spent { .. } => None,
        });
        let stored = stored.collect();
        *self.new.lock().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(Plan::saying(head.clone(), accepted, Outcome { fates, stored }))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let new = self.new.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let rows = new.iter().zip(&sealed.placed[sealed.before..]).map(|(new, placed)| {
            let submission = &self.submissions[new.index];
            Row {
                seq: placed.entry.seq,
                at: placed.entry.at,
                action: submission.action(),
                fingerprint: submission.submitted.fingerprint(),
                bytes: submission.digest,
                provider: new.provider.clone(),
                sender: submission.sender.to_string(),
                charged: new.charged,
            }
        });
        let rows: Vec<Row> = rows.collect();
        store::insert(tx, &rows).await?;
        let proved = new.iter().zip(&rows).filter(|(new, _)| new.provider.is_some());
        let proved = proved.filter_map(|(new, row)| Some((new.thumbprint.clone()?, row.seq)));
        let proved: Vec<_> = proved.collect();
        store::prove_possession(tx, &proved).await
    }
}

impl Ledger {
    /// Records statements of one project in one commit, and answers each, in order.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        project: ProjectId,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Acceptance>, AppendError> {
        let ledger = Arc::clone(self);
        // In a task of its own: a sender that hangs up must not stop a commit half way.
        let task = tokio::spawn(async move {
            let signer = &ledger.keys().ledger;
            let job = Submissions { submissions, signer, new: Mutex::new(Vec::new()) };
            ledger.append(project, &job).await
        });
        let done = task.await.map_err(|_| AppendError::Unknown)??;
        done.outcome.fates.iter().map(|fate| answer(fate, &done).ok_or(AppendError::Unknown)).collect()
    }
}

fn answer(fate: &Fate, done: &Done<Outcome>) -> Option<Acceptance> {
    let fresh = |place: &usize, repeated| {
        let sealed = done.sealed.as_ref()?;
        let placed = sealed.placed.get(sealed.before + place)?;
        let receipt = Receipt::new(&placed.accepted.body, placed.entry.clone(), &placed.path, &sealed.note)?;
        let signature_valid = holds(&placed.accepted.body)?;
        Some(Acceptance::Accepted(Accepting { signature_valid, repeated, receipt }))
    };
    match fate {
        Fate::New(place) => fresh(place, false),
        Fate::Twin(place) => fresh(place, true),
        Fate::Stored(seq) => {
            let stored = done.outcome.stored.iter().find(|stored| stored.entry.seq == *seq)?;
            let receipt = Receipt::new(&stored.body, stored.entry.clone(), &stored.path, &stored.note)?;
            let signature_valid = holds(&stored.body)?;
            Some(Acceptance::Accepted(Accepting { signature_valid, repeated: true, receipt }))
        }
        Fate::Spent { seconds } => Some(Acceptance::Spent { seconds: *seconds }),
    }
}

/// What the wrapper says about the signature inside.
pub(super) fn holds(body: &[u8]) -> Option<bool> {
    let envelope = counterfoil_core::envelope::Envelope::parse(body).ok()?;
    match envelope.statement().ok()? {
        Statement::Received(received) => Some(received.holds),
        _ => None,
    }
}
