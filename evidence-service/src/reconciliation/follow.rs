//! The follower: which project is looked at when.
//!
//! Promised: a project whose record grew under this process is looked at within a quarter of a second, every other one
//! within a second, or as soon as so many can be asked; each gets one bounded turn, then the next one's is due, so that
//! a flood in one makes nobody else wait. Not promised: that nothing is read twice by two services. What is written
//! twice is given up.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;
use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::terms::Registries;
use super::turn::{self, Left};
use crate::clock;
use crate::ledger::store::BEFORE_THE_FIRST;
use crate::ledger::{AppendError, Ledger};

const TICK: Duration = Duration::from_millis(250);
/// Projects that this process did not see growing: another one may have appended.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many of those are asked in one tick: with more projects than four times this, a look comes later.
const LOOKS: usize = 50;
/// Turns at once. Each holds a connection for some hundredths of a second.
const AT_ONCE: usize = 2;
/// How long a project rests after an error.
const REST: Duration = Duration::from_secs(1);

/// Follows all projects until it is dropped.
pub(crate) async fn follow(ledger: Arc<Ledger>) {
    let mut follower = Follower::new();
    let mut running: JoinSet<Taken> = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        while running.len() < AT_ONCE
            && let Some((project, registries)) = follower.next()
        {
            running.spawn(take(Arc::clone(&ledger), project, registries));
        }
        tokio::select! {
            _ = ticks.tick() => follower.look_around(&ledger).await,
            Some(taken) = running.join_next() => match taken {
                Ok(taken) => follower.back(taken),
                Err(error) => tracing::error!(%error, "comparison"),
            },
        }
    }
}

struct Taken {
    project: ProjectId,
    registries: Registries,
    left: Result<Left, AppendError>,
}

async fn take(ledger: Arc<Ledger>, project: ProjectId, mut registries: Registries) -> Taken {
    let taking = turn::take(&ledger, project, &mut registries, clock::now());
    // A panic must not keep the project from its next turn.
    let left = match AssertUnwindSafe(taking).catch_unwind().await {
        Ok(left) => left,
        Err(_) => {
            tracing::error!(%project, "comparison panicked");
            registries = Registries::default();
            Err(AppendError::Unknown)
        }
    };
    Taken { project, registries, left }
}

struct Follower {
    /// Slot of the newest project that is known here.
    last_slot: i64,
    followed: HashMap<ProjectId, Followed>,
    /// All projects in the order in which they are looked at when nothing is known of them.
    round: VecDeque<ProjectId>,
    queue: VecDeque<ProjectId>,
    queued: HashSet<ProjectId>,
}

/// What this process knows of one project.
#[derive(Default)]
struct Followed {
    /// None while a turn is taken.
    registries: Option<Registries>,
    upto: u64,
    due: Option<Timestamp>,
    looked: Option<Instant>,
    resting: Option<Instant>,
    failures: u32,
}

impl Follower {
    fn new() -> Self {
        Self {
            last_slot: BEFORE_THE_FIRST,
            followed: HashMap::new(),
            round: VecDeque::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
        }
    }

    async fn look_around(&mut self, ledger: &Ledger) {
        if let Err(error) = self.know_all(ledger).await {
            tracing::warn!(%error, "comparison");
        }
        let now = clock::now();
        let grown: HashMap<ProjectId, u64> = ledger.seen().sizes().into_iter().collect();
        let due = self.followed.iter().filter(|(project, followed)| {
            let grew = grown.get(project).is_some_and(|size| *size > followed.upto);
            grew || followed.due.is_some_and(|due| due < now)
        });
        let due: Vec<ProjectId> = due.map(|(project, _)| *project).collect();
        for project in due {
            self.enqueue(project, ledger);
        }
        for _ in 0..LOOKS.min(self.round.len()) {
            let Some(project) = self.round.pop_front() else { break };
            self.round.push_back(project);
            let looked = self.followed.get(&project).and_then(|followed| followed.looked);
            if looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
                self.enqueue(project, ledger);
            }
        }
    }

    /// Projects that were made since the last time: one question if there are none.
    async fn know_all(&mut self, ledger: &Ledger) -> Result<(), AppendError> {
        for project in ledger.projects_after(&mut self.last_slot).await? {
            self.followed.insert(project, Followed::default());
            self.round.push_front(project);
        }
        Ok(())
    }

    fn enqueue(&mut self, project: ProjectId, ledger: &Ledger) {
        let Some(followed) = self.followed.get(&project) else { return };
        let resting = followed.resting.is_some_and(|since| since.elapsed() < REST);
        let stopped = ledger.seen().stopped(project).is_some();
        if !resting && !stopped && self.queued.insert(project) {
            self.queue.push_back(project);
        }
    }

    fn next(&mut self) -> Option<(ProjectId, Registries)> {
        let project = self.queue.pop_front()?;
        let followed = self.followed.get_mut(&project)?;
        followed.looked = Some(Instant::now());
        Some((project, followed.registries.take().unwrap_or_default()))
    }

    fn back(&mut self, Taken { project, registries, left }: Taken) {
        self.queued.remove(&project);
        let Some(followed) = self.followed.get_mut(&project) else { return };
        followed.registries = Some(registries);
        followed.failures = if left.is_ok() { 0 } else { followed.failures + 1 };
        match left {
            Ok(Left::More) => {
                self.queued.insert(project);
                self.queue.push_back(project);
            }
            // With the next tick.
            Ok(Left::Little) => followed.due = Some(clock::now()),
            Ok(Left::Nothing { upto, due }) => (followed.upto, followed.due) = (upto, due),
            Err(error) => {
                // Once in a while another service is faster; again and again is no chance.
                match followed.failures {
                    ..3 => tracing::debug!(%project, %error, "comparison given up"),
                    3.. => tracing::warn!(%project, %error, times = followed.failures, "comparison given up"),
                }
                followed.resting = Some(Instant::now());
            }
        }
    }
}
