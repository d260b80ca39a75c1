//! Everything that a page is made of, read in one moment of the record.

use std::collections::HashMap;
use std::sync::Arc;

use counterfoil_core::id::ActionId;
use counterfoil_core::statement::RetentionDays;
use counterfoil_core::time::Timestamp;
use futures_util::future::try_join;
use futures_util::try_join;

use super::door::Visit;
use super::projection::{self, PublicEntry, PublishedText, Seen};
use super::reach::{InForce, Reach};
use super::routes::page_part;
use super::store::{self, AuditRow, CallRow, CallTallyRow, FindingRow, HeadRow, TallyRow, Which};
use super::totals::{Closed, Totals};
use super::view::{GatheredChange, by_action};
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::definitions::{self, Change};
use crate::http::ApiError;
use crate::ledger::{Ledger, Project};
use crate::settings::{self, Visibility};

/// Which part of each list is asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Two days whose rules are compared.
    pub(super) days: Option<(Day, Day)>,
    pub(super) entries_below: u64,
    pub(super) calls_below: u64,
    pub(super) findings_below: u64,
}

/// A day of the calendar, and its last millisecond.
#[derive(Clone, Debug)]
pub(super) struct Day {
    pub(super) text: String,
    pub(super) end: Timestamp,
}

/// What the public listener remembers of every project.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    totals: Totals,
    reach: Reach,
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
    pub(super) decisions: Vec<Seen>,
    /// What was said of the actions of those decisions.
    pub(super) about: HashMap<ActionId, Vec<Seen>>,
    pub(super) keys: Vec<Seen>,
    pub(super) coverage: Option<Seen>,
    pub(super) probes: Vec<Seen>,
    /// The newest answers of people.
    pub(super) answers: Vec<Seen>,
    /// Grants that stand, counted up to [`MOST_COUNTED`].
    pub(super) grants: u64,
    pub(super) in_force: InForce,
    pub(super) versions: Vec<PublishedText>,
    pub(super) change: Option<GatheredChange>,
    pub(super) retention_days: RetentionDays,
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
    pub(super) unsorted: Vec<Seen>,
    /// The entries of all of them, of what cleared them, and of notes on them.
    pub(super) bodies: Vec<Seen>,
}

impl FoundFindings {
    /// Whether an entry is a finding that the page shows with its call.
    fn is_open(&self, row: &Seen) -> bool {
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
const VERSIONS: i64 = 20;
/// The newest of each provider is shown; gateways probe each once a day.
const PROBES: i64 = 400;
/// Of how many the page says how the people were known.
const ANSWERS: i64 = 50;

pub(super) async fn gather(
    ledger: &Ledger,
    memory: &Memory,
    visit: &Visit,
    asked: Asked,
) -> Result<Gathered, ApiError> {
    let project = ledger.project(visit.project).await?;
    let mut client = ledger.database().reader().await?;
    // One moment, so that sums of different tables can come out.
    let tx = client.begin_snapshot(visit.project).await?;
    let (head, closed, audit) = try_join!(store::head(&tx), memory.totals.of(&tx), store::audit(&tx))?;
    let (tallies, call_tallies) = try_join(store::tallies(&tx), store::call_tallies(&tx)).await?;
    let (coverage, probes) = try_join(store::coverage(&tx), store::probes(&tx, PROBES)).await?;
    let (keys, retention_days) =
        try_join(store::keys(&tx, KEYS), settings::store::retention_days(&tx)).await?;
    let now = clock::now();
    let grants = store::standing_grants(&tx, now, MOST_COUNTED.cast_signed());
    let (answers, grants) = try_join(store::answers(&tx, ANSWERS), grants).await?;
    let in_force = memory.reach.at(ledger, &tx, now).await?;
    let versions = store::rules(&tx, now, VERSIONS).await?.iter().filter_map(projection::published).collect();
    let change = match asked.days {
        Some(days) => Some(changed(ledger, memory, &tx, days).await?),
        None => None,
    };
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
        now,
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
        probes,
        answers,
        grants,
        in_force,
        versions,
        change,
        retention_days,
        entries: entries.iter().map(PublicEntry::of).collect(),
        older,
    })
}

/// What was in force at the ends of two days.
async fn changed(
    ledger: &Ledger,
    memory: &Memory,
    tx: &ProjectTx<'_>,
    (from, to): (Day, Day),
) -> Result<GatheredChange, ApiError> {
    let before = memory.reach.at(ledger, tx, from.end).await?;
    let after = memory.reach.at(ledger, tx, to.end).await?;
    Ok(GatheredChange { from: from.text, to: to.text, before, after })
}

impl Day {
    /// `2026-11-30`, in UTC.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let end = Timestamp::parse(&format!("{text}T23:59:59.999Z")).ok()?;
        Some(Self { text: text.to_owned(), end })
    }
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
