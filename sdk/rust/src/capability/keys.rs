//! The gateway's keys, where this provider was told to find them.
//!
//! Promised: a token never says where keys are. An unknown key id causes one fetch, and no more than one in ten seconds
//! (one, while there is no set at all); a set that could not be read again for an hour counts no more. Without a set,
//! nobody is believed.

use super::gate::Gate;
use super::refusal::{Refusal, RefusalCode};
use crate::clock::Clock;
use crate::fetch::{Bounds, Fetch};
use crate::verify::{KeySet, PinnedKey};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Purpose, Thumbprint};
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// Where the gateway's capability keys are read.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// `<issuer>/gateway-jwks.json` at the gateway, or wherever else it is published.
    Address(String),
    /// A file that somebody keeps fresh.
    File(PathBuf),
    /// A set that you already pinned. It is read once, here.
    Pinned(KeySet),
}

// All in milliseconds.
const BETWEEN_FETCHES: i64 = 10_000;
const BETWEEN_FIRST_FETCHES: i64 = 1_000;
const FRESH: i64 = 5 * 60_000;
const OLDEST: i64 = 60 * 60_000;
/// A key set is a few kilobytes.
const BOUNDS: Bounds = Bounds { most: 256 * 1024, within: Duration::from_secs(5) };

pub(super) struct GatewayKeys {
    source: KeySource,
    issuer: Issuer,
    fetch: Arc<dyn Fetch>,
    clock: Clock,
    held: RwLock<Held>,
    gate: Gate,
}

#[derive(Clone, Default)]
struct Held {
    set: Option<Arc<KeySet>>,
    read_at: i64,
    tried_at: Option<i64>,
}

impl GatewayKeys {
    pub(super) fn new(source: KeySource, issuer: Issuer, fetch: Arc<dyn Fetch>, clock: Clock) -> Self {
        let set = match &source {
            KeySource::Pinned(set) => Some(Arc::new(set.clone())),
            KeySource::Address(_) | KeySource::File(_) => None,
        };
        let held = RwLock::new(Held { set, ..Held::default() });
        Self { source, issuer, fetch, clock, held, gate: Gate::default() }
    }

    /// The capability key of this id.
    pub(super) async fn find(&self, kid: &Thumbprint) -> Result<PinnedKey, Refusal> {
        let held = self.held();
        let is_old = self.age(&held).is_some_and(|age| age > FRESH);
        let is_known = held.set.as_ref().is_some_and(|set| set.by_kid(kid).is_some());
        if is_old || !is_known {
            self.gate.once(self.read()).await;
        }
        let held = self.held();
        let is_too_old = self.age(&held).is_some_and(|age| age > OLDEST);
        let set = held.set.filter(|_| !is_too_old).ok_or(RefusalCode::Keys)?;
        let key = set.by_kid(kid).filter(|key| key.purpose() == Purpose::Capability);
        key.cloned().ok_or_else(|| RefusalCode::Key.into())
    }

    fn held(&self) -> Held {
        self.held.read().map(|held| held.clone()).unwrap_or_default()
    }

    /// None for a set that does not age.
    fn age(&self, held: &Held) -> Option<i64> {
        match self.source {
            KeySource::Pinned(_) => None,
            KeySource::Address(_) | KeySource::File(_) => Some(self.now() - held.read_at),
        }
    }

    fn now(&self) -> i64 {
        (self.clock)().millis()
    }

    /// Whoever asked is refused where this fails; the set of before stays until it is too old.
    async fn read(&self) {
        let held = self.held();
        let between = if held.set.is_some() { BETWEEN_FETCHES } else { BETWEEN_FIRST_FETCHES };
        let now = self.now();
        if held.tried_at.is_some_and(|tried| now - tried < between) {
            return;
        }
        let bytes = match &self.source {
            KeySource::Pinned(_) => return,
            KeySource::File(path) => std::fs::read(path).ok(),
            KeySource::Address(address) => self.fetch.get(address, BOUNDS).await.ok(),
        };
        let set =
            bytes.and_then(|bytes| KeySet::parse(&bytes).ok()).filter(|set| *set.issuer() == self.issuer);
        if let Ok(mut held) = self.held.write() {
            held.tried_at = Some(now);
            if let Some(set) = set {
                held.set = Some(Arc::new(set));
                held.read_at = self.now();
            }
        }
    }
}
