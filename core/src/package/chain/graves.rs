//! Absent bodies of a package: the file `tombstones` says beforehand which tombstones there will be.

use crate::audit::graves::{self, Claim};
use crate::entry::Entry;
use crate::package::items::TombstoneClaim;
use crate::statement::Tombstone;
use std::collections::BTreeMap;

pub(super) struct Graves {
    ranges: BTreeMap<u64, (u64, u64)>,
    graves: graves::Graves,
}

impl Graves {
    pub(super) fn new(claims: &[TombstoneClaim]) -> Self {
        let claimed =
            claims.iter().map(|claim| Claim { seq: claim.seq, first: claim.first, last: claim.last });
        Self {
            ranges: claims.iter().map(|claim| (claim.seq, (claim.first, claim.last))).collect(),
            graves: graves::Graves::claimed(claimed),
        }
    }

    /// Whether a tombstone is claimed for the absent body of this entry.
    pub(super) fn covers(&mut self, entry: &Entry) -> bool {
        self.graves.cover(entry.seq, &entry.epoch)
    }

    /// A tombstone as it stands in the record, against the claim and the days of what it covers.
    pub(super) fn bears_out(&mut self, said: &Tombstone, seq: u64) -> Result<(), String> {
        let days = self.graves.excused_by(seq);
        let Some(claimed) = self.ranges.get(&seq) else { return Ok(()) };
        if *claimed == (said.first, said.last) && days.iter().all(|day| *day == said.epoch) {
            return Ok(());
        }
        let (first, last, day) = (said.first, said.last, &said.epoch);
        Err(format!("tombstones: entry {seq} covers {first} to {last} of {day}, and nothing else"))
    }

    /// Claims that excused something and that no entry bore out.
    pub(super) fn unborne(&self) -> impl Iterator<Item = String> + '_ {
        self.graves.unborne().map(|seq| format!("tombstones: entry {seq} is no tombstone of this package"))
    }
}
