//! Everything that a page is made of, read in one moment of the record.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use counterfoil_core::id::ActionId;
use counterfoil_core::time::Timestamp;
use futures_util::future::try_join;
use futures_util::try_join;

use super::door::{Visibility, Visit};
use super::projection::{self, PublicEntry};
use super::routes::page_part;
use super::store::{self, AuditRow, CallRow, CallTallyRow, FindingRow, HeadRow, TallyRow, Which};
use super::totals::{Closed, Totals};
use super::view::{Terms, by_action};
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::definitions::{self, Change};
use crate::http::ApiError;
use crate::ledger::store::EntryRow;
use crate::ledger::{Ledger, Project};

/// Which part of each list is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) entries_below: u64,
    pub(super) calls_below: u64,
    pub(super) findings_below: u64,
}

pub(super) struct Gathered {
    pub(super) project: Arc<Project>,
    pub(super) visibility: Visibility,
    pub(super) now: Timestamp,
    /// Why the project takes no entries now, if it takes none.
    pub(super) stopped: Option<String>,
    pub(super) head: HeadRow,
    pub(super) audit: Option<AuditRow>,
    pub(super) closed: Closed,
    pub(super) findings: FoundFindings,
    pub(super) changes: Vec<Change>,
    pub(super) tallies: Vec<TallyRow>,
    pub(super) call_tallies: Vec<CallTallyRow>,
    pub(super) calls: Vec<CallRow>,
    pub(super) older_calls: Option<u64>,
    pub(super) decisions: Vec<EntryRow>,
    /// What was said of the actions of those decisions.
    pub(super) about: HashMap<ActionId, Vec<EntryRow>>,
    pub(super) keys: Vec<EntryRow>,
    pub(super) coverage: Option<EntryRow>,
    pub(super) terms: BTreeMap<String, Terms>,
    pub(super) retention_days: Option<u64>,
    pub(super) entries: Vec<PublicEntry>,
    pub(super) older: Option<u64>,
}

pub(super) struct FoundFindings {
    pub(super) open: Vec<FindingRow>,
    pub(super) open_count: u64,
    pub(super) older: Option<u64>,
    pub(super) cleared: Vec<FindingRow>,
    pub(super) apart: Vec<FindingRow>,
    pub(super) apart_count: u64,
    pub(super) unsorted: Vec<EntryRow>,
    /// The entries of all of them, of what cleared them, and of notes on them.
    pub(super) bodies: Vec<EntryRow>,
}

impl FoundFindings {
    /// Whether an entry is a finding that the page shows with its call.
    fn is_open(&self, row: &EntryRow) -> bool {
        let seq = row.entry.seq;
        self.open.iter().any(|open| open.seq == seq)
            || self.unsorted.iter().any(|other| other.entry.seq == seq)
    }
}

/// Open findings are counted so far; a list of a thousand is read by nobody.
pub(super) const MOST_COUNTED: u64 = 1000;
const FINDINGS: usize = 25;
const CALLS: usize = 25;
/// Tools that changed; one is reviewed again or taken off.
const CHANGES: i64 = 20;
const ENTRIES: usize = 25;
/// Of one action: an honest one has two, and some may be forged.
const ABOUT_EACH: i64 = 6;
/// Keys come and go by hand.
const KEYS: i64 = 500;

pub(super) async fn gather(
    ledger: &Ledger,
    totals: &Totals,
    visit: &Visit,
    asked: Asked,
) -> Result<Gathered, ApiError> {
    let project = ledger.project(visit.project).await?;
    let mut client = ledger.database().reader().await?;
    // One moment, so that sums of different tables can come out.
    let tx = client.begin_snapshot(visit.project).await?;
    let (head, closed, audit) = try_join!(store::head(&tx), totals.of(&tx), store::audit(&tx))?;
    let (tallies, call_tallies) = try_join(store::tallies(&tx), store::call_tallies(&tx)).await?;
    let (keys, coverage, retention_days) =
        try_join!(store::keys(&tx, KEYS), store::coverage(&tx), store::retention_days(&tx))?;
    let findings = findings(&tx, asked.findings_below).await?;
    let changes = definitions::changes(&tx, CHANGES).await?;
    let (calls, older_calls) =
        page_part(store::calls(&tx, asked.calls_below, 1 + CALLS as i64).await?, CALLS, |row| row.seq);
    let decisions = store::bodies(&tx, &calls.iter().map(|row| row.seq).collect::<Vec<_>>()).await?;
    let disputed = findings.bodies.iter().chain(&findings.unsorted).filter(|row| findings.is_open(row));
    let actions: Vec<ActionId> = decisions.iter().chain(disputed).filter_map(projection::action_of).collect();
    let about = by_action(store::about(&tx, &actions, ABOUT_EACH).await?);
    let entries = store::newest(&tx, asked.entries_below, 1 + ENTRIES as i64).await?;
    let (entries, older) = page_part(entries, ENTRIES, |row| row.entry.seq);
    Ok(Gathered {
        project,
        visibility: visit.visibility,
        now: clock::now(),
        stopped: ledger.seen().stopped(visit.project),
        head,
        audit,
        closed,
        findings,
        changes,
        tallies,
        call_tallies,
        calls,
        older_calls,
        decisions,
        about,
        keys,
        coverage,
        terms: BTreeMap::new(),
        retention_days,
        entries: entries.iter().map(PublicEntry::of).collect(),
        older,
    })
}

async fn findings(tx: &ProjectTx<'_>, below: u64) -> Result<FoundFindings, DatabaseError> {
    let most = FINDINGS as i64;
    let (open, cleared, apart, unsorted, (open_count, apart_count)) = try_join!(
        store::findings(tx, Which::Open, below, most + 1),
        store::findings(tx, Which::Cleared, u64::MAX, most),
        store::findings(tx, Which::Apart, u64::MAX, most),
        store::unsorted_findings(tx, most),
        store::open_findings(tx, i64::try_from(MOST_COUNTED).unwrap_or(i64::MAX) + 1),
    )?;
    let (open, older) = page_part(open, FINDINGS, |row| row.seq);
    let all = open.iter().chain(&cleared).chain(&apart);
    let places: Vec<u64> = all.flat_map(|row| [Some(row.seq), row.cleared, row.resolved]).flatten().collect();
    let bodies = store::bodies(tx, &places).await?;
    Ok(FoundFindings { open, open_count, older, cleared, apart, apart_count, unsorted, bodies })
}
