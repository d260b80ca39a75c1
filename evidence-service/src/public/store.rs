//! SQL of public pages, run as the reader role.
//!
//! INVARIANT: no statement here reads a number of rows that grows with the number of entries; a test looks at every
//! plan. Sums come from tallies and signed days, lists from indexes with a limit.

use counterfoil_core::id::{ActionId, ProjectId};
use counterfoil_core::issuer::PublicId;
use counterfoil_core::statement::Counts;
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

use super::projection::Seen;
use crate::database::{DatabaseError, DirectoryClient, ProjectTx, statements};
use crate::ledger::store::{EntryRow, number, signed, time, unreadable};

statements! {
    PROJECT = "select project_id from directory_project($1, $2)";
    NEWEST = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
              from entries e where e.project_id = $1 and e.seq < $2 order by e.seq desc limit $3";
    FROM = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
            from entries e where e.project_id = $1 and e.seq >= $2 order by e.seq limit $3";
    BODIES = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
              from entries e where e.project_id = $1 and e.seq = any($2) order by e.seq desc";
    RECEIPT = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, c.note \
               from entries e join checkpoints c on c.project_id = e.project_id and c.size = e.checkpoint_size \
               where e.project_id = $1 and e.seq = $2";
    // Kinds are written out: only then does the planner know that the index of the few kinds has them.
    DAYS = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
            from entries e where e.project_id = $1 and e.kind = 'epoch' and e.seq >= $2 order by e.seq limit $3";
    KEYS = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
            from entries e where e.project_id = $1 and e.kind = 'key' order by e.seq limit $2";
    COVERAGE = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
                from entries e where e.project_id = $1 and e.kind = 'coverage' order by e.seq desc limit 1";
    PROBES = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
              from entries e where e.project_id = $1 and e.kind = 'probe' order by e.seq desc limit $2";
    RULES = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
             from entries e where e.project_id = $1 and e.kind = 'rules' and e.at <= $2 order by e.seq desc limit $3";
    REGISTRY = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
                from entries e where e.project_id = $1 and e.kind = 'registry' and e.at <= $2 \
                order by e.seq desc limit $3";
    ANSWERS = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
               from entries e where e.project_id = $1 and e.kind = 'answer' order by e.seq desc limit $2";
    STANDING_GRANTS = "select count(*) from (select from grants g where g.project_id = $1 and g.ended is null \
                       and g.until > $2 limit $3) as counted";
    HEAD = "select size, epoch_first, epoch_counts, gen, killed, stopped, breakglass_until, shadow_until, checkpoint \
            from heads where project_id = $1";
    CHECKPOINT = "select checkpoint from heads where project_id = $1";
    SIZE = "select size from heads where project_id = $1";
    AT = "select e.seq, e.at, e.kind, e.body_digest, e.prev, null::bytea as body, e.path, null::text as note \
          from entries e where e.project_id = $1 and e.seq = any($2) order by e.seq";
    AUDIT = "select at, size, broken from audits where project_id = $1";
    ACTION = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note \
              from entries e where e.project_id = $1 and e.action = $2 and e.seq >= $3 order by e.seq limit $4";
    ABOUT = include_str!("store/about.sql");
    RECONCILED = "select upto from reconciled where project_id = $1";
    CALLS = include_str!("store/calls.sql");
    TALLIES = "select account, status, calls from tallies where project_id = $1 and calls > 0 order by account, status";
    CALL_TALLIES = "select provider, verdict, account, status, calls from call_tallies \
                    where project_id = $1 and calls > 0 order by provider, verdict, account, status";
    OPEN_FINDINGS = "select f.seq, f.cleared, f.resolved from findings f where f.project_id = $1 \
                     and f.cleared is null and not f.apart and f.seq < $2 order by f.seq desc limit $3";
    APART_FINDINGS = "select f.seq, f.cleared, f.resolved from findings f where f.project_id = $1 \
                      and f.cleared is null and f.apart and f.seq < $2 order by f.seq desc limit $3";
    CLEARED_FINDINGS = "select f.seq, f.cleared, f.resolved from findings f where f.project_id = $1 \
                        and f.cleared is not null and f.seq < $2 order by f.seq desc limit $3";
    COUNT_OPEN = "select count(*) from (select from findings f where f.project_id = $1 and f.cleared is null \
                  and not f.apart limit $2) as counted";
    COUNT_APART = "select count(*) from (select from findings f where f.project_id = $1 and f.cleared is null \
                   and f.apart limit $2) as counted";
    FINDINGS_OF = "select f.seq, f.cleared, f.resolved from findings f \
                   where f.project_id = $1 and f.action = $2 order by f.seq limit $3";
    UNSORTED_FINDINGS = include_str!("store/unsorted.sql");
}

