//! Holds whose time passed. Nobody answered: `hold/v1` says so. Approved and never dispatched: its answer said until
//! when, and only what is sealed goes.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::hold::HoldIs;
use counterfoil_core::id::{HoldId, ProjectId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Hold, HoldEvent, HoldType, Statement};
use counterfoil_core::time::Timestamp;
use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use super::store;
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::store::{lock, unreadable};
use crate::ledger::{AppendError, Ledger};

/// How long after its end a hold may still be found open. It cannot be answered or dispatched meanwhile.
const EVERY: Duration = Duration::from_secs(3);
/// One commit of a sweep.
const MOST: i64 = 256;

/// Sweeps all projects again and again.
pub(crate) async fn sweep(ledger: Arc<Ledger>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = all(&ledger).await {
            tracing::warn!(%error, "holds");
        }
    }
}

async fn all(ledger: &Ledger) -> Result<(), AppendError> {
    for project in ledger.all_projects().await? {
        if ledger.seen().stopped(project).is_some() {
            continue;
        }
        // One project that is busy or broken keeps nobody else's holds open.
        while one(ledger, project)
            .await
            .inspect_err(|error| tracing::warn!(%project, %error, "holds"))
            .unwrap_or(false)
        {}
    }
    Ok(())
}

/// One commit's worth of one project; whether there may be more.
async fn one(ledger: &Ledger, project: ProjectId) -> Result<bool, AppendError> {
    let now = clock::now();
    let mut client = ledger.database().app().await?;
    let (open, approved) = {
        let tx = client.begin(project).await?;
        store::due(&tx, now, MOST).await?
    };
    let more = open.len() + approved.len() >= MOST.unsigned_abs() as usize;
    if !approved.is_empty() {
        // Under the head's lock, like everything that moves a hold: a dispatch may be about to commit.
        if let Some((tx, _)) = lock(&mut client, project).await? {
            store::lapse(&tx, &approved, now).await?;
            tx.commit().await.map_err(DatabaseError::from)?;
        }
    }
    drop(client);
    if !open.is_empty() {
        let issuer = ledger.project(project).await?.issuer.clone();
        let job = Expiring { issuer, holds: open, signer: &ledger.keys().ledger };
        ledger.append(project, &job).await?;
    }
    Ok(more)
}

struct Expiring<'k> {
    issuer: Issuer,
    holds: Vec<Uuid>,
    signer: &'k SigningKey<LedgerPurpose>,
}

impl Job for Expiring<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions { holds: self.holds.clone(), ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let named = self.holds.iter().filter_map(|hold| facts.holds.get(&HoldId::from_uuid(*hold)));
        let due = named.filter(|row| row.is == HoldIs::Open && row.expires_at <= at);
        let accepted = due.map(|row| {
            let statement = Hold {
                typ: HoldType::V1,
                iss: self.issuer.clone(),
                project: head.project,
                at,
                event: HoldEvent::Expired,
                hold: row.hold,
                action: row.action,
                decision: row.decision,
            };
            Accepted::said(&Signed::sign(statement, self.signer), |hold| Statement::Hold(Box::new(hold)))
        });
        Ok(Plan::saying(head.clone(), accepted.collect(), ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let mut holds: Vec<Uuid> = Vec::new();
        for placed in &sealed.placed[sealed.before..] {
            let envelope = Envelope::parse(&placed.accepted.body).map_err(unreadable)?;
            if let Statement::Hold(said) = envelope.statement().map_err(unreadable)? {
                holds.push(said.hold.uuid());
            }
        }
        store::expire(tx, &holds).await
    }
}
