//! The sweep: whole days that are older than the project's retention.

use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::Removal;
use counterfoil_core::time::Timestamp;
use tokio::time::MissedTickBehavior;

use super::days::{self, Day};
use super::erase::{Erasure, most_at_once};
use super::store::{self, Due};
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::{AppendError, Ledger};
use crate::settings;

/// Public: nobody asked for it, the days did.
const BEHALF: &str = "retention";

/// What one sweep of one project did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Swept {
    pub bodies: u64,
    pub tombstones: u64,
}

enum Step {
    /// So many bodies were emptied, perhaps none; there may be more.
    Went(u64),
    /// Nothing is due any more, or what is due has to wait.
    Rests,
}

/// Sweeps all projects at boot and every hour. It goes on where it stopped, whichever service stopped it.
pub(crate) async fn sweep_hourly(ledger: Arc<Ledger>) {
    let mut hours = tokio::time::interval(Duration::from_secs(3600));
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        match ledger.all_projects().await {
            Ok(projects) => {
                for project in projects {
                    one(&ledger, project).await;
                }
            }
            Err(error) => tracing::warn!(%error, "retention"),
        }
    }
}

/// One that cannot be swept does not keep the next from it.
async fn one(ledger: &Ledger, project: ProjectId) {
    match ledger.sweep(project, clock::now()).await {
        Ok(swept) if swept.bodies == 0 => {}
        Ok(Swept { bodies, tombstones }) => tracing::info!(%project, bodies, tombstones, "retention"),
        // Another service was faster with the same bodies, or the database is away: the next hour sees what is left.
        Err(error) => tracing::warn!(%project, %error, "retention"),
    }
}

impl Ledger {
    /// Empties everything of one project that is due at `now`.
    pub(crate) async fn sweep(&self, project: ProjectId, now: Timestamp) -> Result<Swept, AppendError> {
        let mut swept = Swept::default();
        if self.seen().stopped(project).is_some() {
            return Ok(swept);
        }
        let mut moved = false;
        loop {
            let began = Instant::now();
            match self.step(project, now).await? {
                Step::Rests => break,
                Step::Went(bodies) => {
                    moved = true;
                    swept.bodies += bodies;
                    swept.tombstones += u64::from(bodies > 0);
                }
            }
            // Half of the time belongs to those who append.
            tokio::time::sleep(began.elapsed()).await;
        }
        self.tidy(project, now, moved).await?;
        Ok(swept)
    }

    /// One commit's worth, of one day.
    async fn step(&self, project: ProjectId, now: Timestamp) -> Result<Step, AppendError> {
        let mut client = self.database().sweeper().await?;
        let tx = client.begin(project).await?;
        let due = next(&tx, now).await?;
        let Some((day, due)) = of_one_day(due) else { return Ok(Step::Rests) };
        let (first, last) = (due[0].seq, due[due.len() - 1].seq);
        let long_settled = due[due.len() - 1].at < days::settled_before(now);
        if !long_settled && store::is_open(&tx, first, last).await? {
            return Ok(Step::Rests);
        }
        let seqs: Vec<u64> = due.iter().filter(|due| due.full).map(|due| due.seq).collect();
        let upto = last + 1;
        if seqs.is_empty() {
            store::advance(&tx, upto).await?;
            tx.commit().await.map_err(DatabaseError::from)?;
            return Ok(Step::Went(0));
        }
        drop(tx);
        drop(client);
        let bodies = seqs.len() as u64;
        let erasure = Erasure {
            issuer: self.project(project).await?.issuer.clone(),
            signer: &self.keys().ledger,
            behalf: BEHALF.to_owned(),
            removal: Removal::Retention,
            day,
            seqs,
            upto: Some(upto),
        };
        self.append(project, &erasure).await?;
        Ok(Step::Went(bodies))
    }

    /// What goes with bodies and is not in their transaction, because finding it by number would read all of it.
    async fn tidy(&self, project: ProjectId, now: Timestamp, moved: bool) -> Result<(), AppendError> {
        let mut client = self.database().sweeper().await?;
        loop {
            let tx = client.begin(project).await?;
            let upto = store::upto(&tx).await?;
            // What came before the first entry that is left belongs to none that is left.
            let before = match store::at(&tx, upto).await? {
                Some(at) => at,
                None => now,
            };
            let late =
                if upto > 0 { store::delete_late_openings(&tx, before, most_at_once()).await? } else { 0 };
            if late == 0 && !moved {
                return Ok(());
            }
            if moved {
                store::delete_helpers(&tx, upto, before).await?;
            }
            tx.commit().await.map_err(DatabaseError::from)?;
            if late < most_at_once() as u64 {
                return Ok(());
            }
        }
    }
}

async fn next(tx: &ProjectTx<'_>, now: Timestamp) -> Result<Vec<Due>, DatabaseError> {
    let days = settings::store::retention_days(tx).await?;
    let upto = store::upto(tx).await?;
    store::due(tx, upto, days::due_before(now, days), most_at_once()).await
}

/// The entries that are of the first one's day: a tombstone covers one.
fn of_one_day(mut due: Vec<Due>) -> Option<(Day, Vec<Due>)> {
    let day = Day::of(due.first()?.at);
    let count = due.iter().take_while(|due| Day::of(due.at) == day).count();
    due.truncate(count);
    Some((day, due))
}
