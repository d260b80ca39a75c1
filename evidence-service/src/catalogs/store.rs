//! SQL of catalogues: one row beside each entry.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::time::Timestamp;
use tokio_postgres::types::ToSql;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::executions;
use crate::ledger::store::{digest, number, signed, unreadable};

statements! {
    SAME = "select seq, bytes, provider from catalogs where project_id = $1 and digest = $2 order by seq";
    UNSIGNED = "select count(*), min(at) from catalogs where project_id = $1 and provider is null \
                and at > (extract(epoch from clock_timestamp()) * 1000)::bigint - 3600000";
    INSERT = "insert into catalogs (project_id, seq, at, digest, bytes, provider) values ($1, $2, $3, $4, $5, $6)";
}

/// What to read under the lock.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(super) kid: String,
    pub(super) digest: Digest,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Known {
    pub(super) keys: executions::Known,
    pub(super) same: Vec<Same>,
    /// Of the last hour, those that nobody signed; and when the first of them came.
    pub(super) unsigned: u64,
    pub(super) unsigned_since: Option<Timestamp>,
}

/// An entry that states the same.
#[derive(Debug)]
pub(super) struct Same {
    pub(super) seq: u64,
    pub(super) bytes: Digest,
    pub(super) provider: Option<ProviderId>,
}

pub(crate) async fn known(tx: &ProjectTx<'_>, asked: &Asked) -> Result<Known, DatabaseError> {
    let keys = executions::store::about(tx, &[executions::Asked::about_key(&asked.kid)]).await?;
    let keys = keys.into_iter().next().ok_or_else(|| unreadable("no answer about a key"))?;
    let project = tx.project().uuid();
    let rows = tx.rows(SAME, &[&project, &asked.digest.bytes().as_slice()]).await?;
    let same = rows.iter().map(|row| {
        let provider: Option<&str> = row.try_get("provider")?;
        Ok(Same {
            seq: number(row.try_get("seq")?)?,
            bytes: digest(row.try_get("bytes")?)?,
            provider: provider.map(str::parse).transpose().map_err(unreadable)?,
        })
    });
    let same = same.collect::<Result<_, DatabaseError>>()?;
    let counted = tx.row(UNSIGNED, &[&project]).await?;
    let since: Option<i64> = counted.try_get(1)?;
    Ok(Known {
        keys,
        same,
        unsigned: number(counted.try_get(0)?)?,
        unsigned_since: since.map(crate::ledger::store::time).transpose()?,
    })
}

pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) digest: Digest,
    pub(super) bytes: Digest,
    pub(super) provider: Option<ProviderId>,
}

pub(super) async fn insert(tx: &ProjectTx<'_>, row: &Row) -> Result<(), DatabaseError> {
    let provider = row.provider.as_ref().map(ProviderId::as_str);
    let parameters: [&(dyn ToSql + Sync); 6] = [
        &tx.project().uuid(),
        &signed(row.seq)?,
        &row.at.millis(),
        &row.digest.bytes().as_slice(),
        &row.bytes.bytes().as_slice(),
        &provider,
    ];
    tx.change(1, INSERT, &parameters).await
}
