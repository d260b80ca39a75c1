//! SQL of the work list: open calls and the gateways that opened them.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, InstanceId};
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, number, signed};

statements! {
    HEARD = "insert into instances (project_id, instance, seen_at) values ($1, $2, $3) \
             on conflict (project_id, instance) do update set seen_at = greatest(instances.seen_at, excluded.seen_at)";
    OPEN = "insert into open_calls (project_id, seq, action, decision, instance, at) \
            select $1, o.seq, o.action, o.decision, $2, $3 \
            from unnest($4::bigint[], $5::uuid[], $6::bytea[]) as o (seq, action, decision) \
            where not exists (select 1 from entries e where e.project_id = $1 and e.action = o.action \
                              and e.kind = 'observation' and e.decision = o.decision)";
    CLOSE = "delete from open_calls where project_id = $1 and finding is null and decision = any($2)";
    CAME = "update open_calls set came = o.seq from unnest($2::bytea[], $3::bigint[]) as o (decision, seq) \
            where project_id = $1 and open_calls.decision = o.decision and finding is not null and came is null";
    SILENT = "select c.seq, c.action, c.decision from open_calls c \
              left join instances i on i.project_id = c.project_id and i.instance = c.instance \
              where c.project_id = $1 and c.finding is null \
              and (c.at < $2 or greatest(c.at, coalesce(i.seen_at, 0)) < $3) order by c.seq limit $4";
    LATE = "select c.seq, c.action, c.finding, c.came, e.body_digest from open_calls c \
            join entries e on e.project_id = c.project_id and e.seq = c.came \
            where c.project_id = $1 order by c.seq limit $2";
    FOUND = "update open_calls set finding = o.finding from unnest($2::bigint[], $3::bytea[]) as o (seq, finding) \
             where project_id = $1 and open_calls.seq = o.seq and open_calls.finding is null";
    CLEARED = "delete from open_calls where project_id = $1 and seq = any($2) and came is not null";
}

/// A cleared call that nobody has spoken of.
#[derive(Clone, Debug)]
pub(super) struct Silent {
    pub(super) seq: u64,
    pub(super) action: ActionId,
    pub(super) decision: Digest,
}

/// A call whose observation came after its finding.
#[derive(Clone, Debug)]
pub(super) struct Late {
    pub(super) seq: u64,
    pub(super) action: ActionId,
    pub(super) finding: Digest,
    pub(super) came: u64,
    pub(super) observation: Digest,
}

pub(super) async fn heard(
    tx: &ProjectTx<'_>,
    instance: InstanceId,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    tx.change(1, HEARD, &[&tx.project().uuid(), &instance.uuid(), &at.millis()]).await
}

/// Of the statements that one commit numbered: cleared decisions open a call, unless it was spoken of before: a gateway
/// that waited in vain for the commit says `not_sent`, and its word may overtake the decision that it is about.
pub(crate) async fn open(
    tx: &ProjectTx<'_>,
    instance: InstanceId,
    at: Timestamp,
    placed: &[(u64, Digest, &Statement)],
) -> Result<(), DatabaseError> {
    let (mut seqs, mut actions, mut decisions) = (Vec::new(), Vec::new(), Vec::new());
    for (seq, digest, statement) in placed {
        if let Statement::Decision(decision) = statement
            && decision.is_cleared()
        {
            seqs.push(signed(*seq)?);
            actions.push(decision.action.uuid());
            decisions.push(digest.bytes().as_slice());
        }
    }
    if seqs.is_empty() {
        return Ok(());
    }
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tx.project().uuid(), &instance.uuid(), &at.millis(), &seqs, &actions, &decisions];
    tx.touch(OPEN, &parameters).await.map(drop)
}

/// Observations close the calls of the decisions that they name.
pub(crate) async fn close(
    tx: &ProjectTx<'_>,
    placed: &[(u64, Digest, &Statement)],
) -> Result<(), DatabaseError> {
    let (mut seqs, mut decisions) = (Vec::new(), Vec::new());
    for (seq, _, statement) in placed {
        if let Statement::Observation(seen) = statement {
            seqs.push(signed(*seq)?);
            decisions.push(seen.decision.bytes().as_slice());
        }
    }
    if seqs.is_empty() {
        return Ok(());
    }
    let project = tx.project().uuid();
    tx.touch(CLOSE, &[&project, &decisions]).await?;
    tx.touch(CAME, &[&project, &decisions, &seqs]).await?;
    Ok(())
}

pub(super) async fn silent(
    tx: &ProjectTx<'_>,
    ceiling: Timestamp,
    lease: Timestamp,
    most: i64,
) -> Result<Vec<Silent>, DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tx.project().uuid(), &ceiling.millis(), &lease.millis(), &most];
    let rows = tx.rows(SILENT, &parameters).await?;
    let silent = |row: &tokio_postgres::Row| {
        Ok(Silent {
            seq: number(row.try_get(0)?)?,
            action: ActionId::from_uuid(row.try_get::<_, Uuid>(1)?),
            decision: digest(row.try_get(2)?)?,
        })
    };
    rows.iter().map(silent).collect()
}

pub(super) async fn late(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Late>, DatabaseError> {
    let rows = tx.rows(LATE, &[&tx.project().uuid(), &most]).await?;
    let late = |row: &tokio_postgres::Row| {
        Ok(Late {
            seq: number(row.try_get(0)?)?,
            action: ActionId::from_uuid(row.try_get::<_, Uuid>(1)?),
            finding: digest(row.try_get(2)?)?,
            came: number(row.try_get(3)?)?,
            observation: digest(row.try_get(4)?)?,
        })
    };
    rows.iter().map(late).collect()
}

/// Fails if an observation, or another sweep, was faster with any of them: then the whole commit is given up.
pub(super) async fn found(tx: &ProjectTx<'_>, findings: &[(u64, Digest)]) -> Result<(), DatabaseError> {
    let seqs = findings.iter().map(|(seq, _)| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    let digests: Vec<&[u8]> = findings.iter().map(|(_, digest)| digest.bytes().as_slice()).collect();
    tx.change(seqs.len() as u64, FOUND, &[&tx.project().uuid(), &seqs, &digests]).await
}

/// As [`found`], for calls that a clearance closes.
pub(super) async fn cleared(tx: &ProjectTx<'_>, calls: &[u64]) -> Result<(), DatabaseError> {
    let seqs = calls.iter().map(|seq| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    tx.change(seqs.len() as u64, CLEARED, &[&tx.project().uuid(), &seqs]).await
}