/// The project behind a page's address. Slot and public id must both be right.
pub(super) async fn project(
    directory: &DirectoryClient<'_>,
    slot: u64,
    public_id: &PublicId,
) -> Result<Option<ProjectId>, DatabaseError> {
    let Ok(slot) = i64::try_from(slot) else { return Ok(None) };
    let row = directory.ask(PROJECT, &[&slot, &public_id.to_string()]).await?;
    row.map(|row| Ok(ProjectId::from_uuid(row.try_get::<_, Uuid>(0)?))).transpose()
}

/// The newest entries below a seq, newest first.
pub(super) async fn newest(tx: &ProjectTx<'_>, below: u64, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(NEWEST, &[&tx.project().uuid(), &bound(below), &most]).await?)
}

/// Entries from a seq on, oldest first.
pub(super) async fn from(tx: &ProjectTx<'_>, first: u64, most: i64) -> Result<Vec<EntryRow>, DatabaseError> {
    entries(tx, &tx.rows(FROM, &[&tx.project().uuid(), &bound(first), &most]).await?)
}

/// Entries at these places with their bodies, newest first.
pub(super) async fn bodies(tx: &ProjectTx<'_>, places: &[u64]) -> Result<Vec<Seen>, DatabaseError> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<i64> = places.iter().map(|seq| bound(*seq)).collect();
    seen(tx, &tx.rows(BODIES, &[&tx.project().uuid(), &places]).await?)
}

/// One entry with the note that its receipt stands under.
pub(super) async fn receipt(tx: &ProjectTx<'_>, seq: u64) -> Result<Option<EntryRow>, DatabaseError> {
    let row = tx.maybe_row(RECEIPT, &[&tx.project().uuid(), &bound(seq)]).await?;
    row.map(|row| EntryRow::read(tx.project(), &row)).transpose()
}

/// Days that were closed at or after a seq, oldest first.
pub(super) async fn days(tx: &ProjectTx<'_>, from: u64, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(DAYS, &[&tx.project().uuid(), &bound(from), &most]).await?)
}

/// Changes of keys, oldest first.
pub(super) async fn keys(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(KEYS, &[&tx.project().uuid(), &most]).await?)
}

/// The newest answers of people, newest first.
pub(super) async fn answers(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(ANSWERS, &[&tx.project().uuid(), &most]).await?)
}

/// How many grants stand then, counted so far.
pub(super) async fn standing_grants(
    tx: &ProjectTx<'_>,
    now: Timestamp,
    most: i64,
) -> Result<u64, DatabaseError> {
    let row = tx.row(STANDING_GRANTS, &[&tx.project().uuid(), &now.millis(), &most]).await?;
    number(row.try_get(0)?)
}

/// The newest declaration of coverage.
pub(super) async fn coverage(tx: &ProjectTx<'_>) -> Result<Option<Seen>, DatabaseError> {
    Ok(seen(tx, &tx.rows(COVERAGE, &[&tx.project().uuid()]).await?)?.pop())
}

/// The newest probes, newest first.
pub(super) async fn probes(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(PROBES, &[&tx.project().uuid(), &most]).await?)
}

/// Publications of rules until then, newest first.
pub(super) async fn rules(
    tx: &ProjectTx<'_>,
    until: Timestamp,
    most: i64,
) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(RULES, &[&tx.project().uuid(), &until.millis(), &most]).await?)
}

/// Publications of the registry until then, newest first.
pub(super) async fn registries(
    tx: &ProjectTx<'_>,
    until: Timestamp,
    most: i64,
) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(REGISTRY, &[&tx.project().uuid(), &until.millis(), &most]).await?)
}

/// What of the head a page shows.
#[derive(Clone, Debug)]
pub(super) struct HeadRow {
    pub(super) size: u64,
    /// First entry of the day that is not closed yet, and that day's entries by kind.
    pub(super) today_first: u64,
    pub(super) today: Counts,
    pub(super) generation: u64,
    pub(super) killed: bool,
    /// Ids of what is killed besides the project.
    pub(super) stopped: Vec<String>,
    pub(super) breakglass_until: Option<Timestamp>,
    pub(super) shadow_until: Option<Timestamp>,
    pub(super) checkpoint: String,
}

