//! SQL of grants: their texts, and which of them stand. Whatever changes a row runs under the lock of the project's head.

use counterfoil_core::control::GrantDocument;
use counterfoil_core::id::GrantId;
use counterfoil_core::json::canonical_text;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Standing;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, time, unreadable};

statements! {
    INSERT_GRANT = "insert into grants (project_id, seq, grant_id, agent, service, verb, digest, document, until) \
                    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    END_GRANT = "update grants set ended = $3 where project_id = $1 and grant_id = $2 and ended is null";
    END_ALL = "update grants set ended = $2 where project_id = $1 and ended is null";
    STANDING = "select seq, document from grants where project_id = $1 and ended is null and until > $2 \
                order by grant_id";
    LISTED = "select seq, document from grants where project_id = $1 and ended is null and until > $2 \
              order by agent, service, verb, grant_id";
    ALL_GRANTS = "select seq, document, ended, grant_id, agent, service, verb, digest, until from grants \
                  where project_id = $1 order by seq";
    GRANT_ENTRIES = "select e.seq, e.body from entries e where e.project_id = $1 and e.kind in ('grant', 'kill') \
                     and e.body is not null and e.seq >= $2 order by e.seq limit $3";
    TEXT = "select document from grants where project_id = $1 and grant_id = $2 and ended is null";
}

/// The text of what an entry gave, renewed or shortened.
pub(crate) async fn insert(
    tx: &ProjectTx<'_>,
    seq: u64,
    document: &GrantDocument,
) -> Result<(), DatabaseError> {
    let text = canonical_text(&serde_json::to_value(document).map_err(unreadable)?);
    let digest = document.digest();
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &tx.project().uuid(),
        &signed(seq)?,
        &document.grant.uuid(),
        &document.agent.uuid(),
        &document.service.as_str(),
        &document.verb.as_str(),
        &digest.bytes().as_slice(),
        &text,
        &document.until.millis(),
    ];
    tx.change(1, INSERT_GRANT, &parameters).await
}

/// The entry `seq` takes its place, or takes it away.
pub(super) async fn end(tx: &ProjectTx<'_>, grant: GrantId, seq: u64) -> Result<(), DatabaseError> {
    tx.change(1, END_GRANT, &[&tx.project().uuid(), &grant.uuid(), &signed(seq)?]).await
}

/// The kill at `seq` takes them all.
pub(crate) async fn end_all(tx: &ProjectTx<'_>, seq: u64) -> Result<(), DatabaseError> {
    tx.touch(END_ALL, &[&tx.project().uuid(), &signed(seq)?]).await.map(drop)
}

/// Texts of the grants that stand then.
pub(crate) async fn standing(
    tx: &ProjectTx<'_>,
    now: Timestamp,
) -> Result<Vec<GrantDocument>, DatabaseError> {
    let rows = tx.rows(STANDING, &[&tx.project().uuid(), &now.millis()]).await?;
    rows.iter().map(|row| document(row.try_get("document")?)).collect()
}

pub(super) async fn list(tx: &ProjectTx<'_>, now: Timestamp) -> Result<Vec<Standing>, DatabaseError> {
    let rows = tx.rows(LISTED, &[&tx.project().uuid(), &now.millis()]).await?;
    rows.iter()
        .map(|row| {
            Ok(Standing { seq: number(row.try_get("seq")?)?, document: document(row.try_get("document")?)? })
        })
        .collect()
}

/// The text of a grant that nothing ended.
pub(super) async fn text(tx: &ProjectTx<'_>, grant: GrantId) -> Result<GrantDocument, DatabaseError> {
    let row = tx.row(TEXT, &[&tx.project().uuid(), &grant.uuid()]).await?;
    document(row.try_get(0)?)
}

/// Every text that there ever was, with what ended it. One whose columns say something
/// else than its text comes with another text.
pub(super) async fn all(tx: &ProjectTx<'_>) -> Result<Vec<(u64, GrantDocument, Option<u64>)>, DatabaseError> {
    let rows = tx.rows(ALL_GRANTS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            let text = document(row.try_get("document")?)?;
            let seq = number(row.try_get("seq")?)?;
            let finds = row.try_get::<_, Uuid>("grant_id")? == text.grant.uuid()
                && row.try_get::<_, Uuid>("agent")? == text.agent.uuid()
                && row.try_get::<_, &str>("service")? == text.service.as_str()
                && row.try_get::<_, &str>("verb")? == text.verb.as_str()
                && row.try_get::<_, &[u8]>("digest")? == text.digest().bytes().as_slice();
            // What finds it or how long it is found is not what it says: as if it had another text.
            let until = if finds { time(row.try_get("until")?)? } else { time(0)? };
            let ended: Option<i64> = row.try_get("ended")?;
            Ok((seq, GrantDocument { until, ..text }, ended.map(number).transpose()?))
        })
        .collect()
}

/// Bodies of what gives, changes and takes grants, from a number on.
pub(super) async fn entries(
    tx: &ProjectTx<'_>,
    from: u64,
    most: i64,
) -> Result<Vec<(u64, Vec<u8>)>, DatabaseError> {
    let rows = tx.rows(GRANT_ENTRIES, &[&tx.project().uuid(), &signed(from)?, &most]).await?;
    rows.iter().map(|row| Ok((number(row.try_get("seq")?)?, row.try_get("body")?))).collect()
}

fn document(text: &str) -> Result<GrantDocument, DatabaseError> {
    serde_json::from_str(text).map_err(unreadable)
}
