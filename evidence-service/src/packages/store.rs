//! SQL of packages: the jobs, and the rows that a package is made of.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::PackageId;
use counterfoil_core::key::PublicKey;
use counterfoil_core::package::{ProviderKeyLine, TombstoneClaim};
use counterfoil_core::statement::PublicJwk;
use counterfoil_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::job::{Audience, Job, State};
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{EntryRow, digest, number, signed, time, unreadable};

statements! {
    INSERT = "insert into packages (project_id, package_id, audience, first, state, asked_at) \
              values ($1, $2, $3, $4, 'waiting', $5) on conflict do nothing";
    ONE = "select package_id, audience, first, state, asked_at, size, done, attempts, failure from packages \
           where project_id = $1 and package_id = $2";
    ALL_JOBS = "select package_id, audience, first, state, asked_at, size, done, attempts, failure from packages \
                where project_id = $1 order by asked_at desc";
    // The database's clock: services may disagree about the time, and a lease must not.
    CLAIM = "update packages set state = 'running', worker = $2, attempts = attempts + 1, done = 0, size = null, \
             lease_until = extract(epoch from clock_timestamp()) * 1000 + $3::bigint \
             where project_id = $1 and package_id = (\
                 select package_id from packages where project_id = $1 and state in ('waiting', 'running') \
                 and (lease_until is null or lease_until < extract(epoch from clock_timestamp()) * 1000) \
                 order by asked_at limit 1 for update skip locked) \
             returning package_id, audience, first, state, asked_at, size, done, attempts, failure";
    HOLD = "update packages set done = $4, size = $5, \
            lease_until = extract(epoch from clock_timestamp()) * 1000 + $6::bigint \
            where project_id = $1 and package_id = $2 and worker = $3 and state = 'running'";
    LET_GO = "update packages set worker = null, lease_until = null \
              where project_id = $1 and package_id = $2 and worker = $3 and state = 'running'";
    FINISH = "update packages set state = $4, failure = $5, finished_at = $6, worker = null, lease_until = null \
              where project_id = $1 and package_id = $2 and worker = $3 and state = 'running'";
    OUTLIVED = include_str!("outlived.sql");
    FORGET = "delete from packages where project_id = $1 and package_id = any($2) and state in ('done', 'failed')";
    HEAD = "select size, checkpoint from heads where project_id = $1";
    CHECKPOINT_BEFORE = "select size from checkpoints where project_id = $1 and size <= $2 order by size desc limit 1";
    NOTE = "select note from checkpoints where project_id = $1 and size = $2";
    LEAVES = "select seq, at, kind, body_digest, prev, null::bytea as body, ''::bytea as path, null::text as note \
              from entries where project_id = $1 and seq >= $2 and seq < $3 order by seq limit $4";
    PAGE = include_str!("page.sql");
    NODES = "select seq, at, kind, body_digest, prev, null::bytea as body, path, null::text as note \
             from entries where project_id = $1 and seq = any($2)";
    PROVIDER_KEYS = "select provider, x, introduced, ended from signing_keys \
                     where project_id = $1 and purpose = 'execution' order by introduced, thumbprint";
    TOMBSTONES = "select seq, first_seq, last_seq from tombstones where project_id = $1 and seq >= $2 order by seq";
    DOCUMENTS = "select seq, kind, text from documents where project_id = $1 order by seq";
    GRANTS = "select g.seq, p.grants_nonce, g.document from grants g join projects p on p.project_id = g.project_id \
              where g.project_id = $1 order by g.seq";
    OPENINGS = "select e.seq, o.decision, o.jwe from entries e \
                join openings o on o.project_id = e.project_id and o.decision = e.body_digest \
                where e.project_id = $1 and e.seq >= $2 and e.seq < $3 and e.kind = 'decision' \
                order by e.seq, o.opening_id";
}

/// How many entries there are, and the note that they stand under.
pub(super) struct Head {
    pub(super) size: u64,
    pub(super) note: String,
}

/// False if one is under way already.
pub(super) async fn insert(tx: &ProjectTx<'_>, job: &Job) -> Result<bool, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 5] = [
        &tx.project().uuid(),
        &job.id.uuid(),
        &job.audience.as_str(),
        &signed(job.first)?,
        &job.asked_at.millis(),
    ];
    Ok(tx.touch(INSERT, &parameters).await? == 1)
}

