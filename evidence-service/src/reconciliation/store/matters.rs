//! SQL of compared decisions and their sums.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::database::{DatabaseError, Parameters, ProjectTx, Sql, statements};
use crate::ledger::store::{digest, number, signed, time};

statements! {
    // `offset 0`: one after the other, whatever the planner thinks of a table that was empty when it planned.
    NAMED = "select m.seq, m.decision, m.action, m.account, m.status, m.again_after, m.observed, m.remembered \
             from unnest($2::uuid[], $3::bytea[]) as n (action, decision) cross join lateral ( \
             select * from matters m where m.project_id = $1 and m.action = n.action and m.decision = n.decision \
             offset 0) m";
    AT = "select seq, decision, action, account, status, again_after, observed, remembered \
          from matters where project_id = $1 and seq = any($2)";
    DUE = "select seq, decision, action, account, status, again_after, observed, remembered \
           from matters where project_id = $1 and again_after < $2 order by again_after, seq limit $3";
    KEEP = "insert into matters (project_id, seq, decision, action, account, status, again_after, observed, remembered) \
            select $1, m.seq, m.decision, m.action, m.account, m.status, m.again_after, m.observed, \
            string_to_array(m.remembered, ',')::bigint[] \
            from unnest($2::bigint[], $3::bytea[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], \
            $9::text[]) as m (seq, decision, action, account, status, again_after, observed, remembered) \
            on conflict (project_id, seq) do update set status = excluded.status, \
            again_after = excluded.again_after, observed = excluded.observed, remembered = excluded.remembered";
    // Rows for sums that are new; the check on `calls` would refuse a negative one before it could be added.
    TALLY_ROWS = "insert into tallies (project_id, account, status, calls) \
                  select $1, t.account, t.status, 0 from unnest($2::text[], $3::text[]) as t (account, status) \
                  on conflict (project_id, account, status) do nothing";
    TALLY = "update tallies set calls = calls + t.more \
             from unnest($2::text[], $3::text[], $4::bigint[]) as t (account, status, more) \
             where project_id = $1 and tallies.account = t.account and tallies.status = t.status";
    SAID = "select s.decision, s.fingerprint from unnest($2::bigint[], $3::bytea[]) as n (decision, fingerprint) \
            join said s on s.project_id = $1 and s.decision = n.decision and s.fingerprint = n.fingerprint";
    ALL_SAID = "select decision, seq from said where project_id = $1 and decision = any($2) order by decision, seq";
    KEEP_SAID = "insert into said (project_id, decision, fingerprint, seq) \
                 select $1, s.* from unnest($2::bigint[], $3::bytea[], $4::bigint[]) as s";
}

/// One decision as it was last compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::reconciliation) struct Kept {
    pub(in crate::reconciliation) seq: u64,
    pub(in crate::reconciliation) decision: Digest,
    pub(in crate::reconciliation) action: ActionId,
    pub(in crate::reconciliation) account: String,
    pub(in crate::reconciliation) status: String,
    pub(in crate::reconciliation) again_after: Option<Timestamp>,
    /// Numbers of the first observation and of the statements that count on.
    pub(in crate::reconciliation) observed: Option<u64>,
    pub(in crate::reconciliation) remembered: Vec<u64>,
}

impl Kept {
    fn read(row: &tokio_postgres::Row) -> Result<Self, DatabaseError> {
        let remembered: Vec<i64> = row.try_get("remembered")?;
        Ok(Self {
            seq: number(row.try_get("seq")?)?,
            decision: digest(row.try_get("decision")?)?,
            action: ActionId::from_uuid(row.try_get("action")?),
            account: row.try_get("account")?,
            status: row.try_get("status")?,
            again_after: row.try_get::<_, Option<i64>>("again_after")?.map(time).transpose()?,
            observed: row.try_get::<_, Option<i64>>("observed")?.map(number).transpose()?,
            remembered: remembered.into_iter().map(number).collect::<Result<_, _>>()?,
        })
    }
}

