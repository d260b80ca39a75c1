//! SQL of declared sessions: what is read under the head's lock, and the rows beside the entries.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, KeyId, SessionId};
use serde::Deserialize;
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, number, signed, unreadable};

statements! {
    DECLARED = "select key_id, external, session, agent, head_hash, closed from declared_sessions \
                where project_id = $1 and key_id = $2 and external = any($3)";
    SESSIONS = "select key_id, external, session, agent, head_hash, closed from declared_sessions \
                where project_id = $1 and session = any($2)";
    // `offset 0`: by place, one after the other, whatever the planner thinks of a ledger that was empty when it planned.
    PLACES = "select p.session, p.place, p.fingerprint, p.seq \
              from unnest($2::uuid[], $3::bigint[]) as asked (session, place) cross join lateral ( \
              select * from declared_places p where p.project_id = $1 and p.session = asked.session \
              and p.place = asked.place offset 0) p";
    KEYED = "select json_build_object('fingerprint', 'sha256:' || encode(fingerprint, 'hex'), 'seq', seq) from idempotency \
             where project_id = $1 and env = $2 and credential = $3 and key = $4";
    DECLARE = "insert into declared_sessions (project_id, key_id, external, session, agent, opened, head_hash) \
               values ($1, $2, $3, $4, $5, $6, $7)";
    END_SESSION = "update declared_sessions set closed = $4 \
             where project_id = $1 and key_id = $2 and external = $3 and closed is null";
    TAKE = "insert into declared_places (project_id, session, place, fingerprint, seq) \
            select $1, t.* from unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::bigint[]) as t \
            on conflict (project_id, session, place) \
            do update set fingerprint = excluded.fingerprint, seq = excluded.seq";
    ISSUE = "insert into issued_hashes (project_id, session, seq, hash) \
             select $1, i.* from unnest($2::uuid[], $3::bigint[], $4::bytea[]) as i";
    // The place of the decision bounds it: what is issued later was not known to it.
    ISSUED = "select asked.seq from unnest($2::uuid[], $3::bytea[], $4::bigint[]) as asked (session, hash, seq) \
              cross join lateral (select true from issued_hashes i where i.project_id = $1 \
              and i.session = asked.session and i.hash = asked.hash and i.seq < asked.seq limit 1) i";
}

/// A session as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) key: KeyId,
    pub(crate) external: [u8; 32],
    pub(crate) session: SessionId,
    pub(crate) agent: AgentId,
    pub(crate) head_hash: Digest,
    pub(crate) closed: bool,
}

/// A place that is taken, and by which decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) session: SessionId,
    pub(crate) place: u64,
    pub(crate) fingerprint: Digest,
    pub(crate) seq: u64,
}

/// Sessions that a key declared under these names.
pub(crate) async fn declared(
    tx: &ProjectTx<'_>,
    key: KeyId,
    externals: &[[u8; 32]],
) -> Result<Vec<Declared>, DatabaseError> {
    let externals: Vec<&[u8]> = externals.iter().map(<[u8; 32]>::as_slice).collect();
    let rows = tx.rows(DECLARED, &[&tx.project().uuid(), &key.uuid(), &externals]).await?;
    rows.iter().map(read).collect()
}

pub(crate) async fn sessions(tx: &ProjectTx<'_>, asked: &[Uuid]) -> Result<Vec<Declared>, DatabaseError> {
    let rows = tx.rows(SESSIONS, &[&tx.project().uuid(), &asked]).await?;
    rows.iter().map(read).collect()
}

fn read(row: &tokio_postgres::Row) -> Result<Declared, DatabaseError> {
    Ok(Declared {
        key: KeyId::from_uuid(row.try_get("key_id")?),
        external: row.try_get::<_, &[u8]>("external")?.try_into().map_err(unreadable)?,
        session: SessionId::from_uuid(row.try_get("session")?),
        agent: AgentId::from_uuid(row.try_get("agent")?),
        head_hash: digest(row.try_get("head_hash")?)?,
        closed: row.try_get::<_, Option<i64>>("closed")?.is_some(),
    })
}

/// Of these places, those that are taken.
pub(crate) async fn places(tx: &ProjectTx<'_>, asked: &[(Uuid, i64)]) -> Result<Vec<Taken>, DatabaseError> {
    let (sessions, places): (Vec<Uuid>, Vec<i64>) = asked.iter().copied().unzip();
    let rows = tx.rows(PLACES, &[&tx.project().uuid(), &sessions, &places]).await?;
    let taken = rows.iter().map(|row| {
        Ok(Taken {
            session: SessionId::from_uuid(row.try_get("session")?),
            place: number(row.try_get("place")?)?,
            fingerprint: digest(row.try_get("fingerprint")?)?,
            seq: number(row.try_get("seq")?)?,
        })
    });
    taken.collect()
}

