//! How many findings forged and foreign statements get: enough to be seen, too few to fill a page.
//!
//! Everything that arrives becomes an entry. Findings about statements that nobody's key signed, and about good ones
//! that name what is not theirs, are written for the first of each key and hour; the rest are counted, not named.
//! The rule is part of the format, so that a verifier knows which findings must be there.

use crate::key::Thumbprint;
use crate::time::Timestamp;
use std::collections::BTreeMap;

pub const FINDINGS_PER_KEY_AND_HOUR: u32 = 20;

const HOUR_MILLIS: i64 = 60 * 60 * 1000;

/// Counts in the order of entries. All unknown keys count as one.
#[derive(Clone, Debug, Default)]
pub struct Cap {
    hour: i64,
    counted: BTreeMap<Option<Thumbprint>, u32>,
}

impl Cap {
    /// A cap that goes on counting in the hour of `at`, from what was counted of it so far.
    pub fn resumed(at: Timestamp, counted: impl IntoIterator<Item = (Option<Thumbprint>, u32)>) -> Self {
        Self { hour: Self::hour(at), counted: counted.into_iter().collect() }
    }

    /// Which hour that is, counted from 1970.
    pub fn hour(at: Timestamp) -> i64 {
        at.millis() / HOUR_MILLIS
    }

    /// Whether the statement that was entered then, signed with that key, still gets a finding of its own.
    pub fn admits(&mut self, key: Option<&Thumbprint>, entered_at: Timestamp) -> bool {
        let hour = Self::hour(entered_at);
        if hour != self.hour {
            self.hour = hour;
            self.counted.clear();
        }
        let count = self.counted.entry(key.cloned()).or_insert(0);
        *count = count.saturating_add(1);
        *count <= FINDINGS_PER_KEY_AND_HOUR
    }
}
