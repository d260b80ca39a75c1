//! Days and when they are due. Pure.

use counterfoil_core::statement::RetentionDays;
use counterfoil_core::time::Timestamp;
use std::fmt;
use std::str::FromStr;

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// A whole UTC day: an epoch.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Day(i64);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not a UTC day such as 2026-11-30")]
pub struct DayError(String);

impl Day {
    pub(crate) fn of(at: Timestamp) -> Self {
        Self(at.millis().div_euclid(DAY_MILLIS))
    }

    /// The first millisecond of it.
    pub(crate) fn start(self) -> Timestamp {
        // INVARIANT: a day comes from a time, and a time's day starts at a time.
        Timestamp::from_millis(self.0 * DAY_MILLIS).expect("the day of a time starts within range")
    }

    /// The first millisecond after it.
    pub(crate) fn end(self) -> Timestamp {
        self.start().plus_millis(DAY_MILLIS)
    }
}

impl FromStr for Day {
    type Err = DayError;

    fn from_str(text: &str) -> Result<Self, DayError> {
        let at = Timestamp::parse(&format!("{text}T00:00:00.000Z")).map_err(|_| DayError(text.to_owned()))?;
        Ok(Self::of(at))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.start().epoch())
    }
}

/// Entries before this are due: the newest day that is kept starts there. A body lives for its own day and then for
/// `days` whole ones.
pub(super) fn due_before(now: Timestamp, days: RetentionDays) -> Timestamp {
    let kept_from = now.millis().div_euclid(DAY_MILLIS) - i64::from(days.days());
    Timestamp::from_millis(kept_from.max(0) * DAY_MILLIS).expect("a day between 1970 and now")
}

/// Longest that anything may still be due of a provider: thirty days for its statement, a day for the call, one over.
/// After that a body is erased whatever waits for it.
pub(super) fn settled_before(now: Timestamp) -> Timestamp {
    now.plus_millis(-32 * DAY_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// T5, P6: whole UTC days, never a part of one.
    #[test]
    fn a_day_is_due_when_its_last_moment_is_old_enough() {
        let days = RetentionDays::new(1).unwrap();
        for now in ["2026-11-30T00:00:00.000Z", "2026-11-30T23:59:59.999Z"] {
            assert_eq!(due_before(at(now), days), at("2026-11-29T00:00:00.000Z"), "{now}");
        }
        assert_eq!(
            due_before(at("2026-11-30T12:00:00.000Z"), RetentionDays::DEFAULT),
            at("2026-09-01T00:00:00.000Z")
        );
        assert_eq!(due_before(at("1970-02-01T00:00:00.000Z"), RetentionDays::DEFAULT).millis(), 0);
    }

    #[test]
    fn a_day_reads_as_it_is_written() {
        let day: Day = "2026-11-30".parse().unwrap();
        assert_eq!(day.to_string(), "2026-11-30");
        assert_eq!(Day::of(at("2026-11-30T23:59:59.999Z")), day);
        assert_eq!(day.end(), at("2026-12-01T00:00:00.000Z"));
        for bad in ["2026-11-31", "2026-1-1", "today", "", "2026-11-30T00"] {
            assert!(bad.parse::<Day>().is_err(), "{bad}");
        }
    }
}
