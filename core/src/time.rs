//! Times: UTC, milliseconds, written `2026-11-30T11:20:00.123Z` (RFC 3339 with exactly three decimals and `Z`).
//!
//! Not promised: that a time is true. Every time in a statement is what its signer's clock said.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Milliseconds since 1970-01-01T00:00:00Z, between the years 1970 and 9999.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(i64);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not a time like 2026-11-30T11:20:00.123Z")]
pub struct TimestampError(String);

/// 9999-12-31T23:59:59.999Z
const LAST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// Fails outside the years 1970 to 9999.
    pub fn from_millis(millis: i64) -> Result<Self, TimestampError> {
        match millis {
            0..=LAST => Ok(Self(millis)),
            _ => Err(TimestampError(millis.to_string())),
        }
    }

    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let refuse = || TimestampError(text.to_owned());
        let format =
            format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        // The length check keeps out years with a sign or more than four digits.
        if text.len() != 24 {
            return Err(refuse());
        }
        let parsed = PrimitiveDateTime::parse(text, format).map_err(|_| refuse())?;
        let nanos = parsed.assume_utc().unix_timestamp_nanos();
        Self::from_millis(i64::try_from(nanos / 1_000_000).map_err(|_| refuse())?).map_err(|_| refuse())
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    /// The time `millis` later (earlier if negative), held within the range of the type.
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis).clamp(0, LAST))
    }

    /// The UTC day, `2026-11-30`.
    pub fn epoch(self) -> String {
        self.to_string()[..10].to_owned()
    }

    fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .expect("the constructor keeps years within 1970 to 9999")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.date_time();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second(),
            t.millisecond()
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_back_as_written() {
        for text in [
            "2026-11-30T11:20:00.123Z",
            "1970-01-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999Z",
            "2028-02-29T00:00:00.001Z",
        ] {
            let time = Timestamp::parse(text).expect("good time");
            assert_eq!(time.to_string(), text);
            assert_eq!(Timestamp::from_millis(time.millis()), Ok(time));
        }
        let time = Timestamp::parse("2026-11-30T11:20:00.123Z").expect("good time");
        assert_eq!(time.epoch(), "2026-11-30");
    }

    #[test]
    fn other_spellings_of_a_time_are_refused() {
        for text in [
            "2026-11-30T11:20:00Z",
            "2026-11-30T11:20:00.12Z",
            "2026-11-30T11:20:00.1234Z",
            "2026-11-30T11:20:00.123+00:00",
            "2026-11-30 11:20:00.123Z",
            "2026-11-31T11:20:00.123Z",
            "2026-02-29T11:20:00.123Z",
            "2026-11-30T24:00:00.000Z",
            "2026-11-30t11:20:00.123z",
            "",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }
}
