//! One phase: one kind of load on one target.

use crate::load::{Latencies, micros};
use crate::targets::{Caller, Target};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet};

#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// So many callers, each calling again when it was answered.
    Closed(usize),
    /// So many calls a second, whether or not the ones before were answered.
    Fixed(u32),
}

pub struct Phase {
    pub load: Load,
    pub latencies: Latencies,
    pub took: Duration,
}

impl Phase {
    pub fn calls_per_second(&self) -> f64 {
        self.latencies.count() as f64 / self.took.as_secs_f64()
    }
}

pub async fn run(load: Load, length: Duration, target: &Target) -> anyhow::Result<Phase> {
    let began = Instant::now();
    let local = LocalSet::new();
    let micros = match load {
        Load::Closed(callers) => local.run_until(closed(callers, began + length, target)).await?,
        Load::Fixed(rate) => local.run_until(fixed(rate, began, length, target)).await?,
    };
    Ok(Phase { load, latencies: Latencies::of(micros), took: began.elapsed() })
}

async fn closed(callers: usize, until: Instant, target: &Target) -> anyhow::Result<Vec<u64>> {
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let mut caller = target.caller().await?;
        running.spawn_local(async move {
            let mut latencies = Vec::new();
            while Instant::now() < until {
                let sent = Instant::now();
                caller.call().await?;
                latencies.push(micros(sent.elapsed()));
            }
            anyhow::Ok(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(finished) = running.join_next().await {
        all.extend(finished??);
    }
    Ok(all)
}

/// Callers that wait for their turn. One more is made when all are busy, so that no call waits for a connection.
type Idle = Rc<RefCell<VecDeque<Caller>>>;

async fn fixed(rate: u32, began: Instant, length: Duration, target: &Target) -> anyhow::Result<Vec<u64>> {
    let idle: Idle = Rc::default();
    let mut running = JoinSet::new();
    let calls = u32::try_from(length.as_secs()).unwrap_or(u32::MAX).saturating_mul(rate);
    for nth in 0..calls {
        let due = began + Duration::from_secs(1) * nth / rate;
        tokio::time::sleep_until(due.into()).await;
        let waiting = idle.borrow_mut().pop_front();
        let mut caller = match waiting {
            Some(caller) => caller,
            None => target.caller().await?,
        };
        let idle = Rc::clone(&idle);
        running.spawn_local(async move {
            caller.call().await?;
            let latency = micros(due.elapsed());
            idle.borrow_mut().push_front(caller);
            anyhow::Ok(latency)
        });
    }
    let mut all = Vec::new();
    while let Some(finished) = running.join_next().await {
        all.push(finished??);
    }
    Ok(all)
}
