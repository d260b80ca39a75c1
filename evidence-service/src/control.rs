//! What decides: published registry and rules, kills, windows, and the snapshot that gateways fetch and follow.
//!
//! Promised: whatever changes what decides is an entry that carries the new control, floor and gen; a narrowing
//! moves the floor, so that decisions judged before it are refused as stale by the record transaction.
//! Not promised: that a gateway's snapshot is fresh. Nothing rests on it: the record transaction judges again.

pub(crate) mod acts;
pub(crate) mod kill;
pub(crate) mod publish;
pub(crate) mod resume;
pub(crate) mod routes;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod windows;

use counterfoil_core::id::looks_like_an_address;

use crate::ledger::AppendError;

// Free reasons are public: at most 280 characters, and no address.
const MAX_REASON: usize = 280;

/// A text that becomes public in an entry.
pub(crate) fn public_text(text: &str) -> Result<String, AppendError> {
    let fits = !text.is_empty() && text.chars().count() <= MAX_REASON && !text.chars().any(char::is_control);
    if fits && !looks_like_an_address(text) {
        return Ok(text.to_owned());
    }
    Err(AppendError::Refused(format!(
        "`{text}` is public, so it has 1 to {MAX_REASON} printable characters and no address"
    )))
}
