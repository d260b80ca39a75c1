//! Latencies.

use std::time::Duration;

/// Sorted, in microseconds.
pub struct Latencies(Vec<u64>);

impl Latencies {
    pub fn of(mut micros: Vec<u64>) -> Self {
        micros.sort_unstable();
        Self(micros)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest latency that `percent` of the calls did not exceed, in milliseconds.
    pub fn percentile(&self, percent: u32) -> f64 {
        let rank = (self.0.len() * percent as usize).div_ceil(100).saturating_sub(1);
        let micros = self.0.get(rank).copied().unwrap_or_default();
        Duration::from_micros(micros).as_secs_f64() * 1000.0
    }
}

pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
