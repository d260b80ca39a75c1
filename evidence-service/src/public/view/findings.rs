//! Findings: open ones first, then what was cleared; what is about forged or foreign statements apart, and bounded.

use std::collections::HashMap;

use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::gather::{Gathered, MOST_COUNTED};
use super::super::projection::{self, PublicFinding, Seen};
use super::super::store::FindingRow;
use super::{Three, words};

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Findings {
    /// Ever, as signed days and the head count them.
    pub(in crate::public) ever: u64,
    pub(in crate::public) open: Listed,
    pub(in crate::public) cleared: Vec<Standing>,
    /// About statements whose signature does not hold, or that are about nothing of this project.
    pub(in crate::public) apart: Listed,
}

/// The newest of a list, and how long it is.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Listed {
    pub(in crate::public) count: u64,
    /// There are more than were counted.
    pub(in crate::public) more_than_counted: bool,
    pub(in crate::public) newest: Vec<Standing>,
    /// The seq that the next part of the list lies below.
    pub(in crate::public) older: Option<u64>,
}

/// A finding and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Standing {
    #[serde(flatten)]
    pub(in crate::public) finding: PublicFinding,
    pub(in crate::public) meaning: &'static str,
    /// Of an open finding: what the three parties say of the call.
    pub(in crate::public) call: Option<Three>,
    /// The entry that brought what was missing.
    pub(in crate::public) cleared: Option<Closing>,
    /// The newest note of a person. It closes nothing.
    pub(in crate::public) note: Option<Closing>,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Closing {
    pub(in crate::public) seq: u64,
    pub(in crate::public) at: Timestamp,
    pub(in crate::public) text: Option<String>,
}

impl Findings {
    pub(super) fn of(found: &Gathered, ever: u64) -> Self {
        let rows = &found.findings;
        let bodies: HashMap<u64, &Seen> = rows.bodies.iter().map(|row| (row.entry.seq, row)).collect();
        let all =
            |of: &[FindingRow]| of.iter().filter_map(|row| Standing::of(row, &bodies)).collect::<Vec<_>>();
        let listed = |of: &[FindingRow], count: u64, older: Option<u64>| Listed {
            count,
            more_than_counted: count > MOST_COUNTED,
            newest: all(of),
            older,
        };
        let mut open = listed(&rows.open, rows.open_count, rows.older);
        // Nobody has sorted these yet: until then they are open.
        let unsorted = rows.unsorted.iter().filter_map(projection::finding).map(Standing::open);
        open.newest.splice(0..0, unsorted);
        open.count += rows.unsorted.len() as u64;
        for standing in &mut open.newest {
            let about = standing.finding.action.and_then(|action| found.about.get(&action));
            standing.call = about.map(|rows| Three::of(rows));
        }
        Self { ever, open, cleared: all(&rows.cleared), apart: listed(&rows.apart, rows.apart_count, None) }
    }
}

impl Standing {
    /// None if the finding's body is not there; it cannot be erased, so the audit will say where.
    pub(in crate::public) fn of(row: &FindingRow, bodies: &HashMap<u64, &Seen>) -> Option<Self> {
        let finding = projection::finding(bodies.get(&row.seq)?)?;
        let closing = |seq: Option<u64>| {
            let row = bodies.get(&seq?)?;
            Some(Closing { seq: row.entry.seq, at: row.entry.at, text: projection::note(row) })
        };
        let standing =
            Self { cleared: closing(row.cleared), note: closing(row.resolved), ..Self::open(finding) };
        Some(standing)
    }

    fn open(finding: PublicFinding) -> Self {
        Self { meaning: words::meaning(finding.code), finding, call: None, cleared: None, note: None }
    }
}
