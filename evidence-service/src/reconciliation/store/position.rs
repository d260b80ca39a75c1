//! SQL of how far a project was compared.

use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, time};

statements! {
    POSITION = "select h.size, h.last_at, coalesce(r.upto, 0) as upto, coalesce(r.noted, 0) as noted, \
                r.turn, (select min(m.again_after) from matters m \
                where m.project_id = $1 and m.again_after is not null) as due \
                from heads h left join reconciled r on r.project_id = h.project_id where h.project_id = $1";
    BEGIN = "insert into reconciled (project_id, upto, noted, turn) values ($1, $2, $3, 1) \
             on conflict (project_id) do nothing";
    ADVANCE = "update reconciled set upto = $2, noted = $3, turn = turn + 1 where project_id = $1 and turn = $4";
}

/// Where the comparison of a project stands, and where its head does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::reconciliation) struct Position {
    /// All entries below were compared.
    pub(in crate::reconciliation) upto: u64,
    /// Findings, clearances and resolutions below were taken over.
    pub(in crate::reconciliation) noted: u64,
    /// None before the first turn.
    pub(in crate::reconciliation) turn: Option<u64>,
    pub(in crate::reconciliation) size: u64,
    pub(in crate::reconciliation) last_at: Timestamp,
    /// When time alone may change something.
    pub(in crate::reconciliation) due: Option<Timestamp>,
}

/// None for a project without a head.
pub(in crate::reconciliation) async fn read(tx: &ProjectTx<'_>) -> Result<Option<Position>, DatabaseError> {
    let row = tx.maybe_row(POSITION, &[&tx.project().uuid()]).await?;
    row.map(|row| {
        Ok(Position {
            upto: number(row.try_get("upto")?)?,
            noted: number(row.try_get("noted")?)?,
            turn: row.try_get::<_, Option<i64>>("turn")?.map(number).transpose()?,
            size: number(row.try_get("size")?)?,
            last_at: time(row.try_get("last_at")?)?,
            due: row.try_get::<_, Option<i64>>("due")?.map(time).transpose()?,
        })
    })
    .transpose()
}

/// Moves on, and holds the row until the commit. Fails if another comparison was faster: then this one is given up.
pub(in crate::reconciliation) async fn advance(
    tx: &ProjectTx<'_>,
    from: &Position,
    upto: u64,
    noted: u64,
) -> Result<(), DatabaseError> {
    let (project, upto, noted) = (tx.project().uuid(), signed(upto)?, signed(noted)?);
    match from.turn {
        None => tx.change(1, BEGIN, &[&project, &upto, &noted]).await,
        Some(turn) => tx.change(1, ADVANCE, &[&project, &upto, &noted, &signed(turn)?]).await,
    }
}