pub(super) async fn one(tx: &ProjectTx<'_>, id: PackageId) -> Result<Option<Job>, DatabaseError> {
    let row = tx.maybe_row(ONE, &[&tx.project().uuid(), &id.uuid()]).await?;
    row.as_ref().map(job).transpose()
}

/// Every package of the project, the newest first.
pub(super) async fn all(tx: &ProjectTx<'_>) -> Result<Vec<Job>, DatabaseError> {
    let rows = tx.rows(ALL_JOBS, &[&tx.project().uuid()]).await?;
    rows.iter().map(job).collect()
}

/// The oldest job that nobody works on; from now on we do.
pub(super) async fn claim(
    tx: &ProjectTx<'_>,
    worker: Uuid,
    lease: i64,
) -> Result<Option<Job>, DatabaseError> {
    let row = tx.maybe_row(CLAIM, &[&tx.project().uuid(), &worker, &lease]).await?;
    row.as_ref().map(job).transpose()
}

/// False if somebody else has it now.
pub(super) async fn hold(
    tx: &ProjectTx<'_>,
    id: PackageId,
    worker: Uuid,
    (done, size): (u64, u64),
    lease: i64,
) -> Result<bool, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tx.project().uuid(), &id.uuid(), &worker, &signed(done)?, &signed(size)?, &lease];
    Ok(tx.touch(HOLD, &parameters).await? == 1)
}

/// Lets somebody else begin it again.
pub(super) async fn let_go(tx: &ProjectTx<'_>, id: PackageId, worker: Uuid) -> Result<(), DatabaseError> {
    tx.touch(LET_GO, &[&tx.project().uuid(), &id.uuid(), &worker]).await.map(drop)
}

/// False if somebody else has it now. A failure is a word for the one who asked.
pub(super) async fn finish(
    tx: &ProjectTx<'_>,
    id: PackageId,
    worker: Uuid,
    failure: Option<&str>,
    at: Timestamp,
) -> Result<bool, DatabaseError> {
    let state = if failure.is_some() { "failed" } else { "done" };
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tx.project().uuid(), &id.uuid(), &worker, &state, &failure, &at.millis()];
    Ok(tx.touch(FINISH, &parameters).await? == 1)
}

/// Packages that have to go.
pub(super) async fn outlived(
    tx: &ProjectTx<'_>,
    finished_before: Timestamp,
    keep: u32,
) -> Result<Vec<Uuid>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 3] =
        [&tx.project().uuid(), &finished_before.millis(), &i64::from(keep)];
    let rows = tx.rows(OUTLIVED, &parameters).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub(super) async fn forget(tx: &ProjectTx<'_>, packages: &[Uuid]) -> Result<(), DatabaseError> {
    tx.touch(FORGET, &[&tx.project().uuid(), &packages]).await.map(drop)
}

pub(super) async fn head(tx: &ProjectTx<'_>) -> Result<Head, DatabaseError> {
    let row = tx.row(HEAD, &[&tx.project().uuid()]).await?;
    Ok(Head { size: number(row.try_get(0)?)?, note: row.try_get(1)? })
}

/// The size of the newest checkpoint that is not larger; 0 if there is none.
pub(super) async fn checkpoint_before(tx: &ProjectTx<'_>, size: u64) -> Result<u64, DatabaseError> {
    let row = tx.maybe_row(CHECKPOINT_BEFORE, &[&tx.project().uuid(), &signed(size)?]).await?;
    row.map_or(Ok(0), |row| number(row.try_get(0)?))
}

/// The note that a commit of that size stands under.
pub(super) async fn note(tx: &ProjectTx<'_>, size: u64) -> Result<String, DatabaseError> {
    let row = tx.row(NOTE, &[&tx.project().uuid(), &signed(size)?]).await?;
    Ok(row.try_get(0)?)
}

/// Entries from a place on, without bodies.
pub(super) async fn leaves(
    tx: &ProjectTx<'_>,
    range: std::ops::Range<u64>,
    most: i64,
) -> Result<Vec<EntryRow>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tx.project().uuid(), &signed(range.start)?, &signed(range.end)?, &most];
    let rows = tx.rows(LEAVES, &parameters).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