/// An idempotency key that is taken: by which fingerprint, and by which entry.
#[derive(Debug, Deserialize)]
pub(super) struct Keyed {
    pub(super) fingerprint: Digest,
    pub(super) seq: u64,
}

pub(super) async fn keyed(
    tx: &ProjectTx<'_>,
    env: &str,
    credential: KeyId,
    key: &str,
) -> Result<Option<Keyed>, DatabaseError> {
    let row = tx.maybe_row(KEYED, &[&tx.project().uuid(), &env, &credential.uuid(), &key]).await?;
    row.map(|row| Ok(row.try_get::<_, Json<Keyed>>(0)?.0)).transpose()
}

/// A session that was opened at `seq`; its first hash is issued with it.
pub(super) async fn declare(tx: &ProjectTx<'_>, row: &Declared, seq: u64) -> Result<(), DatabaseError> {
    let opened = signed(seq)?;
    let parameters: [&(dyn ToSql + Sync); 7] = [
        &tx.project().uuid(),
        &row.key.uuid(),
        &row.external.as_slice(),
        &row.session.uuid(),
        &row.agent.uuid(),
        &opened,
        &row.head_hash.bytes().as_slice(),
    ];
    tx.change(1, DECLARE, &parameters).await?;
    issue(tx, &[(row.session, seq, row.head_hash)]).await
}

pub(super) async fn close(
    tx: &ProjectTx<'_>,
    external: &[u8; 32],
    key: KeyId,
    seq: u64,
) -> Result<(), DatabaseError> {
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tx.project().uuid(), &key.uuid(), &external.as_slice(), &signed(seq)?];
    tx.change(1, END_SESSION, &parameters).await
}

/// Places that decisions of this commit take, and the hashes of their entries.
pub(crate) async fn take(tx: &ProjectTx<'_>, taken: &[(Taken, Digest)]) -> Result<(), DatabaseError> {
    if taken.is_empty() {
        return Ok(());
    }
    let sessions: Vec<Uuid> = taken.iter().map(|(taken, _)| taken.session.uuid()).collect();
    let places = taken.iter().map(|(taken, _)| signed(taken.place)).collect::<Result<Vec<i64>, _>>()?;
    let fingerprints: Vec<&[u8]> =
        taken.iter().map(|(taken, _)| taken.fingerprint.bytes().as_slice()).collect();
    let seqs = taken.iter().map(|(taken, _)| signed(taken.seq)).collect::<Result<Vec<i64>, _>>()?;
    let project = tx.project().uuid();
    tx.change(taken.len() as u64, TAKE, &[&project, &sessions, &places, &fingerprints, &seqs]).await?;
    let issued: Vec<_> = taken.iter().map(|(taken, hash)| (taken.session, taken.seq, *hash)).collect();
    issue(tx, &issued).await
}

async fn issue(tx: &ProjectTx<'_>, issued: &[(SessionId, u64, Digest)]) -> Result<(), DatabaseError> {
    let sessions: Vec<Uuid> = issued.iter().map(|(session, ..)| session.uuid()).collect();
    let seqs = issued.iter().map(|(_, seq, _)| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    let hashes: Vec<&[u8]> = issued.iter().map(|(.., hash)| hash.bytes().as_slice()).collect();
    tx.change(issued.len() as u64, ISSUE, &[&tx.project().uuid(), &sessions, &seqs, &hashes]).await
}

/// Of decisions that name a hash as the one before, by their places, those whose session had issued it.
pub(crate) async fn issued(
    tx: &ProjectTx<'_>,
    asked: &[(SessionId, Digest, u64)],
) -> Result<Vec<u64>, DatabaseError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let sessions: Vec<Uuid> = asked.iter().map(|(session, ..)| session.uuid()).collect();
    let hashes: Vec<&[u8]> = asked.iter().map(|(_, hash, _)| hash.bytes().as_slice()).collect();
    let seqs = asked.iter().map(|(.., seq)| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    let rows = tx.rows(ISSUED, &[&tx.project().uuid(), &sessions, &hashes, &seqs]).await?;
    rows.iter().map(|row| number(row.try_get(0)?)).collect()
}
