//! SQL of signing keys: a projection of `key/v1` entries.

use counterfoil_core::key::{Jwk, PublicKey, Purpose};
use counterfoil_core::statement::KeyEvent;
use counterfoil_core::time::Timestamp;

use super::change::KeyChange;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{time, unreadable};

statements! {
    INSERT = "insert into signing_keys (project_id, thumbprint, purpose, provider, x, introduced, introduced_at) \
              values ($1, $2, $3, $4, $5, $6, $7)";
    END = "update signing_keys set ended = $3, ended_at = $4, revoked = $5 \
           where project_id = $1 and thumbprint = $2 and ended is null";
    ALL_KEYS = "select x, purpose, introduced_at, ended_at from signing_keys where project_id = $1 \
                order by introduced";
}

/// A key as the project knows it.
#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) key: PublicKey,
    pub(crate) purpose: Purpose,
    pub(crate) introduced_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
}

impl KeyRow {
    pub(crate) fn jwk(&self) -> Jwk {
        let jwk = Jwk::new(&self.key, self.purpose).valid_from(self.introduced_at);
        match self.ended_at {
            Some(ended) => jwk.valid_until(ended),
            None => jwk,
        }
    }
}

pub(super) async fn insert(
    tx: &ProjectTx<'_>,
    change: &KeyChange,
    seq: u64,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let provider = change.provider.as_ref().map(ToString::to_string);
    let seq = i64::try_from(seq).map_err(unreadable)?;
    let (kid, x) = (change.key.thumbprint().to_string(), change.key.x());
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&tx.project().uuid(), &kid, &change.purpose.as_str(), &provider, &x, &seq, &at.millis()];
    tx.change(1, INSERT, &parameters).await
}

pub(super) async fn end(
    tx: &ProjectTx<'_>,
    change: &KeyChange,
    seq: u64,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let seq = i64::try_from(seq).map_err(unreadable)?;
    let revoked = change.event == KeyEvent::Revoked;
    let kid = change.key.thumbprint().to_string();
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&tx.project().uuid(), &kid, &seq, &at.millis(), &revoked];
    tx.change(1, END, &parameters).await
}

/// Every key the project ever had, oldest first.
pub(crate) async fn all(tx: &ProjectTx<'_>) -> Result<Vec<KeyRow>, DatabaseError> {
    let rows = tx.rows(ALL_KEYS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            let ended: Option<i64> = row.try_get("ended_at")?;
            Ok(KeyRow {
                key: PublicKey::parse(row.try_get("x")?).map_err(unreadable)?,
                purpose: purpose(row.try_get("purpose")?)?,
                introduced_at: time(row.try_get("introduced_at")?)?,
                ended_at: ended.map(time).transpose()?,
            })
        })
        .collect()
}

fn purpose(text: &str) -> Result<Purpose, DatabaseError> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(unreadable)
}
