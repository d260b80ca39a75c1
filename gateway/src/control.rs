//! What decides, as last heard from the evidence service.
//!
//! Promised: a snapshot counts only if its policy digest is that of its documents and its log keys are the pinned ones;
//! otherwise the one before stays, and what it allows is refused as stale where decisions are recorded.
//! Not promised: that it is the newest. It is at most about two seconds old, and `recent` says whether it is.

mod compiled;

pub use compiled::Control;

use crate::clock::LedgerClock;
use crate::evidence::{Evidence, Followed, NoAnswer};
use arc_swap::ArcSwapOption;
use counterfoil_core::control::{Snapshot, Unchanged};
use counterfoil_core::id::ProjectId;
use counterfoil_core::key::Jwk;
use counterfoil_core::statement::Decision;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Each poll ends after this long, so that a gateway knows within two seconds that nothing changed.
const POLL: Duration = Duration::from_millis(1500);
/// How old knowledge may be at the moment a capability is minted (FORMATS, section 7).
pub const RECENT: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub struct Follower {
    project: ProjectId,
    evidence: Arc<Evidence>,
    clock: Arc<LedgerClock>,
    known: ArcSwapOption<Control>,
    heard: Mutex<Heard>,
    /// Says that what is known changed.
    news: watch::Sender<()>,
    /// Our own decision keys: receipts of our decisions are checked with them, whatever a snapshot says.
    own: Arc<[Jwk]>,
    pinned_log: Option<Arc<str>>,
}

#[derive(Default)]
struct Heard {
    /// When the request that brought what is known was sent.
    known_since: Option<Instant>,
    /// When the last request that was answered had been sent: what it says was looked up after that. (The moment of
    /// the answer would not do: a stopped process finds old answers in its socket.)
    asked_at: Option<Instant>,
    fault: Option<&'static str>,
}

impl Follower {
    pub fn new(
        project: ProjectId,
        evidence: Arc<Evidence>,
        clock: Arc<LedgerClock>,
        own: Vec<Jwk>,
        pinned_log: Option<String>,
    ) -> Self {
        Self {
            project,
            evidence,
            clock,
            known: ArcSwapOption::empty(),
            heard: Mutex::default(),
            news: watch::Sender::new(()),
            own: own.into(),
            pinned_log: pinned_log.map(Arc::from),
        }
    }

    pub fn known(&self) -> Option<Arc<Control>> {
        self.known.load_full()
    }

    /// Whether what is known was still so at some moment within the last two seconds. A waiting poll says nothing, so
    /// this is often false; a commit that was just acknowledged says the same about `gen` and floor.
    pub fn is_recent(&self) -> bool {
        let heard = self.heard.lock().expect("no holder panics");
        heard.asked_at.is_some_and(|at| at.elapsed() <= RECENT)
    }

    /// Why decisions cannot be made now, as a word for the log and `/readyz`.
    pub fn fault(&self) -> Option<&'static str> {
        let heard = self.heard.lock().expect("no holder panics");
        match (&heard.fault, self.known.load().is_some()) {
            (Some(fault), _) => Some(fault),
            (None, false) => Some("control_unknown"),
            (None, true) => None,
        }
    }

    /// Returns once a kill that covers this decision is known; else never. For calls in flight: no ALLOW hangs on it.
    pub async fn until_stopped(&self, decision: &Decision) {
        let mut news = self.news.subscribe();
        while !self.known().is_some_and(|known| known.stops(decision)) {
            if news.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Asks once, without waiting for a change.
    pub async fn read_now(&self) -> Result<(), NoAnswer> {
        self.ask(Duration::ZERO).await
    }

    /// Follows until stopped. Waits between polls only after a failure.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = tokio::select! {
                asked = self.ask(POLL) => asked,
                () = stop.cancelled() => return,
            };
            if let Err(error) = &asked {
                tracing::warn!(project = %self.project, %error, "control not followed");
            }
            // A snapshot that was refused would be offered again at once.
            if asked.is_ok() && self.fault().is_none() {
                pause = FIRST_PAUSE;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn ask(&self, wait: Duration) -> Result<(), NoAnswer> {
        let asked_at = Instant::now();
        let known = self.known.load().as_ref().map(|c| c.snapshot.version);
        // Before a first snapshot there is nothing to wait for a change of.
        let wait = known.map_or(Duration::ZERO, |_| wait);
        let followed = match self.evidence.control(self.project, known, wait).await {
            Ok(followed) => followed,
            Err(error) => {
                self.heard.lock().expect("no holder panics").fault = Some("evidence_away");
                return Err(error);
            }
        };
        let fault = match followed {
            Followed::Unchanged(unchanged) => self.hear_unchanged(&unchanged),
            Followed::Changed(snapshot) => self.hear_snapshot(*snapshot, asked_at).await,
        };
        let mut heard = self.heard.lock().expect("no holder panics");
        // What a refused snapshot would have said is not known.
        if fault.is_none() {
            heard.asked_at = heard.asked_at.max(Some(asked_at));
        }
        heard.fault = fault;
        Ok(())
    }

    fn hear_unchanged(&self, unchanged: &Unchanged) -> Option<&'static str> {
        self.clock.heard(unchanged.ledger_time);
        let known = self.known.load();
        let same = known.as_ref().is_some_and(|known| {
            let s = &known.snapshot;
            (s.control, s.floor, s.generation, s.killed)
                == (unchanged.control, unchanged.floor, unchanged.generation, unchanged.killed)
        });
        match same {
            true => None,
            // The version covers these four; a service that says otherwise is not to be followed.
            false => Some("control_contradicts"),
        }
    }

    /// Compiles on a thread of its own: hundreds of rules take seconds, and calls do not wait for them.
    async fn hear_snapshot(&self, snapshot: Snapshot, asked_at: Instant) -> Option<&'static str> {
        self.clock.heard(snapshot.ledger_time);
        let before = self.known.load_full();
        let (project, own, pinned) = (self.project, self.own.clone(), self.pinned_log.clone());
        let compiling = tokio::task::spawn_blocking(move || {
            Control::compile(snapshot, project, &own, pinned.as_deref(), before.as_deref())
        });
        match compiling.await {
            Ok(Ok(control)) => {
                self.know(control, asked_at);
                None
            }
            Ok(Err(error)) => {
                tracing::error!(project = %self.project, %error, "snapshot refused");
                Some(error.code())
            }
            Err(_) => {
                tracing::error!(project = %self.project, "snapshot refused: compiling it broke off");
                Some("policy_not_compiled")
            }
        }
    }

    fn know(&self, control: Control, asked_at: Instant) {
        let mut heard = self.heard.lock().expect("no holder panics");
        // Two questions may be under way. Of their answers the later asked stays; if the other was the newer all the
        // same, the next poll brings it at once.
        if heard.known_since.is_some_and(|since| since > asked_at) {
            return;
        }
        heard.known_since = Some(asked_at);
        tracing::info!(
            project = %self.project,
            control = control.snapshot.control,
            generation = control.snapshot.generation,
            "control changed"
        );
        self.known.store(Some(Arc::new(control)));
        self.news.send_replace(());
    }
}
