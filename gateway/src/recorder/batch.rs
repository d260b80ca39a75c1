//! What goes into one request, and what comes out of its answer.

use super::Waiting;
use counterfoil_core::record::{MAX_ITEMS, RawItem};
use std::collections::VecDeque;
use std::time::Duration;

/// A statement may have 64 KiB and an opening more. Half of what the evidence service reads of one request.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// A decision ends 15 s after it was judged; what waited this long would be refused as skewed or come back too late.
const TOO_OLD: Duration = Duration::from_secs(12);

#[derive(Default)]
pub struct Batch {
    pub decisions: Vec<Waiting>,
    pub trailing: Vec<RawItem>,
    bytes: usize,
}

impl Batch {
    /// Takes decisions first, then what trails, as far as there is room.
    pub fn gather(
        decisions: &mut VecDeque<Waiting>,
        trailing: &mut VecDeque<RawItem>,
    ) -> (Self, Vec<Waiting>) {
        let mut batch = Self::default();
        let mut late = Vec::new();
        while let Some(waiting) = decisions.front() {
            if waiting.judged_at.elapsed() > TOO_OLD {
                late.extend(decisions.pop_front());
                continue;
            }
            if !batch.has_room_for(&waiting.item) {
                break;
            }
            batch.bytes += waiting.item.get().len();
            batch.decisions.extend(decisions.pop_front());
        }
        while let Some(item) = trailing.front() {
            if !batch.has_room_for(item) {
                break;
            }
            batch.bytes += item.get().len();
            batch.trailing.extend(trailing.pop_front());
        }
        (batch, late)
    }

    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.trailing.is_empty()
    }

    pub fn items(&self) -> Vec<RawItem> {
        self.decisions
            .iter()
            .map(|waiting| waiting.item.clone())
            .chain(self.trailing.iter().cloned())
            .collect()
    }

    /// The first item always fits, or it would wait for ever.
    fn has_room_for(&self, item: &RawItem) -> bool {
        let count = self.decisions.len() + self.trailing.len();
        count == 0 || (count < MAX_ITEMS && self.bytes + item.get().len() <= MOST_BYTES)
    }
}
