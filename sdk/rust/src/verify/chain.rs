//! Receipts whose entries follow each other.

use super::{KeySet, Refused, Verified, verify_receipt};
use counterfoil_core::entry::Entry;

/// Receipts of entries that follow each other, in their order: each verifies, and each names the hash of the one before.
pub fn verify_chain<R: AsRef<[u8]>>(receipts: &[R], pinned: &KeySet) -> Result<Vec<Verified>, Refused> {
    let mut chain: Vec<Verified> = Vec::with_capacity(receipts.len());
    for receipt in receipts {
        let verified = verify_receipt(receipt.as_ref(), pinned)?;
        if let Some(before) = chain.last() {
            follows(&verified.entry, &before.entry).map_err(Refused::Chain)?;
        }
        chain.push(verified);
    }
    Ok(chain)
}

fn follows(entry: &Entry, before: &Entry) -> Result<(), String> {
    let place = format!("entry {}", entry.seq);
    if Some(entry.seq) != before.seq.checked_add(1) {
        return Err(format!("{place} stands behind entry {}", before.seq));
    }
    let hash = before.hash();
    if entry.prev != hash {
        return Err(format!(
            "{place}: its prev is `{}`, the hash of entry {} is `{hash}`",
            entry.prev, before.seq
        ));
    }
    if entry.project != before.project {
        return Err(format!("{place} is of another project"));
    }
    if entry.at < before.at {
        return Err(format!("{place}: its time is before that of the entry before"));
    }
    Ok(())
}
