//! The first half of step 3: several statements about one decision.

use super::compare::about;
use super::{Decided, Found, Stated};
use crate::statement::{FindingCode, Outcome};

/// The provider's own statements about one decision, repeats left out.
pub(super) struct Series<'m> {
    distinct: Vec<&'m Stated>,
    word: Option<&'m Stated>,
    given_up: Option<&'m Stated>,
}

impl<'m> Series<'m> {
    /// `good` in the order of their places.
    pub(super) fn of(decided: &Decided, good: Vec<&'m Stated>, findings: &mut Vec<Found>) -> Self {
        let mut series = Self { distinct: Vec::new(), word: None, given_up: None };
        for stated in good {
            // A retry says the same again: the stored acceptance is its answer, and it counts once.
            if series.distinct.iter().any(|earlier| earlier.fingerprint == stated.fingerprint) {
                continue;
            }
            series.distinct.push(stated);
            findings.extend(series.take(stated).map(|code| about(decided, stated, code)));
        }
        series
    }

    fn take(&mut self, stated: &'m Stated) -> Option<FindingCode> {
        let Some(word) = self.word else {
            self.word = Some(stated);
            return None;
        };
        match (word.outcome, stated.outcome) {
            // Given up, and done after all: that is honest.
            (Outcome::Abandoned, Outcome::Executed) => {
                (self.given_up, self.word) = (Some(word), Some(stated));
                None
            }
            (before, now) if before == now => Some(FindingCode::DuplicateExecution),
            _ => Some(FindingCode::ContradictingExecutions),
        }
    }

    pub(super) fn distinct(&self) -> impl Iterator<Item = &'m Stated> + '_ {
        self.distinct.iter().copied()
    }

    /// The provider's word: the first statement, or the EXECUTED that followed an ABANDONED.
    pub(super) fn word(&self) -> Option<&'m Stated> {
        self.word
    }

    /// The ABANDONED that an EXECUTED followed.
    pub(super) fn given_up(&self) -> Option<&'m Stated> {
        self.given_up
    }

    pub(super) fn first(&self) -> Option<&'m Stated> {
        self.distinct.first().copied()
    }
}
