//! SQL of what is counted: forged and foreign statements, and definitions that changed.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProviderId, ToolName};
use counterfoil_core::key::Thumbprint;
use tokio_postgres::types::ToSql;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, number, signed, unreadable};

statements! {
    APART = "select sort, key, statements from apart_counts where project_id = $1 and hour = $2";
    ADD_APART = "insert into apart_counts (project_id, hour, sort, key, statements) \
                 select $1, a.* from unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[]) as a \
                 on conflict (project_id, hour, sort, key) \
                 do update set statements = apart_counts.statements + excluded.statements";
    CHANGED = "select t.provider, t.tool, t.control, t.pin \
               from unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[]) as n (provider, tool, control, pin) \
               join changed_tools t on t.project_id = $1 and t.provider = n.provider and t.tool = n.tool \
               and t.control = n.control and t.pin = n.pin";
    ADD_CHANGED = "insert into changed_tools (project_id, provider, tool, control, pin, seq) \
                   select $1, t.* from unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bigint[]) as t";
}

/// Why a statement is shown apart.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(in crate::reconciliation) enum Sort {
    /// No key that counts signed it.
    Forged,
    /// A key that counts signed what is not its own.
    Foreign,
}

impl Sort {
    fn as_str(self) -> &'static str {
        match self {
            Self::Forged => "forged",
            Self::Foreign => "foreign",
        }
    }
}

/// Statements of one sort, from one key, in one hour.
pub(in crate::reconciliation) type Heap = (i64, Sort, Option<Thumbprint>);

pub(in crate::reconciliation) async fn apart(
    tx: &ProjectTx<'_>,
    hour: i64,
) -> Result<Vec<(Heap, u64)>, DatabaseError> {
    let rows = tx.rows(APART, &[&tx.project().uuid(), &hour]).await?;
    rows.iter()
        .map(|row| {
            let sort = match row.try_get("sort")? {
                "forged" => Sort::Forged,
                _ => Sort::Foreign,
            };
            let key = match row.try_get("key")? {
                "" => None,
                kid => Some(kid.parse().map_err(unreadable)?),
            };
            Ok(((hour, sort, key), number(row.try_get("statements")?)?))
        })
        .collect()
}

pub(in crate::reconciliation) async fn add_apart(
    tx: &ProjectTx<'_>,
    heaps: &[(Heap, u64)],
) -> Result<(), DatabaseError> {
    if heaps.is_empty() {
        return Ok(());
    }
    let hours: Vec<i64> = heaps.iter().map(|((hour, ..), _)| *hour).collect();
    let sorts: Vec<&str> = heaps.iter().map(|((_, sort, _), _)| sort.as_str()).collect();
    let keys: Vec<&str> =
        heaps.iter().map(|((.., key), _)| key.as_ref().map_or("", Thumbprint::as_str)).collect();
    let counts = heaps.iter().map(|(_, count)| signed(*count)).collect::<Result<Vec<_>, _>>()?;
    let parameters: [&(dyn ToSql + Sync); 5] = [&tx.project().uuid(), &hours, &sorts, &keys, &counts];
    tx.change(heaps.len() as u64, ADD_APART, &parameters).await
}

/// A definition that is not the pinned one, under the registry that was published as `control`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(in crate::reconciliation) struct Changed {
    pub(in crate::reconciliation) provider: ProviderId,
    pub(in crate::reconciliation) tool: ToolName,
    pub(in crate::reconciliation) control: u64,
    pub(in crate::reconciliation) pin: Digest,
}

/// Those that TOOL_CHANGED was said of.
pub(in crate::reconciliation) async fn changed(
    tx: &ProjectTx<'_>,
    asked: &[Changed],
) -> Result<Vec<Changed>, DatabaseError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let columns = Columns::of(asked.iter())?;
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tx.project().uuid(), &columns.providers, &columns.tools, &columns.controls, &columns.pins];
    let rows = tx.rows(CHANGED, &parameters).await?;
    rows.iter()
        .map(|row| {
            Ok(Changed {
                provider: row.try_get::<_, &str>("provider")?.parse().map_err(unreadable)?,
                tool: row.try_get::<_, &str>("tool")?.parse().map_err(unreadable)?,
                control: number(row.try_get("control")?)?,
                pin: digest(row.try_get("pin")?)?,
            })
        })
        .collect()
}

pub(in crate::reconciliation) async fn add_changed(
    tx: &ProjectTx<'_>,
    changed: &[(Changed, u64)],
) -> Result<(), DatabaseError> {
    if changed.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(changed.iter().map(|(changed, _)| changed))?;
    let seqs = changed.iter().map(|(_, seq)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tx.project().uuid(), &columns.providers, &columns.tools, &columns.controls, &columns.pins, &seqs];
    tx.change(changed.len() as u64, ADD_CHANGED, &parameters).await
}

struct Columns<'c> {
    providers: Vec<&'c str>,
    tools: Vec<&'c str>,
    controls: Vec<i64>,
    pins: Vec<&'c [u8]>,
}

impl<'c> Columns<'c> {
    fn of(changed: impl Iterator<Item = &'c Changed> + Clone) -> Result<Self, DatabaseError> {
        Ok(Self {
            providers: changed.clone().map(|tool| tool.provider.as_str()).collect(),
            tools: changed.clone().map(|tool| tool.tool.as_str()).collect(),
            controls: changed.clone().map(|tool| signed(tool.control)).collect::<Result<_, _>>()?,
            pins: changed.map(|tool| tool.pin.bytes().as_slice()).collect(),
        })
    }
}
