//! Days: the first entry of a new day closes the one before.

use super::broken::{Broken, Fault, Place};
use super::keys::signed;
use super::stored::StoredHead;
use crate::entry::{Entry, Kind};
use crate::statement::{Counts, Epoch, Statement};
use crate::tree::Hash;

#[derive(Debug, Default)]
pub(crate) struct Day {
    /// None before the first entry.
    epoch: Option<String>,
    first: u64,
    counts: Counts,
}

impl Day {
    /// `root` is that of all entries before this one.
    pub(crate) fn follow(
        &mut self,
        entry: &Entry,
        statement: Option<&Statement>,
        root: Hash,
    ) -> Result<(), Fault> {
        let opens = self.epoch.as_ref().is_some_and(|open| *open != entry.epoch);
        match (opens, statement) {
            (true, Some(Statement::Epoch(closing))) => self.close(closing, entry, root)?,
            (true, _) => return Err(Fault::DayNotClosed(self.epoch.clone().unwrap_or_default())),
            (false, _) if entry.kind == Kind::Epoch => return Err(Fault::EpochOutOfPlace),
            (false, _) => {}
        }
        self.epoch = Some(entry.epoch.clone());
        *self.counts.entry(entry.kind).or_insert(0) += 1;
        Ok(())
    }

    fn close(&mut self, closing: &Epoch, entry: &Entry, root: Hash) -> Result<(), Fault> {
        let said = (&closing.epoch, closing.first, closing.last, closing.root, &closing.counts);
        let open = self.epoch.clone().unwrap_or_default();
        let follows = (&open, self.first, entry.seq.saturating_sub(1), root, &self.counts);
        if said != follows {
            return Err(Fault::Differs { stored: format!("{said:?}"), follows: format!("{follows:?}") });
        }
        (self.first, self.counts) = (entry.seq, Counts::new());
        Ok(())
    }

    pub(super) fn compare(&self, head: &StoredHead<'_>) -> Result<(), Broken> {
        let at = |column| Place::Head { column };
        at("epoch_first").same(head.epoch_first, signed(self.first))?;
        let counts: Counts =
            serde_json::from_str(head.epoch_counts).map_err(|error| at("epoch_counts").unreadable(error))?;
        if counts == self.counts {
            return Ok(());
        }
        let (stored, follows) = (format!("{counts:?}"), format!("{:?}", self.counts));
        Err(at("epoch_counts").is(Fault::Differs { stored, follows }))
    }
}
