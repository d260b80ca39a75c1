//! SQL that reads entries to compare them.

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Entry;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::PublicKey;
use counterfoil_core::reconcile::ProviderKey;
use counterfoil_core::statement::Statement;
use counterfoil_core::tree::Hash;
use uuid::Uuid;

use crate::database::{DatabaseError, Parameters, ProjectTx, Sql, statements};
use crate::ledger::store::{EntryRow, number, signed, unreadable};

statements! {
    // What is compared has its body read; of the rest the place is enough.
    BATCH = "select seq, at, kind, body_digest, prev, ''::bytea as path, null::text as note, action, \
             case when kind in ('decision', 'observation', 'execution', 'catalog', 'finding') then body end as body \
             from entries where project_id = $1 and seq >= $2 and seq < $4 order by seq limit $3";
    NOTES = "select seq, at, kind, body_digest, prev, ''::bytea as path, null::text as note, action, body \
             from entries where project_id = $1 and seq >= $2 and seq < $4 \
             and kind in ('finding', 'clearance', 'resolution') order by seq limit $3";
    AT = "select seq, at, kind, body_digest, prev, ''::bytea as path, null::text as note, action, body \
          from entries where project_id = $1 and seq = any($2) order by seq";
    // `offset 0`: by action, one after the other, whatever the planner thinks of a ledger that was empty when it planned.
    EARLY = "select e.seq, e.at, e.kind, e.body_digest, e.prev, ''::bytea as path, null::text as note, e.action, e.body \
             from (select distinct n.action from unnest($2::uuid[]) as n (action)) n cross join lateral ( \
             select * from entries e where e.project_id = $1 and e.action = n.action and e.seq < $3 \
             and e.kind = 'observation' offset 0) e order by e.seq";
    REGISTRIES = "select seq, at, kind, body_digest, prev, ''::bytea as path, null::text as note, action, body \
                  from entries where project_id = $1 and seq >= $2 and kind = 'registry' order by seq";
    EXECUTION_KEYS = "select x, provider, introduced, ended from signing_keys \
                      where project_id = $1 and purpose = 'execution' and provider is not null order by introduced";
    ROOTS = "select size, root from checkpoints where project_id = $1 and size = any($2)";
}

/// An entry, and what its body says. None where the body was erased, was not asked for, or is not what was numbered:
/// then the self-audit says so.
#[derive(Debug)]
pub(in crate::reconciliation) struct Entered {
    pub(in crate::reconciliation) entry: Entry,
    pub(in crate::reconciliation) statement: Option<Statement>,
    /// As the index has it: all that is left of an erased body.
    pub(in crate::reconciliation) action: Option<ActionId>,
}

impl Entered {
    fn read(tx: &ProjectTx<'_>, row: &tokio_postgres::Row) -> Result<Self, DatabaseError> {
        let action = row.try_get::<_, Option<Uuid>>("action")?.map(ActionId::from_uuid);
        let EntryRow { entry, body, .. } = EntryRow::read(tx.project(), row)?;
        let body = body.filter(|body| Digest::of(body) == entry.body);
        let statement = body.and_then(|body| Envelope::parse(&body).ok()?.statement().ok());
        Ok(Self { entry, statement, action })
    }
}

/// Entries from a place on, below the head's size, in order.
pub(in crate::reconciliation) async fn batch(
    tx: &ProjectTx<'_>,
    from: u64,
    most: i64,
    size: u64,
) -> Result<Vec<Entered>, DatabaseError> {
    entered(tx, BATCH, &[&tx.project().uuid(), &signed(from)?, &most, &signed(size)?]).await
}

/// Findings, clearances and resolutions from a place on, below the head's size, in order.
pub(in crate::reconciliation) async fn notes(
    tx: &ProjectTx<'_>,
    from: u64,
    most: i64,
    size: u64,
) -> Result<Vec<Entered>, DatabaseError> {
    entered(tx, NOTES, &[&tx.project().uuid(), &signed(from)?, &most, &signed(size)?]).await
}

pub(in crate::reconciliation) async fn at(
    tx: &ProjectTx<'_>,
    places: &[u64],
) -> Result<Vec<Entered>, DatabaseError> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let places = places.iter().map(|seq| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    entered(tx, AT, &[&tx.project().uuid(), &places]).await
}

/// Observations about these actions that stand before a place.
pub(in crate::reconciliation) async fn early(
    tx: &ProjectTx<'_>,
    actions: &[ActionId],
    before: u64,
) -> Result<Vec<Entered>, DatabaseError> {
    if actions.is_empty() {
        return Ok(Vec::new());
    }
    let actions: Vec<Uuid> = actions.iter().map(|action| action.uuid()).collect();
    entered(tx, EARLY, &[&tx.project().uuid(), &actions, &signed(before)?]).await
}

/// `registry/v1` from a place on.
pub(in crate::reconciliation) async fn registries(
    tx: &ProjectTx<'_>,
    from: u64,
) -> Result<Vec<Entered>, DatabaseError> {
    entered(tx, REGISTRIES, &[&tx.project().uuid(), &signed(from)?]).await
}

async fn entered(
    tx: &ProjectTx<'_>,
    sql: Sql,
    parameters: Parameters<'_>,
) -> Result<Vec<Entered>, DatabaseError> {
    let rows = tx.rows(sql, parameters).await?;
    rows.iter().map(|row| Entered::read(tx, row)).collect()
}

/// Every execution key that the project ever had.
pub(in crate::reconciliation) async fn execution_keys(
    tx: &ProjectTx<'_>,
) -> Result<Vec<ProviderKey>, DatabaseError> {
    let rows = tx.rows(EXECUTION_KEYS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            Ok(ProviderKey {
                key: PublicKey::parse(row.try_get("x")?).map_err(unreadable)?,
                provider: row.try_get::<_, &str>("provider")?.parse().map_err(unreadable)?,
                introduced: number(row.try_get("introduced")?)?,
                ended: row.try_get::<_, Option<i64>>("ended")?.map(number).transpose()?,
            })
        })
        .collect()
}

/// The roots of checkpoints that were signed, by size.
pub(in crate::reconciliation) async fn roots(
    tx: &ProjectTx<'_>,
    sizes: &[u64],
) -> Result<Vec<(u64, Hash)>, DatabaseError> {
    let sizes: Vec<i64> = sizes.iter().filter_map(|size| i64::try_from(*size).ok()).collect();
    if sizes.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.rows(ROOTS, &[&tx.project().uuid(), &sizes]).await?;
    rows.iter()
        .map(|row| {
            let root: &[u8] = row.try_get(1)?;
            Ok((number(row.try_get(0)?)?, root.try_into().map(Hash::from_bytes).map_err(unreadable)?))
        })
        .collect()
}
