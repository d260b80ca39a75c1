//! One erasure: a tombstone, and the bodies that it covers, in one transaction.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Removal, Tombstone, TombstoneType};
use counterfoil_core::time::Timestamp;

use super::days::Day;
use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Hand, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// Bodies emptied by one commit. The head's lock is held meanwhile: some 50 ms, of which a gateway's call notices one.
pub(crate) const fn most_at_once() -> usize {
    512
}

/// Kinds of which bodies are emptied: what was said of one call or by one party. What an operator published or set
/// decides how other entries are read, holds no more than a pseudonym, and stays.
pub(super) const KINDS: [Kind; 8] = [
    Kind::Decision,
    Kind::Observation,
    Kind::Execution,
    Kind::Catalog,
    Kind::Answer,
    Kind::Hold,
    Kind::Session,
    Kind::Probe,
];

pub(crate) struct Erasure<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
    pub(crate) behalf: String,
    pub(crate) removal: Removal,
    /// The day of all of them.
    pub(crate) day: Day,
    /// Entries whose bodies are there, ascending, at least one. If any was emptied meanwhile nothing is done.
    pub(crate) seqs: Vec<u64>,
    /// Where the sweep stands after this, if it is the sweep.
    pub(crate) upto: Option<u64>,
}

impl Erasure<'_> {
    fn range(&self) -> Result<(u64, u64), AppendError> {
        let range = self.seqs.first().zip(self.seqs.last());
        range.map(|(first, last)| (*first, *last)).ok_or(AppendError::Refused("nothing to erase".to_owned()))
    }
}

impl Job for Erasure<'_> {
    type Outcome = ();

    fn hand(&self) -> Hand {
        Hand::Sweeper
    }

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let (first, last) = self.range()?;
        let tombstone = Tombstone {
            typ: TombstoneType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            behalf: self.behalf.clone(),
            removal: self.removal,
            epoch: self.day.to_string(),
            first,
            last,
        };
        let accepted = vec![Accepted::own(Kind::Tombstone, &Signed::sign(tombstone, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }

    /// The trigger on entries looks for the tombstone, so it must stand before.
    async fn after(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let (first, last) = self.range().map_err(|error| DatabaseError::Refused(error.to_string()))?;
        let seq = sealed.placed[sealed.before].entry.seq;
        store::bury(tx, seq, first, last).await?;
        store::delete_openings(tx, &self.seqs).await?;
        store::empty(tx, &self.seqs).await?;
        match self.upto {
            Some(upto) => store::advance(tx, upto).await,
            None => Ok(()),
        }
    }
}
