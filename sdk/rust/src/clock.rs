//! Time is an argument everywhere here; this is the one place that reads a clock.

use counterfoil_core::time::Timestamp;
use std::sync::Arc;
use std::time::SystemTime;

/// Where a guard, a client or a store gets the time from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// This machine's clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(now)
}

/// Now, as this machine's clock has it.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that the rest takes as an argument")]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(millis).expect("this machine's clock stands before the year 10000")
}
