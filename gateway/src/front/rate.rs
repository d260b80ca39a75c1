//! How much one key may ask (T8).
//!
//! Promised: a key that asks too much is told to wait, with a `Retry-After` of at least a second, before its message is
//! read. Counted per key that we know, so that what is counted is bounded by what exists.
//! Not promised: a bound over several gateways; each counts for itself. Such refusals are counted, not recorded.

use crate::config::Limits;
use counterfoil_core::id::KeyId;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The generic cell rate algorithm: one moment per key, up to which it has used its share.
pub struct Rates {
    interval: Duration,
    tolerance: Duration,
    used_up_to: Mutex<HashMap<KeyId, Instant>>,
    refused: AtomicU64,
}

/// Too much; try again after this long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooMuch {
    pub retry_after: Duration,
}

impl Rates {
    pub fn new(limits: &Limits) -> Self {
        let interval = Duration::from_secs(1) / limits.messages_per_second.get();
        Self {
            interval,
            tolerance: interval * limits.burst.get(),
            used_up_to: Mutex::new(HashMap::new()),
            refused: AtomicU64::new(0),
        }
    }

    pub fn admit(&self, key: KeyId) -> Result<(), TooMuch> {
        self.admit_at(key, Instant::now())
    }

    fn admit_at(&self, key: KeyId, now: Instant) -> Result<(), TooMuch> {
        let mut used = self.used_up_to.lock().expect("no holder panics");
        let up_to = used.get(&key).map_or(now, |at| *at.max(&now)) + self.interval;
        let ahead = up_to.saturating_duration_since(now);
        if ahead > self.tolerance {
            let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
            // One line for each power of two, or a flood of calls would be a flood of lines.
            if count.is_power_of_two() {
                tracing::warn!(%key, count, "messages refused by rate");
            }
            return Err(TooMuch { retry_after: ahead - self.tolerance });
        }
        used.insert(key, up_to);
        Ok(())
    }
}

impl TooMuch {
    /// Whole seconds, rounded up: a host that came back at once would only be refused again.
    pub fn seconds(self) -> u64 {
        self.retry_after.as_secs() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn key(last: u8) -> KeyId {
        format!("key_019355a0c00070008000000000000{last:03x}").parse().expect("an id")
    }

    // T8
    #[test]
    fn a_key_beyond_its_rate_waits_and_no_other_does() {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        let rates = Rates::new(&Limits { messages_per_second: number(10), burst: number(3) });
        let start = Instant::now();

        for _ in 0..3 {
            assert_eq!(rates.admit_at(key(1), start), Ok(()));
        }

        let refused = rates.admit_at(key(1), start).expect_err("too much");
        assert_eq!(refused.retry_after, Duration::from_millis(100));
        assert_eq!(refused.seconds(), 1);
        assert_eq!(rates.admit_at(key(2), start), Ok(()));
        assert_eq!(rates.admit_at(key(1), start + refused.retry_after), Ok(()));
        assert!(rates.admit_at(key(1), start + refused.retry_after).is_err());
    }
}
