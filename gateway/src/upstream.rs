//! Tool providers: child processes that speak MCP over stdin and stdout, and servers that speak it over HTTP.
//!
//! Promised: one child per provider and agent key, or session, so that no state leaks from one agent to another; a child that
//! dies is started again when it is next needed, later and later while it keeps dying; none outlives the gateway.
//! Not promised: that a provider is well behaved. Its answers are kept as bytes and bounded in size and time.

mod catalogue;
mod child;
mod connection;
mod lines;
mod process;
mod remote;
mod waiting;
mod wire;

pub use catalogue::{Catalogue, ListedTool};
pub use connection::{Connection, Outcome};
pub use remote::{Site, SiteError};

use crate::config::ProviderEnv;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::KeyId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How to start, or reach, a provider.
#[derive(Clone, Debug)]
pub struct Start {
    pub provider: String,
    pub command: Vec<String>,
    pub env: ProviderEnv,
    pub folder: Option<PathBuf>,
    pub sharing: Sharing,
    /// Set for a provider that is no child but has an address.
    pub site: Option<Arc<Site>>,
}

/// Who shares a connection to a provider. Two agent keys never do.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// All sessions of one agent key.
    #[default]
    Key,
    /// Nobody: a legacy session has its own. Hosts of 2026-07-28 have no sessions, and share by key.
    Session,
}

/// Whose connection it is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Holder {
    pub key: KeyId,
    /// Digest of the session's id.
    pub session: Option<Digest>,
}

impl From<KeyId> for Holder {
    fn from(key: KeyId) -> Self {
        Self { key, session: None }
    }
}

/// The provider cannot be reached now.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Away {
    #[error("could not be started")]
    NotStarted,
    #[error("cannot be reached")]
    Unreachable,
    #[error("did not introduce itself in time or in a revision we speak")]
    NotIntroduced,
    #[error("wants other credentials than it was sent, or any at all")]
    Unauthorized,
    #[error("died a moment ago and will be started again later")]
    Resting,
    #[error("has too many children")]
    Crowded,
    #[error("went away")]
    Gone,
    #[error("did not answer in time")]
    Late,
    #[error("gave no usable list of tools")]
    NoList,
}

/// All children of this gateway.
pub struct Fleet {
    slots: Mutex<HashMap<(String, Holder), Arc<Slot>>>,
    idle: Duration,
}

#[derive(Default)]
struct Slot {
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    started_at: Option<Instant>,
    used_at: Option<Instant>,
    short_lives: u32,
    /// Why the last start came to nothing; while nobody starts it again, that is still the reason.
    failed: Option<Away>,
}

/// At most this many children of one provider; each is a process of perhaps 50 MB.
const MOST_CHILDREN: usize = 64;
/// And so many sessions at one address; each is a few KiB here.
const MOST_SESSIONS: usize = 4096;
/// A child unused for so long is stopped. Hosts keep sessions open all day and use a tool twice.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often that is looked for.
const SWEEP: Duration = Duration::from_secs(60);
/// A child that lived this long died of something new; a shorter life makes the next start wait.
const LONG_LIFE: Duration = Duration::from_secs(10);
/// 200 ms, doubled with each short life, at most 30 s.
const FIRST_REST: Duration = Duration::from_millis(200);
const LONGEST_REST: Duration = Duration::from_secs(30);

impl Fleet {
    pub fn empty() -> Self {
        Self::with_patience(IDLE)
    }

    fn with_patience(idle: Duration) -> Self {
        Self { slots: Mutex::new(HashMap::new()), idle }
    }

