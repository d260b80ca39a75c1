//! Receipts out of the ledger: the statement, its entry, and the proof that was stored with it.

use counterfoil_core::id::ProjectId;
use counterfoil_core::receipt::Receipt;

use super::append::AppendError;
use super::{Ledger, store};

impl Ledger {
    /// The receipt of one entry, without openings. None where no entry stands, or its body was erased.
    pub(crate) async fn receipt(&self, project: ProjectId, seq: u64) -> Result<Option<Vec<u8>>, AppendError> {
        let mut client = self.database.app().await?;
        let tx = client.begin(project).await?;
        let found = store::stored(&tx, &[seq]).await?.remove(&seq);
        let receipt =
            found.and_then(|stored| Receipt::new(&stored.body, stored.entry, &stored.path, &stored.note));
        Ok(receipt.map(|receipt| receipt.bytes()))
    }
}
