//! Which database a session talks to.
//!
//! A failover to a standby that lost the tail, or a restore from a backup, shows first as another system identifier
//! or another timeline. Every new connection is asked for both; when they change, [`Line::number`] grows, and the
//! ledger proves every head it remembers against the new line before its first write there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use deadpool_postgres::{ClientWrapper, HookError};

use super::store;

#[derive(Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<Option<Line>>>);

/// One line of history of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    system: i64,
    timeline: String,
    number: u64,
    /// When the connection that found it was made: an older one may still talk to another line.
    since: Instant,
}

impl Line {
    /// Counts changes seen by this process, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    #[cfg(test)]
    pub(crate) fn numbered(number: u64) -> Self {
        Self { system: 1, timeline: "00000001".to_owned(), number, since: Instant::now() }
    }
}

impl Sessions {
    /// The line that the newest connection found.
    pub(crate) fn line(&self) -> Option<Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a connection made then talks to the newest line.
    pub(super) fn is_current(&self, created: Instant) -> bool {
        self.line().is_none_or(|line| created >= line.since)
    }

    pub(super) async fn greet(&self, client: &mut ClientWrapper, created: Instant) -> Result<(), HookError> {
        let row = client.query_one(store::IDENTITY.text(), &[]).await.map_err(HookError::Backend)?;
        let system: i64 = row.try_get(0).map_err(HookError::Backend)?;
        let timeline: String = row.try_get(1).map_err(HookError::Backend)?;
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = line.as_ref().is_some_and(|line| line.system == system && line.timeline == timeline);
        if !known {
            let number = line.as_ref().map_or(1, |line| line.number + 1);
            tracing::info!(system, timeline, number, "database line");
            *line = Some(Line { system, timeline, number, since: created });
        }
        Ok(())
    }
}
