//! The latest calls: what was decided, what the gateway saw, what the provider signed, and whether that agrees.

use std::collections::HashMap;

use counterfoil_core::id::ActionId;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::gather::Gathered;
use super::super::projection::{self, Decided, Executed, Seen};
use super::super::store::CallRow;
use super::words;

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Calls {
    /// Newest first.
    pub(in crate::public) newest: Vec<Call>,
    /// The seq that the next part of the list lies below.
    pub(in crate::public) older: Option<u64>,
}

/// What three parties say about one call.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::public) struct Three {
    /// Null where the decision's body was erased, or there is none.
    pub(in crate::public) decided: Option<Decided>,
    pub(in crate::public) observed: Option<String>,
    /// The first statements that name the action; a page of its own lists all.
    pub(in crate::public) executed: Vec<Executed>,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Call {
    pub(in crate::public) seq: u64,
    #[serde(flatten)]
    pub(in crate::public) said: Three,
    pub(in crate::public) account: Option<String>,
    pub(in crate::public) status: Option<String>,
    pub(in crate::public) words: &'static str,
    /// When a provider's statement is due.
    pub(in crate::public) due: Option<Timestamp>,
}

impl Calls {
    pub(super) fn of(found: &Gathered) -> Self {
        let decisions: HashMap<u64, &Seen> = found.decisions.iter().map(|row| (row.entry.seq, row)).collect();
        let newest = found.calls.iter().map(|row| {
            let decided = decisions.get(&row.seq).and_then(|row| projection::decided(row));
            let about = decided.as_ref().and_then(|decided| found.about.get(&decided.action));
            Call::of(row, decided, about.map_or(&[], Vec::as_slice))
        });
        Self { newest: newest.collect(), older: found.older_calls }
    }
}

impl Call {
    pub(in crate::public) fn of(row: &CallRow, decided: Option<Decided>, about: &[Seen]) -> Self {
        let waiting = row.status.as_deref() == Some("waiting");
        Self {
            seq: row.seq,
            said: Three { decided, ..Three::of(about) },
            account: row.account.clone(),
            words: words::status(row.status.as_deref()),
            status: row.status.clone(),
            due: row.again_after.filter(|_| waiting),
        }
    }
}

impl Three {
    /// The newest decision, the first observation, and the executions, out of rows about one action.
    pub(in crate::public) fn of(about: &[Seen]) -> Self {
        Self {
            decided: about.iter().filter_map(projection::decided).next_back(),
            observed: about.iter().find_map(projection::observed),
            executed: about.iter().filter_map(projection::executed).collect(),
        }
    }
}

/// Rows by the action that they are about.
pub(in crate::public) fn by_action(rows: Vec<Seen>) -> HashMap<ActionId, Vec<Seen>> {
    let mut found: HashMap<ActionId, Vec<Seen>> = HashMap::new();
    for row in rows {
        if let Some(action) = projection::action_of(&row) {
            found.entry(action).or_default().push(row);
        }
    }
    found
}
