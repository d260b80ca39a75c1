//! Sums over closed days, remembered: a closed day never changes, so only newer ones are read again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::Counts;

use super::projection::{self, Day};
use super::store;
use crate::database::{DatabaseError, ProjectTx};

/// What closed days of each project sum up to, as far as somebody asked.
#[derive(Clone, Default)]
pub(crate) struct Totals(Arc<Mutex<HashMap<ProjectId, Closed>>>);

/// The closed days of a project.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// Where to look for the next one.
    next: u64,
    pub(super) days: u64,
    /// The first entry that no closed day has.
    pub(super) upto: u64,
    pub(super) counts: Counts,
    /// The newest days, newest first.
    pub(super) newest: VecDeque<Day>,
}

const SHOWN_DAYS: usize = 14;
/// Days of one journey to the database: ten years are four.
const AT_ONCE: i64 = 1000;

impl Totals {
    pub(super) async fn of(&self, tx: &ProjectTx<'_>) -> Result<Closed, DatabaseError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&tx.project()).cloned();
        let mut closed = known.unwrap_or_default();
        loop {
            let rows = store::days(tx, closed.next, AT_ONCE).await?;
            for row in &rows {
                closed.next = row.entry.seq + 1;
                if let Some(day) = projection::day(row) {
                    closed.add(day);
                }
            }
            if (rows.len() as i64) < AT_ONCE {
                break;
            }
        }
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.insert(tx.project(), closed.clone());
        Ok(closed)
    }
}

impl Closed {
    fn add(&mut self, day: Day) {
        self.days += 1;
        self.upto = day.last + 1;
        for (kind, count) in &day.counts {
            *self.counts.entry(*kind).or_insert(0) += count;
        }
        self.newest.push_front(day);
        self.newest.truncate(SHOWN_DAYS);
    }
}
