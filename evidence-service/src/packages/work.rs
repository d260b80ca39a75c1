//! The work: claims what was asked for, makes it, and removes what has had its time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::id::{PackageId, ProjectId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::job::Job;
use super::make::{Failure, make};
use super::{Packages, store};
use crate::clock;
use crate::database::DatabaseError;
use crate::ledger::AppendError;

/// A worker that is not heard of for so long has died. It says so every second.
const LEASE_MILLIS: i64 = 30_000;
const HOLD_EVERY: Duration = Duration::from_secs(1);
/// Packages that one service makes at once: compressing takes a processor each.
const AT_ONCE: usize = 2;
/// How often somebody else's lost work is looked for; what is asked for here is begun at once.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A package that kills its worker, or fails for reasons of the moment, is not begun for ever.
const MOST_ATTEMPTS: u32 = 3;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Works until it is dropped. What it was at is then begun again by somebody else.
pub(crate) async fn work(packages: Packages) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut making = JoinSet::new();
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = packages.0.asked.notified() => {}
            // Room for the next one.
            Some(_) = making.join_next() => {}
        }
        if let Err(error) = look(&packages, &room, &mut making).await {
            tracing::warn!(%error, "packages");
        }
    }
}

async fn look(
    packages: &Packages,
    room: &Arc<Semaphore>,
    making: &mut JoinSet<()>,
) -> Result<(), AppendError> {
    for project in packages.0.ledger.all_projects().await? {
        packages.sweep(project).await?;
        while let Ok(place) = Arc::clone(room).try_acquire_owned() {
            let Some(job) = packages.claim(project).await? else { break };
            let packages = packages.clone();
            making.spawn(async move { packages.carry_out(project, job, place).await });
        }
    }
    Ok(())
}

impl Packages {
    async fn claim(&self, project: ProjectId) -> Result<Option<Job>, DatabaseError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let job = store::claim(&tx, self.0.worker, LEASE_MILLIS).await?;
        tx.commit().await?;
        Ok(job)
    }

    /// Removes packages that have had their time, and files that belong to none.
    async fn sweep(&self, project: ProjectId) -> Result<(), DatabaseError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let limits = &self.0.limits;
        let before = clock::now().plus_millis(-i64::from(limits.days) * DAY_MILLIS);
        let outlived = store::outlived(&tx, before, limits.keep).await?;
        if !outlived.is_empty() {
            store::forget(&tx, &outlived).await?;
        }
        let keep: HashSet<PackageId> = store::all(&tx).await?.into_iter().map(|job| job.id).collect();
        tx.commit().await?;
        drop(client);
        let packages = self.clone();
        let cleared = tokio::task::spawn_blocking(move || packages.0.shelf.clear(project, &keep)).await;
        if let Ok(Err(error)) = cleared {
            tracing::warn!(%project, %error, "packages' folder");
        }
        Ok(())
    }

    async fn carry_out(&self, project: ProjectId, job: Job, _place: OwnedSemaphorePermit) {
        let began = Instant::now();
        let mut lease =
            Lease { packages: self, project, id: job.id, first: job.first, of: 0, held_at: began };
        let made = if job.attempts > MOST_ATTEMPTS {
            Err(Failure::GivenUp)
        } else {
            self.make(project, &job, &mut lease).await
        };
        let took = began.elapsed().as_millis() as u64;
        let settled = match &made {
            Ok(()) => {
                tracing::info!(%project, package = %job.id, took, "package made");
                self.finish(project, &job, None).await
            }
            Err(Failure::Lost) => Ok(()),
            Err(failure) => {
                tracing::warn!(%project, package = %job.id, took, %failure, "no package");
                match failure.word() {
                    Some(word) => self.finish(project, &job, Some(word)).await,
                    None => self.let_go(project, &job).await,
                }
            }
        };
        if let Err(error) = settled {
            // The lease lapses, and somebody begins again.
            tracing::warn!(%project, package = %job.id, %error, "package not settled");
        }
    }

    async fn make(&self, project: ProjectId, job: &Job, lease: &mut Lease<'_>) -> Result<(), Failure> {
        let (draft, file) = self.0.shelf.draft(project, job.id, self.0.worker)?;
        let file = make(&self.0.ledger, job, lease, file, self.0.limits.largest_bytes).await?;
        // Whoever lost the lease meanwhile keeps nothing: the file of the one who has it must stay.
        lease.hold_now(lease.of).await?;
        tokio::task::spawn_blocking(move || draft.keep(&file)).await.map_err(std::io::Error::other)??;
        Ok(())
    }

    async fn finish(
        &self,
        project: ProjectId,
        job: &Job,
        failure: Option<&str>,
    ) -> Result<(), DatabaseError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        store::finish(&tx, job.id, self.0.worker, failure, clock::now()).await?;
        Ok(tx.commit().await?)
    }

    async fn let_go(&self, project: ProjectId, job: &Job) -> Result<(), DatabaseError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        store::let_go(&tx, job.id, self.0.worker).await?;
        Ok(tx.commit().await?)
    }
}

/// Our word that we are at it, renewed as we go.
pub(super) struct Lease<'p> {
    packages: &'p Packages,
    pub(super) project: ProjectId,
    id: PackageId,
    first: u64,
    of: u64,
    held_at: Instant,
}

impl Lease<'_> {
    /// How many entries the package has.
    pub(super) fn covers(&mut self, entries: u64) {
        self.of = entries;
    }

    /// Renews it if a second has passed.
    pub(super) async fn hold(&mut self, done: u64) -> Result<(), Failure> {
        if self.held_at.elapsed() < HOLD_EVERY { Ok(()) } else { self.hold_now(done).await }
    }

    async fn hold_now(&mut self, done: u64) -> Result<(), Failure> {
        let mut client = self.packages.0.ledger.database().app().await?;
        let tx = client.begin(self.project).await?;
        let worker = self.packages.0.worker;
        let held = store::hold(&tx, self.id, worker, (done, self.first + self.of), LEASE_MILLIS).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        self.held_at = Instant::now();
        if held { Ok(()) } else { Err(Failure::Lost) }
    }
}
