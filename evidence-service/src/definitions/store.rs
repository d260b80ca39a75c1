//! SQL of definitions.

use counterfoil_core::definition::Definition;
use counterfoil_core::digest::Digest;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;

use super::change::{Change, between};
use super::{MOST_A_PROJECT, MOST_A_TOOL};
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, time};

statements! {
    // What is known is only seen again; what is new has to find room.
    SEEN = "update definitions set at = greatest(at, $5), pin = $6 \
            where project_id = $1 and provider = $2 and tool = $3 and digest = $4";
    KEEP = "insert into definitions (project_id, provider, tool, digest, at, pin, lines) \
            select $1, $2, $3, $4, $5, $6, $7 \
            where (select count(*) from definitions where project_id = $1 and provider = $2 and tool = $3) < $8 \
            and (select count(*) from definitions where project_id = $1) < $9 \
            on conflict (project_id, provider, tool, digest) do nothing";
    CHANGES = include_str!("changes.sql");
}

pub(super) async fn keep(
    tx: &ProjectTx<'_>,
    told: &Definition,
    listed: Digest,
    lines: &str,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let (project, at) = (tx.project().uuid(), at.millis());
    let (provider, tool) = (told.provider.as_str(), told.tool.as_str());
    let (listed, pin) = (listed.bytes().as_slice(), told.pin.bytes().as_slice());
    let parameters: [&(dyn ToSql + Sync); 9] =
        [&project, &provider, &tool, &listed, &at, &pin, &lines, &MOST_A_TOOL, &MOST_A_PROJECT];
    if tx.touch(SEEN, &parameters[..6]).await? == 0 {
        tx.touch(KEEP, &parameters).await?;
    }
    Ok(())
}

/// Tools whose newest definition is not the one that was pinned, the latest first.
pub(crate) async fn changes(tx: &ProjectTx<'_>, most: i64) -> Result<Vec<Change>, DatabaseError> {
    let rows = tx.rows(CHANGES, &[&tx.project().uuid(), &most]).await?;
    let change = |row: &tokio_postgres::Row| {
        let (listed, pinned): (&str, Option<&str>) = (row.try_get("listed")?, row.try_get("pinned")?);
        let (lines, more) = pinned.map_or((Vec::new(), 0), |pinned| between(pinned, listed));
        Ok(Change {
            provider: row.try_get("provider")?,
            tool: row.try_get("tool")?,
            pinned: digest(row.try_get("pin")?)?,
            listed: digest(row.try_get("digest")?)?,
            at: time(row.try_get("at")?)?,
            lines,
            more,
        })
    };
    rows.iter().map(change).collect()
}
