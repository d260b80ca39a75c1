//! Evidence packages: made in the background, kept for a while, handed out.
//!
//! Promised: a package is one moment of one project, read in pages and written as it streams, so that memory does not
//! grow with it; what was half done when a process died is begun again by whoever comes next, and a lease keeps two
//! from doing the same; there are never more or larger files than the configuration allows; a package with a body
//! that was erased since is gone. Strangers get the public kind alone: bodies that we wrapped for others are withheld.
//! Not promised: that a package is right because it comes from here. `counterfoil verify` says that, offline.
//! Format: docs/formats/package.md. For operators: docs/operating/packages.md.

mod job;
mod line;
mod make;
pub(crate) mod routes;
mod shelf;
mod small;
mod store;
mod work;
mod writer;

use std::sync::Arc;

use counterfoil_core::id::{PackageId, ProjectId};
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::clock;
use crate::config::PackagesConfig;
use crate::http::ApiError;
use crate::ledger::Ledger;

use job::{Audience, Job, State};
use shelf::Shelf;

#[cfg(test)]
pub(crate) use store::ALL;
pub(crate) use work::work;

/// Downloads at once; the next one is told to come back.
const DOWNLOADS: usize = 32;

/// A stranger's question makes no package while one younger than this is there.
const PUBLIC_EVERY_MILLIS: i64 = 60 * 60 * 1000;

#[derive(Clone)]
pub(crate) struct Packages(Arc<Shared>);

pub(crate) struct Shared {
    ledger: Arc<Ledger>,
    shelf: Shelf,
    limits: PackagesConfig,
    /// Who we are in a lease.
    worker: Uuid,
    asked: Notify,
    downloads: Arc<Semaphore>,
}

impl Packages {
    pub(crate) fn new(ledger: Arc<Ledger>, limits: PackagesConfig) -> Self {
        let shelf = Shelf::new(limits.folder.clone());
        let downloads = Arc::new(Semaphore::new(DOWNLOADS));
        let (worker, asked) = (clock::fresh_uuid(), Notify::new());
        Self(Arc::new(Shared { ledger, shelf, limits, worker, asked, downloads }))
    }

    /// Asks for a package from the checkpoint at or before `from`. One that is there, or under way, is the answer.
    async fn ask(&self, project: ProjectId, audience: Audience, from: u64) -> Result<Job, ApiError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let size = store::head(&tx).await?.size;
        if from >= size {
            return Err(ApiError::BadRequest("`from` is no entry of this project"));
        }
        let first = store::checkpoint_before(&tx, from).await?;
        let jobs = store::all(&tx).await?;
        let same = |job: &&Job| job.audience == audience && job.first == first;
        let current = |job: &&Job| match job.state {
            State::Waiting | State::Running => true,
            State::Done => job.size == Some(size),
            State::Failed => false,
        };
        if let Some(job) = jobs.iter().filter(same).find(current) {
            return Ok(job.clone());
        }
        let job = Job::new(PackageId::from_uuid(clock::fresh_uuid()), audience, first, clock::now());
        if !store::insert(&tx, &job).await? {
            return Err(ApiError::TooMany(5));
        }
        tx.commit().await.map_err(crate::database::DatabaseError::from)?;
        self.0.asked.notify_one();
        Ok(job)
    }

    async fn job(&self, project: ProjectId, id: PackageId) -> Result<Option<(Job, u64)>, ApiError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let Some(job) = store::one(&tx, id).await? else { return Ok(None) };
        Ok(Some((job, store::head(&tx).await?.size)))
    }

    /// The newest package that a stranger may have. If it is older than an hour and entries came since, or there is
    /// none, another is made; none yet is the job that makes it.
    async fn newest_public(&self, project: ProjectId) -> Result<(Job, u64), ApiError> {
        let mut client = self.0.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let size = store::head(&tx).await?.size;
        let jobs = store::all(&tx).await?;
        drop(tx);
        drop(client);
        let public = |job: &&Job| job.audience == Audience::Public && job.first == 0;
        let newest = jobs.iter().filter(public).find(|job| job.state == State::Done);
        let young = |job: &Job| clock::now().millis() - job.asked_at.millis() < PUBLIC_EVERY_MILLIS;
        if let Some(job) = newest.filter(|job| job.size == Some(size) || young(job)) {
            return Ok((job.clone(), size));
        }
        // One that failed is not tried again for every stranger who asks.
        if newest.is_none() && jobs.iter().filter(public).any(|job| job.state == State::Failed && young(job))
        {
            return Err(ApiError::Unavailable);
        }
        match (self.ask(project, Audience::Public, 0).await, newest) {
            (Ok(_) | Err(_), Some(older)) => Ok((older.clone(), size)),
            (asked, None) => Ok((asked?, size)),
        }
    }
}