    /// Ends idle connections, until stopped.
    pub async fn keep_tidy(&self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(SWEEP) => self.sweep().await,
                () = stop.cancelled() => return,
            }
        }
    }

    async fn sweep(&self) {
        let slots: Vec<Arc<Slot>> = {
            let mut slots = self.slots.lock().expect("no holder panics");
            slots.retain(|_, slot| !slot.is_empty(self.idle));
            slots.values().cloned().collect()
        };
        for slot in slots {
            slot.stop_if_idle(self.idle).await;
        }
    }

    /// The live connection of this holder to this provider, started if need be.
    pub async fn connect(&self, holder: impl Into<Holder>, start: &Start) -> Result<Arc<Connection>, Away> {
        let Holder { key, session } = holder.into();
        let session = match start.sharing {
            Sharing::Key => None,
            Sharing::Session => session,
        };
        let (slot, idle) = self.slot(Holder { key, session }, start)?;
        for other in idle {
            other.stop_if_idle(self.idle).await;
        }
        slot.connect(start).await
    }

    /// Stops what a session alone had. Its end is not waited for.
    pub fn end_session(&self, session: Digest) {
        let mut slots = self.slots.lock().expect("no holder panics");
        for (_, slot) in slots.extract_if(|(_, holder), _| holder.session == Some(session)) {
            tokio::spawn(async move { slot.stop().await });
        }
    }

    /// Stops every child and waits until it is gone.
    pub async fn stop(&self) {
        let slots: Vec<_> = {
            let mut slots = self.slots.lock().expect("no holder panics");
            slots.drain().map(|(_, slot)| slot).collect()
        };
        let mut stopping = tokio::task::JoinSet::new();
        for slot in slots {
            stopping.spawn(async move { slot.stop().await });
        }
        while stopping.join_next().await.is_some() {}
    }

    fn slot(&self, holder: Holder, start: &Start) -> Result<(Arc<Slot>, Vec<Arc<Slot>>), Away> {
        let mut slots = self.slots.lock().expect("no holder panics");
        let name = (start.provider.clone(), holder);
        if let Some(slot) = slots.get(&name) {
            return Ok((slot.clone(), Vec::new()));
        }
        // A new key: the moment to look for children that nobody uses any more.
        slots.retain(|_, slot| !slot.is_empty(self.idle));
        let siblings: Vec<Arc<Slot>> = slots
            .iter()
            .filter(|((provider, _), _)| *provider == start.provider)
            .map(|(_, slot)| slot.clone())
            .collect();
        let most = match start.site {
            None => MOST_CHILDREN,
            Some(_) => MOST_SESSIONS,
        };
        if siblings.len() >= most && !siblings.iter().any(|s| s.is_idle(self.idle)) {
            return Err(Away::Crowded);
        }
        let slot = Arc::new(Slot::default());
        slots.insert(name, slot.clone());
        Ok((slot, siblings))
    }
}

impl Slot {
    async fn connect(&self, start: &Start) -> Result<Arc<Connection>, Away> {
        // Held while starting, so that two calls do not start two children.
        let mut state = self.state.lock().await;
        state.used_at = Some(Instant::now());
        if let Some(connection) = &state.connection {
            if !connection.is_gone() {
                return Ok(connection.clone());
            }
            let lived = state.started_at.map_or(Duration::ZERO, |at| at.elapsed());
            state.connection = None;
            state.short_lives = match lived >= LONG_LIFE {
                true => 0,
                false => state.short_lives.saturating_add(1),
            };
        }
        if let Some(started_at) = state.started_at
            && started_at.elapsed() < rest(state.short_lives)
        {
            return Err(state.failed.clone().unwrap_or(Away::Resting));
        }
        state.failed = None;
        state.started_at = Some(Instant::now());
        // Counted as a short life until it has introduced itself: a caller that hangs up meanwhile ends it, and would
        // otherwise have another one started at once.
        let before = state.short_lives;
        state.short_lives = before.saturating_add(1);
        let connection =
            Connection::open(start).await.inspect_err(|away| state.failed = Some(away.clone()))?;
        state.short_lives = before;
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    fn is_empty(&self, idle: Duration) -> bool {
        self.state.try_lock().is_ok_and(|state| {
            state.connection.is_none() && state.used_at.is_none_or(|at| at.elapsed() > idle)
        })
    }

    fn is_idle(&self, idle: Duration) -> bool {
        self.state.try_lock().is_ok_and(|state| state.is_idle(idle))
    }

    /// Looked at and taken under one lock, so that a call that comes meanwhile finds either it or a new one. The child's
    /// end is not waited for: it may take seconds.
    async fn stop_if_idle(&self, idle: Duration) {
        let Ok(mut state) = self.state.try_lock() else {
            return;
        };
        if state.is_idle(idle)
            && let Some(connection) = state.connection.take()
        {
            tokio::spawn(async move { connection.stop().await });
        }
    }

    async fn stop(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.stop().await;
        }
    }
}

impl State {
    fn is_idle(&self, idle: Duration) -> bool {
        let in_use = self.connection.as_ref().is_some_and(|c| Arc::strong_count(c) > 1);
        !in_use && self.used_at.is_some_and(|at| at.elapsed() > idle)
    }
}

/// How long after a start the next one waits.
fn rest(short_lives: u32) -> Duration {
    match short_lives {
        0 => Duration::ZERO,
        n => FIRST_REST.saturating_mul(1 << (n - 1).min(10)).min(LONGEST_REST),
    }
}

#[cfg(test)]
mod tests;