/// The decisions of these digests on these actions.
pub(in crate::reconciliation) async fn named(
    tx: &ProjectTx<'_>,
    names: &[(ActionId, Digest)],
) -> Result<Vec<Kept>, DatabaseError> {
    let actions: Vec<Uuid> = names.iter().map(|(action, _)| action.uuid()).collect();
    let decisions: Vec<&[u8]> = names.iter().map(|(_, digest)| digest.bytes().as_slice()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    kept(tx, NAMED, &[&tx.project().uuid(), &actions, &decisions]).await
}

pub(in crate::reconciliation) async fn at(
    tx: &ProjectTx<'_>,
    places: &[u64],
) -> Result<Vec<Kept>, DatabaseError> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let places = places.iter().map(|seq| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    kept(tx, AT, &[&tx.project().uuid(), &places]).await
}

/// Decisions that time alone may have changed, those that wait longest first.
pub(in crate::reconciliation) async fn due(
    tx: &ProjectTx<'_>,
    now: Timestamp,
    most: i64,
) -> Result<Vec<Kept>, DatabaseError> {
    kept(tx, DUE, &[&tx.project().uuid(), &now.millis(), &most]).await
}

async fn kept(tx: &ProjectTx<'_>, sql: Sql, parameters: Parameters<'_>) -> Result<Vec<Kept>, DatabaseError> {
    tx.rows(sql, parameters).await?.iter().map(Kept::read).collect()
}

pub(in crate::reconciliation) async fn keep(
    tx: &ProjectTx<'_>,
    matters: &[Kept],
) -> Result<(), DatabaseError> {
    if matters.is_empty() {
        return Ok(());
    }
    let optional = |seq: Option<u64>| seq.map(signed).transpose();
    let seqs = matters.iter().map(|kept| signed(kept.seq)).collect::<Result<Vec<_>, _>>()?;
    let decisions: Vec<&[u8]> = matters.iter().map(|kept| kept.decision.bytes().as_slice()).collect();
    let actions: Vec<Uuid> = matters.iter().map(|kept| kept.action.uuid()).collect();
    let accounts: Vec<&str> = matters.iter().map(|kept| kept.account.as_str()).collect();
    let statuses: Vec<&str> = matters.iter().map(|kept| kept.status.as_str()).collect();
    let again: Vec<_> = matters.iter().map(|kept| kept.again_after.map(Timestamp::millis)).collect();
    let observed = matters.iter().map(|kept| optional(kept.observed)).collect::<Result<Vec<_>, _>>()?;
    // An array of arrays must be a rectangle, so each list travels as a text.
    let list = |kept: &Kept| kept.remembered.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let remembered: Vec<String> = matters.iter().map(list).collect();
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &tx.project().uuid(),
        &seqs,
        &decisions,
        &actions,
        &accounts,
        &statuses,
        &again,
        &observed,
        &remembered,
    ];
    tx.change(matters.len() as u64, KEEP, &parameters).await
}

/// Adds to the sums what changed of them, by account and status.
pub(in crate::reconciliation) async fn tally(
    tx: &ProjectTx<'_>,
    changes: &[(&str, &str, i64)],
) -> Result<(), DatabaseError> {
    if changes.is_empty() {
        return Ok(());
    }
    let accounts: Vec<&str> = changes.iter().map(|(account, ..)| *account).collect();
    let statuses: Vec<&str> = changes.iter().map(|(_, status, _)| *status).collect();
    let more: Vec<i64> = changes.iter().map(|(.., more)| *more).collect();
    let project = tx.project().uuid();
    tx.touch(TALLY_ROWS, &[&project, &accounts, &statuses]).await?;
    tx.change(changes.len() as u64, TALLY, &[&project, &accounts, &statuses, &more]).await
}

/// Which of these things were said about these decisions before.
pub(in crate::reconciliation) async fn said(
    tx: &ProjectTx<'_>,
    asked: &[(u64, Digest)],
) -> Result<Vec<(u64, Digest)>, DatabaseError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let decisions = asked.iter().map(|(seq, _)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    let fingerprints: Vec<&[u8]> = asked.iter().map(|(_, digest)| digest.bytes().as_slice()).collect();
    let rows = tx.rows(SAID, &[&tx.project().uuid(), &decisions, &fingerprints]).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, digest(row.try_get(1)?)?))).collect()
}

/// Of these decisions, the place of each thing that was said: (decision, statement).
pub(in crate::reconciliation) async fn all_said(
    tx: &ProjectTx<'_>,
    decisions: &[u64],
) -> Result<Vec<(u64, u64)>, DatabaseError> {
    if decisions.is_empty() {
        return Ok(Vec::new());
    }
    let decisions = decisions.iter().map(|seq| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    let rows = tx.rows(ALL_SAID, &[&tx.project().uuid(), &decisions]).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, number(row.try_get(1)?)?))).collect()
}

pub(in crate::reconciliation) async fn keep_said(
    tx: &ProjectTx<'_>,
    said: &[(u64, Digest, u64)],
) -> Result<(), DatabaseError> {
    if said.is_empty() {
        return Ok(());
    }
    let decisions = said.iter().map(|(seq, ..)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    let fingerprints: Vec<&[u8]> = said.iter().map(|(_, digest, _)| digest.bytes().as_slice()).collect();
    let seqs = said.iter().map(|(.., seq)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    let parameters: [&(dyn ToSql + Sync); 4] = [&tx.project().uuid(), &decisions, &fingerprints, &seqs];
    tx.change(said.len() as u64, KEEP_SAID, &parameters).await
}
