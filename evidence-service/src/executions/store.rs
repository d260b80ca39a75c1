//! SQL of what providers stated: what is read under the head's lock, and the rows beside the entries.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::{PublicKey, Thumbprint};
use counterfoil_core::reconcile::ProviderKey;
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use super::weigh::{Asked, Known, Same};
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{number, signed, time, unreadable};

statements! {
    ABOUT = include_str!("about.sql");
    LIVE_KEYS = "select json_build_object('x', x, 'provider', provider, 'introduced', introduced, 'ended', ended) \
                 from signing_keys where project_id = $1 and purpose = 'execution' and ended is null \
                 order by introduced";
    INSERT = "insert into acceptances (project_id, seq, at, action, fingerprint, bytes, provider, sender, charged) \
              select $1, a.* from unnest($2::bigint[], $3::bigint[], $4::uuid[], $5::bytea[], $6::bytea[], \
                                         $7::text[], $8::text[], $9::boolean[]) as a";
    PROVE = "update signing_keys k set used = p.seq from unnest($2::text[], $3::bigint[]) as p (thumbprint, seq) \
             where k.project_id = $1 and k.thumbprint = p.thumbprint and k.used is null";
    AFTER = "select seq, provider from acceptances where project_id = $1 and seq > $2 order by seq limit $3";
}

/// One row beside one entry.
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) action: Uuid,
    pub(super) fingerprint: Digest,
    pub(super) bytes: Digest,
    pub(super) provider: Option<ProviderId>,
    pub(super) sender: String,
    pub(super) charged: bool,
}

#[derive(Deserialize)]
struct KeyJson {
    x: String,
    provider: ProviderId,
    introduced: u64,
    ended: Option<u64>,
}

#[derive(Deserialize)]
struct SameJson {
    seq: u64,
    provider: Option<ProviderId>,
    bytes: String,
}

/// What is known about each statement, in the order they were asked for. To be read under the head's lock.
pub(crate) async fn about(tx: &ProjectTx<'_>, asked: &[Asked]) -> Result<Vec<Known>, DatabaseError> {
    let actions: Vec<Uuid> = asked.iter().map(|asked| asked.action).collect();
    let decisions: Vec<Option<&[u8]>> =
        asked.iter().map(|asked| asked.decision.as_ref().map(|digest| digest.bytes().as_slice())).collect();
    let fingerprints: Vec<&[u8]> = asked.iter().map(|asked| asked.fingerprint.bytes().as_slice()).collect();
    let bytes: Vec<&[u8]> = asked.iter().map(|asked| asked.bytes.bytes().as_slice()).collect();
    let senders: Vec<&str> = asked.iter().map(|asked| asked.sender.as_str()).collect();
    let kids: Vec<&str> = asked.iter().map(|asked| asked.kid.as_str()).collect();
    let named: Vec<bool> = asked.iter().map(|asked| asked.named).collect();
    let project = tx.project().uuid();
    let parameters: [&(dyn ToSql + Sync); 8] =
        [&project, &actions, &decisions, &fingerprints, &bytes, &senders, &kids, &named];
    let rows = tx.rows(ABOUT, &parameters).await?;
    if rows.len() != asked.len() {
        return Err(DatabaseError::Unreadable("one answer for each statement".to_owned()));
    }
    let mut known = rows.iter().map(read).collect::<Result<Vec<Known>, _>>()?;
    let nameless = |(asked, known): &(&Asked, &mut Known)| asked.named && !known.by_kid;
    let mut nameless: Vec<&mut Known> =
        asked.iter().zip(&mut known).filter(nameless).map(|(_, known)| known).collect();
    if !nameless.is_empty() {
        let live = live_keys(tx).await?;
        nameless.iter_mut().for_each(|known| known.keys.clone_from(&live));
    }
    Ok(known)
}

fn read(row: &tokio_postgres::Row) -> Result<Known, DatabaseError> {
    let Json(keys): Json<Vec<KeyJson>> = row.try_get("keys")?;
    let Json(same): Json<Vec<SameJson>> = row.try_get("same")?;
    let same = same.into_iter().map(|same| {
        let bytes = format!("sha256:{}", same.bytes).parse().map_err(unreadable)?;
        Ok(Same { seq: same.seq, provider: same.provider, bytes })
    });
    let since: Option<i64> = row.try_get("charged_since")?;
    Ok(Known {
        by_kid: !keys.is_empty(),
        keys: keys.into_iter().map(KeyJson::key).collect::<Result<_, _>>()?,
        decided: row.try_get("decided")?,
        held: number(row.try_get("held")?)?,
        same: same.collect::<Result<_, DatabaseError>>()?,
        charged: number(row.try_get("charged")?)?,
        charged_since: since.map(time).transpose()?,
    })
}

async fn live_keys(tx: &ProjectTx<'_>) -> Result<Vec<ProviderKey>, DatabaseError> {
    let rows = tx.rows(LIVE_KEYS, &[&tx.project().uuid()]).await?;
    rows.iter()
        .map(|row| {
            let Json(key): Json<KeyJson> = row.try_get(0)?;
            key.key()
        })
        .collect()
}

impl KeyJson {
    fn key(self) -> Result<ProviderKey, DatabaseError> {
        let key = PublicKey::parse(&self.x).map_err(unreadable)?;
        Ok(ProviderKey { key, provider: self.provider, introduced: self.introduced, ended: self.ended })
    }
}

pub(super) async fn insert(tx: &ProjectTx<'_>, rows: &[Row]) -> Result<(), DatabaseError> {
    let seqs = rows.iter().map(|row| signed(row.seq)).collect::<Result<Vec<i64>, _>>()?;
    let times: Vec<i64> = rows.iter().map(|row| row.at.millis()).collect();
    let actions: Vec<Uuid> = rows.iter().map(|row| row.action).collect();
    let fingerprints: Vec<&[u8]> = rows.iter().map(|row| row.fingerprint.bytes().as_slice()).collect();
    let bytes: Vec<&[u8]> = rows.iter().map(|row| row.bytes.bytes().as_slice()).collect();
    let providers: Vec<Option<String>> =
        rows.iter().map(|row| row.provider.as_ref().map(ToString::to_string)).collect();
    let senders: Vec<&str> = rows.iter().map(|row| row.sender.as_str()).collect();
    let charged: Vec<bool> = rows.iter().map(|row| row.charged).collect();
    let project = tx.project().uuid();
    let parameters: [&(dyn ToSql + Sync); 9] =
        [&project, &seqs, &times, &actions, &fingerprints, &bytes, &providers, &senders, &charged];
    tx.change(rows.len() as u64, INSERT, &parameters).await
}

/// The first entry that each key signed.
pub(super) async fn prove_possession(
    tx: &ProjectTx<'_>,
    proved: &[(Thumbprint, u64)],
) -> Result<(), DatabaseError> {
    if proved.is_empty() {
        return Ok(());
    }
    let kids: Vec<&str> = proved.iter().map(|(kid, _)| kid.as_str()).collect();
    let seqs = proved.iter().map(|(_, seq)| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    tx.touch(PROVE, &[&tx.project().uuid(), &kids, &seqs]).await.map(drop)
}

/// Places of acceptances after a seq, oldest first, with whose key signed them.
pub(super) async fn after(
    tx: &ProjectTx<'_>,
    seq: i64,
    most: i64,
) -> Result<Vec<(u64, Option<String>)>, DatabaseError> {
    let rows = tx.rows(AFTER, &[&tx.project().uuid(), &seq, &most]).await?;
    rows.iter().map(|row| Ok((number(row.try_get(0)?)?, row.try_get(1)?))).collect()
}
