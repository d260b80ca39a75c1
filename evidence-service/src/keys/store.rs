//! SQL of signing keys: a projection of `key/v1` entries.

use counterfoil_core::id::ProviderId;
use counterfoil_core::key::{Jwk, PublicKey, Purpose, Thumbprint};
use counterfoil_core::statement::{KeyEvent, KeyStatement};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, time, unreadable};

statements! {
    INSERT = "insert into signing_keys (project_id, thumbprint, purpose, provider, x, introduced, introduced_at) \
              values ($1, $2, $3, $4, $5, $6, $7)";
    END = "update signing_keys set ended = $3, ended_at = $4, revoked = $5 \
           where project_id = $1 and thumbprint = $2 and ended is null";
    ALL_KEYS = "select x, purpose, provider, introduced_at, ended_at, revoked, used from signing_keys \
                where project_id = $1 order by introduced";
    NAME = "insert into key_aliases (project_id, provider, alias, thumbprint) \
            select $1, $2, a.* from unnest($3::text[], $4::text[]) as a on conflict do nothing";
    ALIASES = "select alias, thumbprint from key_aliases where project_id = $1 order by alias";
}

/// A key as the project knows it.
#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) key: PublicKey,
    pub(crate) purpose: Purpose,
    /// Whose it is, where it is an execution key.
    pub(crate) provider: Option<ProviderId>,
    pub(crate) introduced_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) revoked: bool,
    /// The first entry that it signed, where it is an execution key.
    pub(crate) used: Option<u64>,
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
    said: &KeyStatement,
    seq: u64,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let provider = said.provider.as_ref().map(ToString::to_string);
    let (kid, x) = (said.thumbprint.as_str(), &said.key.x);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&tx.project().uuid(), &kid, &said.purpose.as_str(), &provider, x, &signed(seq)?, &at.millis()];
    tx.change(1, INSERT, &parameters).await
}

pub(super) async fn end(
    tx: &ProjectTx<'_>,
    said: &KeyStatement,
    seq: u64,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let revoked = said.event == KeyEvent::Revoked;
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&tx.project().uuid(), &said.thumbprint.as_str(), &signed(seq)?, &at.millis(), &revoked];
    tx.change(1, END, &parameters).await
}

/// Every key the project ever had, oldest first.
pub(crate) async fn all(tx: &ProjectTx<'_>) -> Result<Vec<KeyRow>, DatabaseError> {
    let rows = tx.rows(ALL_KEYS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            let ended: Option<i64> = row.try_get("ended_at")?;
            let used: Option<i64> = row.try_get("used")?;
            let provider: Option<&str> = row.try_get("provider")?;
            Ok(KeyRow {
                key: PublicKey::parse(row.try_get("x")?).map_err(unreadable)?,
                purpose: purpose(row.try_get("purpose")?)?,
                provider: provider.map(str::parse).transpose().map_err(unreadable)?,
                introduced_at: time(row.try_get("introduced_at")?)?,
                ended_at: ended.map(time).transpose()?,
                revoked: row.try_get("revoked")?,
                used: used.map(number).transpose()?,
            })
        })
        .collect()
}

/// What the provider calls these keys, beside what it called them before.
pub(crate) async fn name(
    tx: &ProjectTx<'_>,
    provider: &ProviderId,
    names: &[(String, Thumbprint)],
) -> Result<(), DatabaseError> {
    let aliases: Vec<&str> = names.iter().map(|(alias, _)| alias.as_str()).collect();
    let kids: Vec<&str> = names.iter().map(|(_, kid)| kid.as_str()).collect();
    let provider = provider.to_string();
    tx.touch(NAME, &[&tx.project().uuid(), &provider, &aliases, &kids]).await.map(drop)
}

/// Every alias of the project, with the key that it stands for.
pub(crate) async fn aliases(tx: &ProjectTx<'_>) -> Result<Vec<(String, Thumbprint)>, DatabaseError> {
    let rows = tx.rows(ALIASES, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get::<_, &str>(1)?.parse().map_err(unreadable)?)))
        .collect()
}

fn purpose(text: &str) -> Result<Purpose, DatabaseError> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(unreadable)
}
