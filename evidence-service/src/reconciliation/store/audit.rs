//! SQL that holds the indexes of the comparison against the entries they are made from.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use uuid::Uuid;

use crate::database::{DatabaseError, ProjectTx, Sql, statements};
use crate::ledger::store::{digest, number, signed};

statements! {
    // A compared decision that is not the one at its place.
    ANOTHER = "select m.seq from matters m left join entries e on e.project_id = m.project_id and e.seq = m.seq \
               and e.kind = 'decision' and e.body_digest = m.decision and e.action = m.action \
               where m.project_id = $1 and e.seq is null order by m.seq limit 1";
    // A decision that the comparison passed and has no row of.
    NONE = "select e.seq from entries e left join matters m on m.project_id = e.project_id and m.seq = e.seq \
            where e.project_id = $1 and e.kind = 'decision' and m.seq is null \
            and e.seq < (select r.upto from reconciled r where r.project_id = $1) order by e.seq limit 1";
    SUM = "select t.account, t.status from \
           (select account, status, count(*) as calls from matters where project_id = $1 group by 1, 2) m \
           full join (select account, status, calls from tallies where project_id = $1 and calls > 0) t \
           using (account, status) where m.calls is distinct from t.calls limit 1";
    ROWS = "select seq, digest, code, action, statement, about, apart, cleared, resolved from findings \
            where project_id = $1 and seq < $2 order by seq";
}

/// A row of the list of findings, as it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::reconciliation) struct Row {
    pub(in crate::reconciliation) seq: u64,
    pub(in crate::reconciliation) digest: Digest,
    pub(in crate::reconciliation) code: String,
    pub(in crate::reconciliation) action: Option<ActionId>,
    pub(in crate::reconciliation) statement: Option<Digest>,
    pub(in crate::reconciliation) about: Option<u64>,
    pub(in crate::reconciliation) apart: bool,
    pub(in crate::reconciliation) cleared: Option<u64>,
    pub(in crate::reconciliation) resolved: Option<u64>,
}

/// The first compared decision that is not what its entry says, or that is missing.
pub(in crate::reconciliation) async fn misplaced(tx: &ProjectTx<'_>) -> Result<Option<u64>, DatabaseError> {
    let first = async |sql: Sql| -> Result<Option<u64>, DatabaseError> {
        let row = tx.maybe_row(sql, &[&tx.project().uuid()]).await?;
        row.map(|row| number(row.try_get(0)?)).transpose()
    };
    Ok(match first(ANOTHER).await? {
        Some(seq) => Some(seq),
        None => first(NONE).await?,
    })
}

/// Whether some sum is not the sum of its rows.
pub(in crate::reconciliation) async fn a_sum_is_wrong(tx: &ProjectTx<'_>) -> Result<bool, DatabaseError> {
    Ok(tx.maybe_row(SUM, &[&tx.project().uuid()]).await?.is_some())
}

/// The list of findings below a number.
pub(in crate::reconciliation) async fn rows(
    tx: &ProjectTx<'_>,
    below: u64,
) -> Result<Vec<Row>, DatabaseError> {
    let rows = tx.rows(ROWS, &[&tx.project().uuid(), &signed(below)?]).await?;
    rows.iter()
        .map(|row| {
            let place = |name: &str| -> Result<Option<u64>, DatabaseError> {
                row.try_get::<_, Option<i64>>(name)?.map(number).transpose()
            };
            Ok(Row {
                seq: number(row.try_get("seq")?)?,
                digest: digest(row.try_get("digest")?)?,
                code: row.try_get("code")?,
                action: row.try_get::<_, Option<Uuid>>("action")?.map(ActionId::from_uuid),
                statement: row.try_get::<_, Option<&[u8]>>("statement")?.map(digest).transpose()?,
                about: place("about")?,
                apart: row.try_get("apart")?,
                cleared: place("cleared")?,
                resolved: place("resolved")?,
            })
        })
        .collect()
}
