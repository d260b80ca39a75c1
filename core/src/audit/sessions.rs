//! What keys did, counted again from the decisions (G13).
//!
//! A session whose time may hold decisions without a body cannot be counted again, and is left alone. So is one that no row
//! tells of: it would begin anew, and then its row tells of a later beginning than the entries.

use super::broken::{Broken, Fault, Place};
use crate::entry::{Entry, Kind};
use crate::id::KeyId;
use crate::session::{QUIET_MILLIS, Running, key_of};
use crate::statement::Statement;
use crate::time::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    running: BTreeMap<KeyId, Running>,
    /// Entry time of the newest decision whose body is gone.
    erased_at: Option<Timestamp>,
}

impl Sessions {
    pub(super) fn follow(&mut self, statement: Option<&Statement>, entry: &Entry) {
        match statement {
            None if entry.kind == Kind::Decision => self.erased_at = Some(entry.at),
            Some(Statement::Decision(decision)) => {
                if let Some(key) = key_of(decision) {
                    let counted = Running::after(self.running.get(&key), decision, (entry.seq, entry.at));
                    self.running.insert(key, counted);
                }
            }
            Some(_) | None => {}
        }
    }

    /// A row of `sessions`.
    pub(super) fn compare(&self, key: KeyId, running: &str) -> Result<(), Broken> {
        let place = || Place::Session { key };
        let stored: Running = serde_json::from_str(running).map_err(|error| place().unreadable(error))?;
        match self.running.get(&key) {
            Some(counted) if self.may_lack_decisions(counted) => Ok(()),
            Some(counted) if *counted == stored => Ok(()),
            Some(counted) => {
                let text = |running: &Running| serde_json::to_string(running).unwrap_or_default();
                Err(place().is(Fault::Differs { stored: text(&stored), follows: text(counted) }))
            }
            None if self.erased_at.is_some() => Ok(()),
            None => Err(place().is(Fault::Surplus)),
        }
    }

    /// What was erased before a session can have been part of it only if no quiet half hour lies between.
    fn may_lack_decisions(&self, counted: &Running) -> bool {
        let since = counted.summary.since.unwrap_or(counted.last_at);
        self.erased_at.is_some_and(|erased| since.millis() - erased.millis() <= QUIET_MILLIS)
    }
}
