//! What every listener has in common: whose Host and Origin it answers, how much it reads, how errors look.
//!
//! Promised: a foreign Host or Origin is refused before anything else is looked at (T11); bodies and times are
//! bounded (T8); one table turns errors into statuses, and inner causes go to the log, never into the answer.

mod body;
mod error;
mod guard;
mod limit;

pub(crate) use body::{whole, whole_within};
pub(crate) use error::{ApiError, bearer, demand_json};
pub(crate) use guard::{Allowed, refuse_foreign};
pub(crate) use limit::{Limiter, limit_by_credential, limit_by_peer};

/// Largest request body: a batch of statements with their openings.
pub(crate) const MAX_BODY: usize = 4 * 1024 * 1024;
