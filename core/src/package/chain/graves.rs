//! Absent bodies, and the tombstones that must bear them out.
//!
//! A tombstone stands after what it covers, so the file `tombstones` says beforehand which there will be.

use crate::entry::Entry;
use crate::package::items::TombstoneClaim;
use crate::statement::Tombstone;
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Graves<'a> {
    claims: &'a [TombstoneClaim],
    /// Days of the absent bodies that each claimed tombstone has to cover.
    days: BTreeMap<u64, BTreeSet<String>>,
}

impl<'a> Graves<'a> {
    pub(super) fn new(claims: &'a [TombstoneClaim]) -> Self {
        Self { claims, days: BTreeMap::new() }
    }

    /// Whether a tombstone is claimed for the absent body of this entry.
    pub(super) fn covers(&mut self, entry: &Entry) -> bool {
        let covers = |claim: &&TombstoneClaim| {
            (claim.first..=claim.last).contains(&entry.seq) && claim.seq > entry.seq
        };
        let Some(claim) = self.claims.iter().find(covers) else { return false };
        self.days.entry(claim.seq).or_default().insert(entry.epoch.clone());
        true
    }

    /// A tombstone as it stands in the record, against the claim and the days of what it covers.
    pub(super) fn bears_out(&mut self, said: &Tombstone, seq: u64) -> Result<(), String> {
        let days = self.days.remove(&seq).unwrap_or_default();
        let Some(claim) = self.claims.iter().find(|claim| claim.seq == seq) else { return Ok(()) };
        let same_range = (claim.first, claim.last) == (said.first, said.last);
        if same_range && days.iter().all(|day| *day == said.epoch) {
            return Ok(());
        }
        let (first, last, day) = (said.first, said.last, &said.epoch);
        Err(format!("tombstones: entry {seq} covers {first} to {last} of {day}, and nothing else"))
    }

    /// Claims that excused something and that no entry bore out.
    pub(super) fn unborne(&self) -> impl Iterator<Item = String> + '_ {
        self.days.keys().map(|seq| format!("tombstones: entry {seq} is no tombstone of this package"))
    }
}