pub(super) async fn head(tx: &ProjectTx<'_>) -> Result<HeadRow, DatabaseError> {
    let row = tx.maybe_row(HEAD, &[&tx.project().uuid()]).await?;
    let row = row.ok_or_else(|| unreadable("a project without a head"))?;
    let moment = |column: &str| -> Result<Option<Timestamp>, DatabaseError> {
        row.try_get::<_, Option<i64>>(column)?.map(time).transpose()
    };
    Ok(HeadRow {
        size: number(row.try_get("size")?)?,
        today_first: number(row.try_get("epoch_first")?)?,
        today: serde_json::from_str(row.try_get("epoch_counts")?).map_err(unreadable)?,
        generation: number(row.try_get("gen")?)?,
        killed: row.try_get("killed")?,
        stopped: row.try_get::<_, &str>("stopped")?.split_whitespace().map(str::to_owned).collect(),
        breakglass_until: moment("breakglass_until")?,
        shadow_until: moment("shadow_until")?,
        checkpoint: row.try_get("checkpoint")?,
    })
}

/// The newest signed note.
pub(super) async fn checkpoint(tx: &ProjectTx<'_>) -> Result<String, DatabaseError> {
    let row = tx.maybe_row(CHECKPOINT, &[&tx.project().uuid()]).await?;
    row.ok_or_else(|| unreadable("a project without a head"))?.try_get(0).map_err(DatabaseError::from)
}

/// How many entries are committed.
pub(super) async fn size(tx: &ProjectTx<'_>) -> Result<u64, DatabaseError> {
    let row = tx.maybe_row(SIZE, &[&tx.project().uuid()]).await?;
    row.map_or(Ok(0), |row| number(row.try_get(0)?))
}

/// Entries at these places, by seq, without their bodies.
pub(super) async fn at(tx: &ProjectTx<'_>, places: &[u64]) -> Result<Vec<EntryRow>, DatabaseError> {
    let places: Vec<i64> = places.iter().filter_map(|seq| i64::try_from(*seq).ok()).collect();
    entries(tx, &tx.rows(AT, &[&tx.project().uuid(), &places]).await?)
}

/// What the self-audit last found.
#[derive(Clone, Debug)]
pub(super) struct AuditRow {
    pub(super) at: Timestamp,
    pub(super) size: u64,
    pub(super) broken: Option<String>,
}

pub(super) async fn audit(tx: &ProjectTx<'_>) -> Result<Option<AuditRow>, DatabaseError> {
    let row = tx.maybe_row(AUDIT, &[&tx.project().uuid()]).await?;
    row.map(|row| {
        Ok(AuditRow {
            at: time(row.try_get("at")?)?,
            size: number(row.try_get("size")?)?,
            broken: row.try_get("broken")?,
        })
    })
    .transpose()
}

/// Entries about one action from a seq on, oldest first.
pub(super) async fn action(
    tx: &ProjectTx<'_>,
    action: ActionId,
    first: u64,
    most: i64,
) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(ACTION, &[&tx.project().uuid(), &action.uuid(), &bound(first), &most]).await?)
}

/// Decisions, observations and executions of these actions: of each action so many, oldest first.
pub(super) async fn about(
    tx: &ProjectTx<'_>,
    actions: &[ActionId],
    most_each: i64,
) -> Result<Vec<Seen>, DatabaseError> {
    if actions.is_empty() {
        return Ok(Vec::new());
    }
    let actions: Vec<Uuid> = actions.iter().map(ActionId::uuid).collect();
    seen(tx, &tx.rows(ABOUT, &[&tx.project().uuid(), &actions, &most_each]).await?)
}

/// Where the comparison of a decision stands; no status where it was not compared yet.
#[derive(Clone, Debug)]
pub(super) struct CallRow {
    pub(super) seq: u64,
    pub(super) account: Option<String>,
    pub(super) status: Option<String>,
    pub(super) again_after: Option<Timestamp>,
}

/// The newest decisions below a seq, newest first.
pub(super) async fn calls(tx: &ProjectTx<'_>, below: u64, most: i64) -> Result<Vec<CallRow>, DatabaseError> {
    let project = tx.project().uuid();
    let upto = tx.maybe_row(RECONCILED, &[&project]).await?;
    let upto: i64 = upto.map_or(Ok(0), |row| row.try_get(0))?;
    let rows = tx.rows(CALLS, &[&project, &bound(below), &most, &upto]).await?;
    let call = |row: &tokio_postgres::Row| {
        let again: Option<i64> = row.try_get("again_after")?;
        Ok(CallRow {
            seq: number(row.try_get("seq")?)?,
            account: row.try_get("account")?,
            status: row.try_get("status")?,
            again_after: again.map(time).transpose()?,
        })
    };
    let mut calls = rows.iter().map(call).collect::<Result<Vec<_>, DatabaseError>>()?;
    // A decision that was compared just now may stand in both halves; the one with a status comes first.
    calls.dedup_by_key(|call| call.seq);
    Ok(calls)
}

