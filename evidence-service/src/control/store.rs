//! SQL of what decides.

use counterfoil_core::control::Credential;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, KeyId};
use counterfoil_core::statement::PublishedType;
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, unreadable};

statements! {
    INSERT_DOCUMENT = "insert into documents (project_id, seq, kind, digest, text) values ($1, $2, $3, $4, $5)";
    DOCUMENT = "select text from documents where project_id = $1 and kind = $2 and digest = $3 \
                order by seq desc limit 1";
    CREDENTIALS = "select key_id, digest, agent, principal, revoked_at is not null as revoked from credentials \
                   where project_id = $1 order by key_id";
    // Changes whenever a snapshot would: cheap enough to ask for several times a second.
    STAMP = "select h.control, h.floor, h.gen, h.killed, \
             (select count(*) + count(revoked_at) from credentials c where c.project_id = $1) as credentials, \
             (select count(*) from grants g where g.project_id = $1 and g.ended is null and g.until > $2) as grants \
             from heads h where h.project_id = $1";
}

/// What a waiting gateway compares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    pub(crate) control: i64,
    pub(crate) floor: i64,
    pub(crate) generation: i64,
    pub(crate) killed: bool,
    pub(crate) credentials: i64,
    /// How many stand: time ends them without a word.
    pub(crate) grants: i64,
}

pub(crate) async fn stamp(tx: &ProjectTx<'_>, now: Timestamp) -> Result<Option<Stamp>, DatabaseError> {
    let row = tx.maybe_row(STAMP, &[&tx.project().uuid(), &now.millis()]).await?;
    row.map(|row| {
        Ok(Stamp {
            control: row.try_get("control")?,
            floor: row.try_get("floor")?,
            generation: row.try_get("gen")?,
            killed: row.try_get("killed")?,
            credentials: row.try_get("credentials")?,
            grants: row.try_get("grants")?,
        })
    })
    .transpose()
}

pub(super) async fn insert_document(
    tx: &ProjectTx<'_>,
    seq: u64,
    typ: PublishedType,
    document: Digest,
    text: &str,
) -> Result<(), DatabaseError> {
    let seq = i64::try_from(seq).map_err(unreadable)?;
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&tx.project().uuid(), &seq, &typ.kind().as_str(), &document.bytes().as_slice(), &text];
    tx.change(1, INSERT_DOCUMENT, &parameters).await
}

/// The text of a published document.
pub(crate) async fn document(
    tx: &ProjectTx<'_>,
    typ: PublishedType,
    wanted: Digest,
) -> Result<String, DatabaseError> {
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&tx.project().uuid(), &typ.kind().as_str(), &wanted.bytes().as_slice()];
    Ok(tx.row(DOCUMENT, &parameters).await?.try_get(0)?)
}

pub(super) async fn credentials(tx: &ProjectTx<'_>) -> Result<Vec<Credential>, DatabaseError> {
    let rows = tx.rows(CREDENTIALS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            Ok(Credential {
                key: KeyId::from_uuid(row.try_get("key_id")?),
                digest: digest(row.try_get("digest")?)?,
                agent: AgentId::from_uuid(row.try_get("agent")?),
                principal: row.try_get("principal")?,
                revoked: row.try_get("revoked")?,
            })
        })
        .collect()
}
