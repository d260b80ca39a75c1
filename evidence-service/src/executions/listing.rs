//! Acceptances again, for whoever lost the answer: in the order of the record, from any place on.

use counterfoil_core::id::ProjectId;
use counterfoil_core::receipt::Receipt;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::accept::holds;
use super::store;
use crate::ledger::store::stored;
use crate::ledger::{AppendError, Ledger};

/// At most this many in one answer; a receipt may have 100 KiB.
pub(super) const MOST_LISTED: usize = 50;

#[derive(Debug, Serialize)]
pub(super) struct Listing {
    acceptances: Vec<Listed>,
    /// What to ask for as `after` next; null when there is nothing more yet.
    next: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Listed {
    seq: u64,
    at: Option<Timestamp>,
    /// Whose key signed it; null where no key that counts did.
    provider: Option<String>,
    signature_valid: Option<bool>,
    /// Null where the body was erased.
    receipt: Option<Receipt>,
}

impl Ledger {
    /// The acceptances after a seq, or from the first on.
    pub(super) async fn acceptances(
        &self,
        project: ProjectId,
        after: Option<u64>,
        most: usize,
    ) -> Result<Listing, AppendError> {
        let most = most.clamp(1, MOST_LISTED);
        let after = after.map_or(-1, |seq| i64::try_from(seq).unwrap_or(i64::MAX));
        let mut client = self.database().app().await?;
        let tx = client.begin(project).await?;
        let places = store::after(&tx, after, i64::try_from(most).unwrap_or(1)).await?;
        let seqs: Vec<u64> = places.iter().map(|(seq, _)| *seq).collect();
        let mut found = stored(&tx, &seqs).await?;
        let next = seqs.last().copied().filter(|_| seqs.len() == most);
        let listed = places.into_iter().map(|(seq, provider)| {
            let stored = found.remove(&seq);
            let at = stored.as_ref().map(|stored| stored.entry.at);
            let signature_valid = stored.as_ref().and_then(|stored| holds(&stored.body));
            let receipt = stored
                .and_then(|stored| Receipt::new(&stored.body, stored.entry, &stored.path, &stored.note));
            Listed { seq, at, provider, signature_valid, receipt }
        });
        Ok(Listing { acceptances: listed.collect(), next })
    }
}