/// Entries from a place on, with bodies of so many bytes together.
pub(super) async fn page(
    tx: &ProjectTx<'_>,
    range: std::ops::Range<u64>,
    most: i64,
    most_bytes: i64,
) -> Result<Vec<EntryRow>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tx.project().uuid(), &signed(range.start)?, &signed(range.end)?, &most, &most_bytes];
    let rows = tx.rows(PAGE, &parameters).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

/// Entries at these places, with what stands to their left in the tree.
pub(super) async fn nodes(tx: &ProjectTx<'_>, places: &[u64]) -> Result<Vec<EntryRow>, DatabaseError> {
    let places = places.iter().map(|seq| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    let rows = tx.rows(NODES, &[&tx.project().uuid(), &places]).await?;
    rows.iter().map(|row| EntryRow::read(tx.project(), row)).collect()
}

pub(super) async fn provider_keys(tx: &ProjectTx<'_>) -> Result<Vec<ProviderKeyLine>, DatabaseError> {
    let rows = tx.rows(PROVIDER_KEYS, &[&tx.project().uuid()]).await?;
    let line = |row: &Row| {
        let key = PublicKey::parse(row.try_get("x")?).map_err(unreadable)?;
        Ok(ProviderKeyLine {
            provider: row.try_get::<_, &str>("provider")?.parse().map_err(unreadable)?,
            key: PublicJwk::new(&key),
            thumbprint: key.thumbprint(),
            introduced: number(row.try_get("introduced")?)?,
            ended: row.try_get::<_, Option<i64>>("ended")?.map(number).transpose()?,
        })
    };
    rows.iter().map(line).collect()
}

/// Tombstones that stand in a package which starts there.
pub(super) async fn tombstones(tx: &ProjectTx<'_>, first: u64) -> Result<Vec<TombstoneClaim>, DatabaseError> {
    let rows = tx.rows(TOMBSTONES, &[&tx.project().uuid(), &signed(first)?]).await?;
    let claim = |row: &Row| {
        Ok(TombstoneClaim {
            seq: number(row.try_get(0)?)?,
            first: number(row.try_get(1)?)?,
            last: number(row.try_get(2)?)?,
        })
    };
    rows.iter().map(claim).collect()
}

/// Texts that were published, by the entry that names them: seq, kind, text.
pub(super) async fn documents(tx: &ProjectTx<'_>) -> Result<Vec<(u64, String, String)>, DatabaseError> {
    let rows = tx.rows(DOCUMENTS, &[&tx.project().uuid()]).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

/// Texts of grants, by the entry that names them: seq, the project's nonce, the document.
pub(super) async fn grants(tx: &ProjectTx<'_>) -> Result<Vec<(u64, String, String)>, DatabaseError> {
    let rows = tx.rows(GRANTS, &[&tx.project().uuid()]).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

/// Sealed openings of the decisions in a range, in their order.
pub(super) async fn openings(
    tx: &ProjectTx<'_>,
    range: std::ops::Range<u64>,
) -> Result<Vec<(u64, Digest, String)>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 3] =
        [&tx.project().uuid(), &signed(range.start)?, &signed(range.end)?];
    let rows = tx.rows(OPENINGS, &parameters).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, digest(row.try_get(1)?)?, row.try_get(2)?))).collect()
}

fn job(row: &Row) -> Result<Job, DatabaseError> {
    let (audience, state): (&str, &str) = (row.try_get("audience")?, row.try_get("state")?);
    Ok(Job {
        id: PackageId::from_uuid(row.try_get("package_id")?),
        audience: Audience::parse(audience).ok_or_else(|| unreadable("a package's audience"))?,
        first: number(row.try_get("first")?)?,
        state: State::parse(state).ok_or_else(|| unreadable("a package's state"))?,
        asked_at: time(row.try_get("asked_at")?)?,
        size: row.try_get::<_, Option<i64>>("size")?.map(number).transpose()?,
        done: number(row.try_get("done")?)?,
        attempts: u32::try_from(row.try_get::<_, i32>("attempts")?).map_err(unreadable)?,
        failure: row.try_get("failure")?,
    })
}
