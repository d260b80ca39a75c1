//! The sweep: what never came.

use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;
use tokio::time::MissedTickBehavior;

use super::outcome::Outcomes;
use super::store::calls;
use crate::clock;
use crate::database::DatabaseError;
use crate::ledger::{AppendError, Ledger};

/// No provider may be given longer for one call (the gateway's configuration refuses more), and a minute of grace.
const CEILING_MILLIS: i64 = 3_660_000;
/// One commit of a sweep.
const MOST: i64 = 256;

/// Sweeps all projects again and again. Silence counts only from a lease after the last time that we could not have
/// heard anybody: at boot, and after any failure to reach the database, everybody was silent to us.
pub(crate) async fn sweep(ledger: Arc<Ledger>, lease: Duration) {
    let mut ticks = tokio::time::interval(Duration::from_secs(5).min(lease / 2));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut hearing_since = Instant::now();
    loop {
        ticks.tick().await;
        if let Err(error) = reach(&ledger).await {
            tracing::warn!(%error, "sweep");
            hearing_since = Instant::now();
        }
        if hearing_since.elapsed() < lease {
            continue;
        }
        if let Err(error) = all(&ledger, lease).await {
            tracing::warn!(%error, "sweep");
            hearing_since = Instant::now();
        }
    }
}

async fn reach(ledger: &Ledger) -> Result<(), AppendError> {
    ledger.all_projects().await.map(drop)
}

async fn all(ledger: &Ledger, lease: Duration) -> Result<(), AppendError> {
    for project in ledger.all_projects().await? {
        if ledger.seen().stopped(project).is_some() {
            continue;
        }
        while one(ledger, project, lease).await? {}
    }
    Ok(())
}

/// One commit's worth of one project; whether there may be more.
async fn one(ledger: &Ledger, project: ProjectId, lease: Duration) -> Result<bool, AppendError> {
    let Some(outcomes) = silent(ledger, project, lease, clock::now()).await? else { return Ok(false) };
    let more = outcomes.silent.len() >= MOST.unsigned_abs() as usize;
    match ledger.append(project, &outcomes).await {
        Ok(_) => Ok(more),
        // Somebody was faster with one of them: the next sweep sees what is left.
        Err(AppendError::Unavailable(why)) => {
            tracing::info!(%project, why, "sweep given up");
            Ok(false)
        }
        Err(other) => Err(other),
    }
}

/// Calls that nobody speaks of any more, as of `now`.
pub(super) async fn silent(
    ledger: &Ledger,
    project: ProjectId,
    lease: Duration,
    now: Timestamp,
) -> Result<Option<Outcomes<'_>>, AppendError> {
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    let forgotten = calls::forget_spoken(&tx, MOST).await?;
    let silent = calls::silent(&tx, now.plus_millis(-CEILING_MILLIS), now.plus_millis(-lease), MOST).await?;
    if forgotten > 0 {
        tx.commit().await.map_err(DatabaseError::from)?;
    }
    if silent.is_empty() {
        return Ok(None);
    }
    tracing::warn!(%project, silent = silent.len(), "outcomes");
    let issuer = ledger.project(project).await?.issuer.clone();
    Ok(Some(Outcomes { issuer, signer: &ledger.keys().ledger, silent }))
}
