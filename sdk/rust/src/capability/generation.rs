//! The kill generation: slips of an earlier one are refused.
//!
//! Promised: followed at most two seconds ago, or asked for now; where the feed is silent beyond its own end, everything
//! is refused. A generation never goes back.

use super::gate::Gate;
use super::keys::GatewayKeys;
use super::refusal::{Refusal, RefusalCode};
use super::token::split;
use crate::clock::Clock;
use crate::fetch::{Bounds, Fetch};
use counterfoil_core::capability::{GENERATION_TYPE, GenerationClaims};
use counterfoil_core::issuer::Issuer;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// In milliseconds.
const FOLLOWED: i64 = 2_000;
/// In seconds, as the next.
const LEEWAY: i64 = 5;
/// `exp` is `iat` + 10 s; a longer life would outlive a kill.
const LONGEST_LIFE: i64 = 10;
const BOUNDS: Bounds = Bounds { most: 4096, within: Duration::from_secs(2) };

/// How a provider learns of a kill.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Following {
    /// Asks the gateway's feed, and refuses everything while that is silent.
    Feed,
    /// Compares with the newest capability only: it learns of a kill from the first call after it.
    Seen,
}

pub(super) struct Generation {
    pub(super) following: Following,
    pub(super) feed: String,
    pub(super) issuer: Issuer,
    pub(super) keys: Arc<GatewayKeys>,
    pub(super) fetch: Arc<dyn Fetch>,
    pub(super) clock: Clock,
    pub(super) known: Known,
}

/// What was learnt so far.
#[derive(Default)]
pub(super) struct Known {
    newest: AtomicU64,
    /// Milliseconds since 1970; 0 before the first answer.
    asked_at: AtomicI64,
    /// Seconds since 1970.
    ends_at: AtomicI64,
    gate: Gate,
}

impl Generation {
    pub(super) async fn demand(&self, generation: u64) -> Result<(), Refusal> {
        match self.following {
            Following::Feed => self.follow().await?,
            Following::Seen => {}
        }
        let newest = self.known.newest.fetch_max(generation, Ordering::AcqRel);
        if generation < newest { Err(RefusalCode::Killed.into()) } else { Ok(()) }
    }

    async fn follow(&self) -> Result<(), Refusal> {
        if self.now() - self.known.asked_at.load(Ordering::Acquire) > FOLLOWED {
            self.known.gate.once(self.ask()).await;
        }
        let ends_at = self.known.ends_at.load(Ordering::Acquire);
        if self.now() / 1000 < ends_at + LEEWAY { Ok(()) } else { Err(RefusalCode::Generation.into()) }
    }

    fn now(&self) -> i64 {
        (self.clock)().millis()
    }

    /// Where this fails, the feed of before counts until its end, and not longer.
    async fn ask(&self) {
        let asked_at = self.now();
        let Ok(bytes) = self.fetch.get(&self.feed, BOUNDS).await else { return };
        let Ok(text) = String::from_utf8(bytes) else { return };
        let Ok(claims) = self.read(text.trim()).await else { return };
        self.known.newest.fetch_max(claims.generation, Ordering::AcqRel);
        self.known.ends_at.fetch_max(claims.exp, Ordering::AcqRel);
        self.known.asked_at.store(asked_at, Ordering::Release);
    }

    async fn read(&self, token: &str) -> Result<GenerationClaims, Refusal> {
        let parts = split(token)?;
        let key = self.keys.find(&parts.kid(GENERATION_TYPE)?).await?;
        key.key().verify(parts.signed, &parts.signature).map_err(|_| RefusalCode::Signature)?;
        let claims: GenerationClaims = serde_json::from_value(Value::Object(parts.members()?))
            .map_err(|_| Refusal::from(RefusalCode::Malformed))?;
        let is_short = claims.exp - claims.iat <= LONGEST_LIFE;
        let is_now = claims.iat <= self.now() / 1000 + LEEWAY;
        if claims.iss == self.issuer && is_short && is_now {
            Ok(claims)
        } else {
            Err(RefusalCode::Generation.into())
        }
    }
}