/// Compared decisions of one account and status.
#[derive(Clone, Debug)]
pub(super) struct TallyRow {
    pub(super) account: String,
    pub(super) status: String,
    pub(super) calls: u64,
}

pub(super) async fn tallies(tx: &ProjectTx<'_>) -> Result<Vec<TallyRow>, DatabaseError> {
    let rows = tx.rows(TALLIES, &[&tx.project().uuid()]).await?;
    let tally = |row: &tokio_postgres::Row| {
        Ok(TallyRow {
            account: row.try_get("account")?,
            status: row.try_get("status")?,
            calls: number(row.try_get("calls")?)?,
        })
    };
    rows.iter().map(tally).collect()
}

/// Compared decisions of one provider, verdict, account and status.
#[derive(Clone, Debug)]
pub(super) struct CallTallyRow {
    pub(super) provider: String,
    pub(super) verdict: String,
    pub(super) status: String,
    pub(super) calls: u64,
}

pub(super) async fn call_tallies(tx: &ProjectTx<'_>) -> Result<Vec<CallTallyRow>, DatabaseError> {
    let rows = tx.rows(CALL_TALLIES, &[&tx.project().uuid()]).await?;
    let tally = |row: &tokio_postgres::Row| {
        Ok(CallTallyRow {
            provider: row.try_get("provider")?,
            verdict: row.try_get("verdict")?,
            status: row.try_get("status")?,
            calls: number(row.try_get("calls")?)?,
        })
    };
    rows.iter().map(tally).collect()
}

/// Where a finding stands, and the entries that closed or noted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindingRow {
    pub(super) seq: u64,
    pub(super) cleared: Option<u64>,
    pub(super) resolved: Option<u64>,
}

/// Which findings are asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    Open,
    /// Open, and about statements that are forged or of somebody else.
    Apart,
    Cleared,
}

/// Findings below a seq, newest first.
pub(super) async fn findings(
    tx: &ProjectTx<'_>,
    which: Which,
    below: u64,
    most: i64,
) -> Result<Vec<FindingRow>, DatabaseError> {
    let asked = match which {
        Which::Open => OPEN_FINDINGS,
        Which::Apart => APART_FINDINGS,
        Which::Cleared => CLEARED_FINDINGS,
    };
    finding_rows(&tx.rows(asked, &[&tx.project().uuid(), &bound(below), &most]).await?)
}

/// Findings about one action, oldest first.
pub(super) async fn findings_of(
    tx: &ProjectTx<'_>,
    action: ActionId,
    most: i64,
) -> Result<Vec<FindingRow>, DatabaseError> {
    finding_rows(&tx.rows(FINDINGS_OF, &[&tx.project().uuid(), &action.uuid(), &most]).await?)
}

/// Open findings, counted no further than `most`: those of the list, and those apart.
pub(super) async fn open_findings(tx: &ProjectTx<'_>, most: i64) -> Result<(u64, u64), DatabaseError> {
    let project = tx.project().uuid();
    let open = tx.row(COUNT_OPEN, &[&project, &most]).await?;
    let apart = tx.row(COUNT_APART, &[&project, &most]).await?;
    Ok((number(open.try_get(0)?)?, number(apart.try_get(0)?)?))
}

/// Findings among the newest that no list has yet, newest first: they count as open.
pub(super) async fn unsorted_findings(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Seen>, DatabaseError> {
    seen(tx, &tx.rows(UNSORTED_FINDINGS, &[&tx.project().uuid(), &most]).await?)
}

fn finding_rows(rows: &[tokio_postgres::Row]) -> Result<Vec<FindingRow>, DatabaseError> {
    let place = |row: &tokio_postgres::Row, name: &str| -> Result<Option<u64>, DatabaseError> {
        row.try_get::<_, Option<i64>>(name)?.map(number).transpose()
    };
    rows.iter()
        .map(|row| {
            Ok(FindingRow {
                seq: number(row.try_get("seq")?)?,
                cleared: place(row, "cleared")?,
                resolved: place(row, "resolved")?,
            })
        })
        .collect()
}

fn seen(tx: &ProjectTx<'_>, rows: &[tokio_postgres::Row]) -> Result<Vec<Seen>, DatabaseError> {
    rows.iter().map(|row| Ok(Seen::read(EntryRow::read(tx.project(), row)?))).collect()
}

fn entries(tx: &ProjectTx<'_>, rows: &[tokio_postgres::Row]) -> Result<Vec<EntryRow>, DatabaseError> {
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

/// A place beyond every entry where a number does not fit.
fn bound(seq: u64) -> i64 {
    signed(seq).unwrap_or(i64::MAX)
}
