//! Absent bodies, and the tombstones that must bear them out.
//!
//! A tombstone stands after what it covers, so its range is claimed beforehand: by a row of a table, by a line of a
//! package. The claim lets a body be absent; the `tombstone/v1` that comes later must be of the day of each of them.

use std::collections::{BTreeMap, BTreeSet};

/// Claimed: the tombstone at `seq` covers `first` to `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) seq: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Asked by growing seq, so that a record of a million erased bodies costs one walk over the claims.
#[derive(Debug)]
pub(crate) struct Graves {
    /// By `first`, the next one last.
    ahead: Vec<Claim>,
    open: Vec<Claim>,
    /// Days of the absent bodies that each claimed tombstone has to cover.
    days: BTreeMap<u64, BTreeSet<String>>,
}

impl Graves {
    pub(crate) fn claimed(claims: impl Iterator<Item = Claim>) -> Self {
        let mut ahead: Vec<Claim> = claims.filter(|claim| claim.seq > claim.last).collect();
        ahead.sort_unstable_by_key(|claim| std::cmp::Reverse(claim.first));
        Self { ahead, open: Vec::new(), days: BTreeMap::new() }
    }

    /// Whether a tombstone is claimed for the absent body of the entry `seq`, which is of that day.
    pub(crate) fn cover(&mut self, seq: u64, day: &str) -> bool {
        while let Some(claim) = self.ahead.pop_if(|claim| claim.first <= seq) {
            self.open.push(claim);
        }
        self.open.retain(|claim| claim.last >= seq);
        let Some(claim) = self.open.first() else { return false };
        let days = self.days.entry(claim.seq).or_default();
        if !days.contains(day) {
            days.insert(day.to_owned());
        }
        true
    }

    /// The days of what the claim for the tombstone at `seq` excused. It is asked for once.
    pub(crate) fn excused_by(&mut self, seq: u64) -> BTreeSet<String> {
        self.days.remove(&seq).unwrap_or_default()
    }

    /// Claims that excused something and that no tombstone was asked for.
    pub(crate) fn unborne(&self) -> impl Iterator<Item = u64> + '_ {
        self.days.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_covers_what_is_before_it_and_within_its_range() {
        let claims = [(9, 2, 4), (3, 6, 8), (30, 3, 20), (31, 12, 12)];
        let claims = claims.into_iter().map(|(seq, first, last)| Claim { seq, first, last });
        let mut graves = Graves::claimed(claims);

        let covered: Vec<u64> = (0..25).filter(|seq| graves.cover(*seq, "2026-11-30")).collect();

        assert_eq!(covered, (2..=20).collect::<Vec<_>>());
        assert_eq!(graves.unborne().collect::<Vec<_>>(), [9, 30]);
        assert_eq!(graves.excused_by(9).len(), 1);
        assert_eq!(graves.unborne().collect::<Vec<_>>(), [30]);
    }
}
