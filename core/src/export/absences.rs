//! Bodies that did not come, until their tombstone does.

use crate::statement::Tombstone;
use std::collections::BTreeMap;

/// Runs of seqs whose bodies are absent, each of one day, by their first.
#[derive(Debug, Default)]
pub(super) struct Absences(BTreeMap<u64, Run>);

#[derive(Clone, Debug)]
struct Run {
    last: u64,
    day: String,
}

impl Absences {
    /// By growing seq.
    pub(super) fn note(&mut self, seq: u64, day: &str) {
        if let Some(mut run) = self.0.last_entry()
            && run.get().last + 1 == seq
            && run.get().day == day
        {
            run.get_mut().last = seq;
            return;
        }
        self.0.insert(seq, Run { last: seq, day: day.to_owned() });
    }

    /// A tombstone explains what it covers, if it is of the same day.
    pub(super) fn explain(&mut self, said: &Tombstone) {
        let touched: Vec<(u64, Run)> = self
            .0
            .range(..=said.last)
            .rev()
            .take_while(|(_, run)| run.last >= said.first)
            .filter(|(_, run)| run.day == said.epoch)
            .map(|(first, run)| (*first, run.clone()))
            .collect();
        for (first, run) in touched {
            self.0.remove(&first);
            if first < said.first {
                self.0.insert(first, Run { last: said.first - 1, day: run.day.clone() });
            }
            if run.last > said.last {
                self.0.insert(said.last + 1, run);
            }
        }
    }

    /// The first body that is absent and that no tombstone has explained.
    pub(super) fn first(&self) -> Option<u64> {
        self.0.first_key_value().map(|(first, _)| *first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::statements::tombstone;
    use crate::time::Timestamp;

    #[test]
    fn a_tombstone_explains_its_range_of_its_day_and_nothing_else() {
        let mut absences = Absences::default();
        for seq in (3..=9).chain([12]) {
            absences.note(seq, "2026-11-30");
        }
        absences.note(13, "2026-12-01");
        let mut bury = |first, last| {
            absences.explain(&tombstone(first, last, Timestamp::from_millis(0).expect("1970")));
            absences.first()
        };

        assert_eq!(bury(5, 6), Some(3));
        assert_eq!(bury(0, 4), Some(7));
        assert_eq!(bury(7, 8), Some(9));
        assert_eq!(bury(0, 20), Some(13), "of another day");
    }
}
