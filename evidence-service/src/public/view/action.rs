//! Everything about one action.

use std::collections::HashMap;
use std::sync::Arc;

use counterfoil_core::id::ActionId;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::projection::{PublicEntry, Seen};
use super::super::store::FindingRow;
use super::{Named, Standing, Three};
use crate::ledger::Project;
use crate::settings::Visibility;

/// What was read of one action.
pub(in crate::public) struct GatheredAction {
    pub(in crate::public) project: Arc<Project>,
    pub(in crate::public) visibility: Visibility,
    pub(in crate::public) now: Timestamp,
    pub(in crate::public) action: ActionId,
    /// Oldest first; at least one.
    pub(in crate::public) entries: Vec<Seen>,
    pub(in crate::public) later: Option<u64>,
    pub(in crate::public) findings: Vec<FindingRow>,
    /// The entries of those findings, of what cleared them, and of notes on them.
    pub(in crate::public) bodies: Vec<Seen>,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct ActionView {
    typ: &'static str,
    pub(in crate::public) project: Named,
    pub(in crate::public) visibility: Visibility,
    pub(in crate::public) at: Timestamp,
    pub(in crate::public) action: ActionId,
    /// Where it stands, in words.
    pub(in crate::public) standing: String,
    pub(in crate::public) said: Three,
    pub(in crate::public) findings: Vec<Standing>,
    /// Every entry about it, oldest first.
    pub(in crate::public) entries: Vec<PublicEntry>,
    /// The seq from which on the next part of the list is.
    pub(in crate::public) later: Option<u64>,
}

impl ActionView {
    pub(in crate::public) fn of(found: GatheredAction) -> Self {
        let bodies: HashMap<u64, &Seen> = found.bodies.iter().map(|row| (row.entry.seq, row)).collect();
        let findings: Vec<Standing> =
            found.findings.iter().filter_map(|row| Standing::of(row, &bodies)).collect();
        let said = Three::of(&found.entries);
        Self {
            typ: "action/v1",
            project: Named::of(&found.project),
            visibility: found.visibility,
            at: found.now,
            action: found.action,
            standing: standing(&said, &findings),
            said,
            findings,
            entries: found.entries.iter().map(PublicEntry::of).collect(),
            later: found.later,
        }
    }
}

fn standing(said: &Three, findings: &[Standing]) -> String {
    let decided = match &said.decided {
        Some(decided) if decided.cleared => {
            format!("It was decided {} ({}), so it might go out.", decided.verdict, decided.why)
        }
        Some(decided) => format!("It was decided {} ({}), so it was not sent.", decided.verdict, decided.why),
        None => "No decision on it can be read here.".to_owned(),
    };
    let observed = match &said.observed {
        Some(seen) => format!("The gateway saw: {seen}."),
        None => "The gateway has said nothing about what came back.".to_owned(),
    };
    let signed = match said.executed.iter().filter(|said| said.holds).count() {
        0 => "No statement that counts says that a provider ran it.".to_owned(),
        1 => "One statement of a provider about it holds.".to_owned(),
        many => format!("{many} statements of providers about it hold."),
    };
    let open = findings.iter().filter(|finding| finding.cleared.is_none()).count();
    let found = match (findings.len(), open) {
        (0, _) => "Nothing was found against it.".to_owned(),
        (all, 0) => format!("{all} findings about it were cleared."),
        (all, open) => format!("{open} of {all} findings about it are open."),
    };
    [decided, observed, signed, found].join(" ")
}
