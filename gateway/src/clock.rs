//! Ledger time: what the evidence service's clock says, carried on by our monotonic clock.
//!
//! Promised: our own wall clock is never asked, so a wrong one cannot date a decision. A reading older than 60 s is no
//! reading: then nothing is judged.

use arc_swap::ArcSwapOption;
use counterfoil_core::time::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two monotonic clocks drift apart by some 100 µs in a minute; a suspended machine by its whole sleep.
const FRESH: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct LedgerClock(ArcSwapOption<Fix>);

struct Fix {
    ledger_time: Timestamp,
    heard_at: Instant,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("ledger time is not known")]
pub struct NoTime;

impl LedgerClock {
    /// Every answer of the evidence service says what time it is there.
    pub fn heard(&self, ledger_time: Timestamp) {
        self.heard_at(ledger_time, Instant::now());
    }

    pub fn now(&self) -> Result<Timestamp, NoTime> {
        self.at(Instant::now())
    }

    fn heard_at(&self, ledger_time: Timestamp, heard_at: Instant) {
        self.0.store(Some(Arc::new(Fix { ledger_time, heard_at })));
    }

    fn at(&self, now: Instant) -> Result<Timestamp, NoTime> {
        let fix = self.0.load();
        let fix = fix.as_ref().ok_or(NoTime)?;
        let age = now.saturating_duration_since(fix.heard_at);
        if age >= FRESH {
            return Err(NoTime);
        }
        let millis = i64::try_from(age.as_millis()).expect("less than a minute");
        Ok(fix.ledger_time.plus_millis(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard() -> Timestamp {
        Timestamp::parse("2026-11-30T11:20:00.123Z").expect("a time")
    }

    #[test]
    fn ledger_time_is_unknown_a_minute_after_it_was_heard() {
        let (clock, start) = (LedgerClock::default(), Instant::now());
        assert_eq!(clock.at(start), Err(NoTime));

        clock.heard_at(heard(), start);

        let later = start + Duration::from_secs(59);
        assert_eq!(clock.at(later), Ok(heard().plus_millis(59_000)));
        assert_eq!(clock.at(later + Duration::from_secs(1)), Err(NoTime));
    }
}
