//! Stage 2: may it?
//!
//! Promised: the verdict is the rules' alone, also for calls that were refused before any rule was asked; it is signed
//! before anybody hears of it. Without ledger time nothing is judged.

use super::{Classified, Unrecorded};
use crate::decision::{Decided, decide};
use crate::house::House;
use std::time::Instant;

pub struct Judged {
    pub call: Classified,
    pub decided: Decided,
    /// From here fifteen seconds are left, by our own clock.
    pub judged_at: Instant,
}

pub fn evaluate(call: Classified, house: &House) -> Result<Judged, Unrecorded> {
    let judged_at = Instant::now();
    let now = call.received.caller.project.clock.now();
    let now = now.map_err(|_| Unrecorded::Failed)?;
    let decided = decide(&call, now, &house.keys.decision);
    Ok(Judged { call, decided, judged_at })
}
