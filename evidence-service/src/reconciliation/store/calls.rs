//! SQL of the work list: open calls and the gateways that opened them.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, InstanceId};
use counterfoil_core::statement::{Mode, Statement};
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::database::{Asked, DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, number, signed};

statements! {
    HEARD = "insert into instances (project_id, instance, seen_at) values ($1, $2, $3) \
             on conflict (project_id, instance) do update set seen_at = greatest(instances.seen_at, excluded.seen_at)";
    // `offset 0`: by action, one after the other, whatever the planner thinks of a ledger that was empty when it planned.
    OPEN = "insert into open_calls (project_id, seq, action, decision, instance, at) \
            select $1, o.seq, o.action, o.decision, $2, $3 \
            from unnest($4::bigint[], $5::uuid[], $6::bytea[]) as o (seq, action, decision) \
            where not exists (select from entries e where e.project_id = $1 and e.action = o.action \
                              and e.kind = 'observation' and e.decision = o.decision offset 0)";
    CLOSE = "delete from open_calls c using unnest($2::uuid[], $3::bytea[]) as o (action, decision) \
             where c.project_id = $1 and c.decision = any($3) and c.decision = o.decision and c.action = o.action";
    SILENT = include_str!("silent.sql");
    FOUND = include_str!("found.sql");
    // What a provider spoke of. Rows that a commit of a gateway holds are left for the next time, so that nobody waits.
    SPOKEN = "delete from open_calls where project_id = $1 and seq in ( \
              select c.seq from open_calls c join matters m on m.project_id = c.project_id and m.seq = c.seq \
              where c.project_id = $1 and (m.observed is not null or m.remembered <> '{}') \
              limit $2 for update of c skip locked)";
}

/// A cleared call that nobody has spoken of.
#[derive(Clone, Debug)]
pub(in crate::reconciliation) struct Silent {
    pub(in crate::reconciliation) seq: u64,
    pub(in crate::reconciliation) action: ActionId,
    pub(in crate::reconciliation) decision: Digest,
}

pub(in crate::reconciliation) async fn heard(
    tx: &ProjectTx<'_>,
    instance: InstanceId,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    tx.change(1, HEARD, &[&tx.project().uuid(), &instance.uuid(), &at.millis()]).await
}

/// What one commit changes about the work list, in columns.
#[derive(Default)]
struct Changes<'s> {
    opened: (Vec<i64>, Vec<Uuid>, Vec<&'s [u8]>),
    closed: (Vec<Uuid>, Vec<&'s [u8]>),
}

impl<'s> Changes<'s> {
    fn of(placed: &'s [(u64, Digest, &Statement)]) -> Result<Self, DatabaseError> {
        let mut changes = Self::default();
        for (seq, digest, statement) in placed {
            // In hook mode nobody observes, so nobody is waited for.
            if let Statement::Decision(decision) = statement
                && decision.is_cleared()
                && decision.mode == Mode::Gateway
            {
                changes.opened.0.push(signed(*seq)?);
                changes.opened.1.push(decision.action.uuid());
                changes.opened.2.push(digest.bytes().as_slice());
            }
            if let Statement::Observation(seen) = statement {
                changes.closed.0.push(seen.action.uuid());
                changes.closed.1.push(seen.decision.bytes().as_slice());
            }
        }
        Ok(changes)
    }
}

/// Of the statements that one commit numbered: cleared decisions open a call, unless it was spoken of before: a gateway
/// that waited in vain for the commit says `not_sent`, and its word may overtake the decision that it is about. Then
/// observations close the calls of the decisions that they name, those of the same commit too.
pub(crate) async fn open_and_close(
    tx: &ProjectTx<'_>,
    instance: InstanceId,
    at: Timestamp,
    placed: &[(u64, Digest, &Statement)],
) -> Result<(), DatabaseError> {
    let Changes { opened: (seqs, actions, decisions), closed: (ended, spoken_of) } = Changes::of(placed)?;
    let (project, instance, at) = (tx.project().uuid(), instance.uuid(), at.millis());
    let open: [&(dyn ToSql + Sync); 6] = [&project, &instance, &at, &seqs, &actions, &decisions];
    let close: [&(dyn ToSql + Sync); 3] = [&project, &ended, &spoken_of];
    let mut asked: Vec<Asked<'_>> = Vec::new();
    if !seqs.is_empty() {
        asked.push((OPEN, &open));
    }
    if !ended.is_empty() {
        asked.push((CLOSE, &close));
    }
    tx.touch_each(&asked).await
}

/// Calls of gateways that were silent for a lease, and those that no tool may still be running. Only what was compared:
/// a statement that nobody looked at yet may speak of them.
pub(in crate::reconciliation) async fn silent(
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

/// Takes calls off the list, of which OUTCOME_UNKNOWN is said by this commit. Fails if an observation, a statement or
/// another sweep was faster with any of them: then the whole commit is given up.
pub(in crate::reconciliation) async fn found(tx: &ProjectTx<'_>, calls: &[u64]) -> Result<(), DatabaseError> {
    let seqs = calls.iter().map(|seq| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    tx.change(seqs.len() as u64, FOUND, &[&tx.project().uuid(), &seqs]).await
}

/// Takes calls off the list of which somebody spoke after all; at most so many at once.
pub(in crate::reconciliation) async fn forget_spoken(
    tx: &ProjectTx<'_>,
    most: i64,
) -> Result<u64, DatabaseError> {
    tx.touch(SPOKEN, &[&tx.project().uuid(), &most]).await
}
