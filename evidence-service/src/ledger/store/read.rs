//! Reading the ledger.

use std::collections::{BTreeSet, HashMap};

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::hold::HoldIs;
use counterfoil_core::id::{AgentId, KeyId, ProjectId, ProviderId};
use counterfoil_core::key::{PublicKey, Purpose, Thumbprint};
use counterfoil_core::session::Running;
use counterfoil_core::statement::{Environment, Scope};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::{Frontier, Hash};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use crate::database::{Client, DatabaseError, ProjectTx, statements};
use crate::ledger::facts::{CredentialState, Facts, KeyState, Keyed, Questions, Stored};
use crate::ledger::head::{Documents, Head};
use crate::ledger::judge::IdempotencyKey;
use crate::{catalogs, declared, executions, grants, holds};

statements! {
    // A statement of its own: whatever is read after it, under READ COMMITTED, is read after the wait for the lock.
    LOCK_HEAD = "select frontier, size, root, last_hash, last_at, epoch_first, epoch_counts, control, floor, gen, \
                 killed, policy, registry, rules, stopped, breakglass_until, shadow_until \
                 from heads where project_id = $1 for update";
    READ_HEAD = "select frontier, size, root, last_hash, last_at, epoch_first, epoch_counts, control, floor, gen, \
                 killed, policy, registry, rules, stopped, breakglass_until, shadow_until \
                 from heads where project_id = $1";
    KEY_STATES = "select json_build_object('thumbprint', thumbprint, 'purpose', purpose, \
                  'ended', ended is not null, 'provider', provider, 'used', used is not null) from signing_keys where project_id = $1 and thumbprint = any($2)";
    LIVE_EXECUTIONS = "select thumbprint from signing_keys \
                       where project_id = $1 and purpose = 'execution' and ended is null order by introduced";
    FACTS = include_str!("../facts.sql");
    STORED = "select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, c.note \
              from entries e join checkpoints c on c.project_id = e.project_id and c.size = e.checkpoint_size \
              where e.project_id = $1 and e.seq = any($2) order by e.seq";
    RUNNING = "select running from sessions where project_id = $1 and key_id = $2";
    HASH_AT = "select hash from entries where project_id = $1 and seq = $2";
    CHECKPOINT_ROOT = "select root from checkpoints where project_id = $1 and size = $2";
    PUBLIC_KEYS = "select thumbprint, x from signing_keys where project_id = $1 and thumbprint = any($2)";
}

/// How every append begins: the head's lock, then, in a statement of its own that runs under it, everything that can
/// refuse. Both travel together. None for a project that is not there.
pub(crate) async fn lock_and_read<'c>(
    client: &'c mut Client,
    project: ProjectId,
    asked: &Questions,
) -> Result<Option<(ProjectTx<'c>, Head, Facts)>, DatabaseError> {
    let uuid = project.uuid();
    let keys = &asked.idempotency;
    let environments: Vec<&str> = keys.iter().map(|key| key.env.as_str()).collect();
    let credentials: Vec<Uuid> = keys.iter().map(|key| key.credential.uuid()).collect();
    let names: Vec<&str> = keys.iter().map(|key| key.key.as_str()).collect();
    let parameters: [&(dyn ToSql + Sync); 8] = [
        &uuid,
        &asked.kids,
        &asked.credentials,
        &environments,
        &credentials,
        &names,
        &asked.actions,
        &asked.digests,
    ];
    let asking = ((LOCK_HEAD, &parameters[..1]), (FACTS, parameters.as_slice()));
    let (tx, locked, read) = client.begin_with(project, asking).await?;
    let (Some(locked), Some(read)) = (locked, read) else { return Ok(None) };
    let head = head(project, &locked)?;
    let mut facts = facts(&tx, &read).await?;
    if asked.live_executions {
        facts.executions = live_executions(&tx).await?;
    }
    if !asked.submissions.is_empty() {
        facts.submissions = executions::store::about(&tx, &asked.submissions).await?;
        let same: Vec<u64> = facts.submissions.iter().flat_map(executions::Known::same_seqs).collect();
        facts.stored.extend(stored(&tx, &same).await?);
    }
    govern(&tx, asked, &mut facts).await?;
    of_vendors(&tx, asked, &mut facts).await?;
    Ok(Some((tx, head, facts)))
}

/// The head's lock alone, to look something up under it.
pub(crate) async fn lock(
    client: &mut Client,
    project: ProjectId,
) -> Result<Option<(ProjectTx<'_>, Head)>, DatabaseError> {
    let tx = client.begin(project).await?;
    let Some(row) = tx.maybe_row(LOCK_HEAD, &[&project.uuid()]).await? else { return Ok(None) };
    let head = head(project, &row)?;
    Ok(Some((tx, head)))
}

/// The head as it stands, without a lock.
pub(crate) async fn read_head(tx: &ProjectTx<'_>) -> Result<Option<Head>, DatabaseError> {
    let row = tx.maybe_row(READ_HEAD, &[&tx.project().uuid()]).await?;
    row.map(|row| head(tx.project(), &row)).transpose()
}

/// What the one statement gave; entries that are the answer are read in another, under the same lock.
async fn facts(tx: &ProjectTx<'_>, row: &tokio_postgres::Row) -> Result<Facts, DatabaseError> {
    let twins = json::<Twin>(row, "twins")?;
    let keyed = json::<KeyedRow>(row, "keyed")?;
    let wanted: Vec<u64> = twins.iter().map(|twin| twin.seq).chain(keyed.iter().map(|key| key.seq)).collect();
    let twin = |twin: &Twin| Ok((digest_of_hex(&twin.digest)?, twin.seq));
    Ok(Facts {
        clock: time(row.try_get("clock")?)?,
        keys: json::<KeyRow>(row, "keys")?.into_iter().map(KeyRow::state).collect(),
        credentials: json::<CredentialRow>(row, "credentials")?
            .into_iter()
            .map(CredentialRow::state)
            .collect(),
        keyed: keyed.into_iter().map(KeyedRow::key).collect::<Result<_, _>>()?,
        twins: twins.iter().map(twin).collect::<Result<_, DatabaseError>>()?,
        stored: if wanted.is_empty() { HashMap::new() } else { stored(tx, &wanted).await? },
        executions: Vec::new(),
        submissions: Vec::new(),
        holds: HashMap::new(),
        grants: Vec::new(),
        declared: Vec::new(),
        places: Vec::new(),
        catalog: None,
    })
}

/// Holds and grants, in statements of their own: few appends ask for them.
async fn govern(tx: &ProjectTx<'_>, asked: &Questions, facts: &mut Facts) -> Result<(), DatabaseError> {
    if !asked.holds.is_empty() {
        facts.holds = holds::store::named(tx, &asked.holds).await?;
        let approved = facts.holds.values().filter(|row| row.is == HoldIs::Approved);
        let held: Vec<u64> = approved.map(|row| row.seq).collect();
        if !held.is_empty() {
            facts.stored.extend(stored(tx, &held).await?);
        }
    }
    if asked.live_grants {
        facts.grants = grants::store::standing(tx, facts.clock).await?;
    }
    Ok(())
}

/// Declared sessions, places in them, and a catalogue: no append of a gateway's own calls asks for them.
async fn of_vendors(tx: &ProjectTx<'_>, asked: &Questions, facts: &mut Facts) -> Result<(), DatabaseError> {
    if let Some((key, externals)) = &asked.externals {
        facts.declared = declared::store::declared(tx, *key, externals).await?;
    }
    if !asked.sessions.is_empty() {
        facts.declared.extend(declared::store::sessions(tx, &asked.sessions).await?);
        facts.places = declared::store::places(tx, &asked.places).await?;
        let taken: Vec<u64> = facts.places.iter().map(|taken| taken.seq).collect();
        facts.stored.extend(stored(tx, &taken).await?);
    }
    if let Some(catalog) = &asked.catalog {
        facts.catalog = Some(catalogs::known(tx, catalog).await?);
    }
    Ok(())
}

async fn live_executions(tx: &ProjectTx<'_>) -> Result<Vec<Thumbprint>, DatabaseError> {
    let rows = tx.rows(LIVE_EXECUTIONS, &[&tx.project().uuid()]).await?;
    rows.iter().map(|row| row.try_get::<_, &str>(0)?.parse().map_err(unreadable)).collect()
}

/// States of signing keys, without a lock.
pub(crate) async fn key_states(
    tx: &ProjectTx<'_>,
    kids: &[String],
) -> Result<HashMap<Thumbprint, KeyState>, DatabaseError> {
    let rows = tx.rows(KEY_STATES, &[&tx.project().uuid(), &kids]).await?;
    rows.iter()
        .map(|row| {
            let Json(key): Json<KeyRow> = row.try_get(0)?;
            Ok(key.state())
        })
        .collect()
}

/// Entries with what makes a receipt.
pub(crate) async fn stored(
    tx: &ProjectTx<'_>,
    wanted: &[u64],
) -> Result<HashMap<u64, Stored>, DatabaseError> {
    let wanted: Vec<i64> = wanted.iter().filter_map(|seq| i64::try_from(*seq).ok()).collect();
    let rows = tx.rows(STORED, &[&tx.project().uuid(), &wanted]).await?;
    let mut found = HashMap::new();
    for row in rows {
        let row = Row::read(tx.project(), &row)?;
        let Some(body) = row.body else { continue };
        let statement = Envelope::parse(&body).map_err(unreadable)?.statement().map_err(unreadable)?;
        let note = row.note.unwrap_or_default();
        found.insert(row.entry.seq, Stored { entry: row.entry, statement, body, path: row.path, note });
    }
    Ok(found)
}

/// An entry row as it stands, nothing in it believed.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) entry: Entry,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) path: Vec<Hash>,
    pub(crate) note: Option<String>,
}

impl Row {
    pub(crate) fn read(project: ProjectId, row: &tokio_postgres::Row) -> Result<Self, DatabaseError> {
        let kind: Kind = row.try_get::<_, &str>("kind")?.parse().map_err(unreadable)?;
        Ok(Self {
            entry: Entry::new(
                project,
                number(row.try_get("seq")?)?,
                time(row.try_get("at")?)?,
                kind,
                digest(row.try_get("body_digest")?)?,
                digest(row.try_get("prev")?)?,
            ),
            body: row.try_get("body")?,
            path: hashes(row.try_get("path")?),
            note: row.try_get("note")?,
        })
    }
}

/// What a key did last, without a lock.
pub(crate) async fn running(tx: &ProjectTx<'_>, key: KeyId) -> Result<Option<Running>, DatabaseError> {
    let row = tx.maybe_row(RUNNING, &[&tx.project().uuid(), &key.uuid()]).await?;
    row.map(|row| Ok(row.try_get::<_, Json<Running>>(0)?.0)).transpose()
}

/// The hash of the entry at a seq, if one stands there.
pub(crate) async fn hash_at(tx: &ProjectTx<'_>, seq: u64) -> Result<Option<Digest>, DatabaseError> {
    let seq = i64::try_from(seq).map_err(unreadable)?;
    let row = tx.maybe_row(HASH_AT, &[&tx.project().uuid(), &seq]).await?;
    row.map(|row| digest(row.try_get(0)?)).transpose()
}

/// The root that a commit of that size had.
pub(crate) async fn checkpoint_root(tx: &ProjectTx<'_>, size: u64) -> Result<Option<Hash>, DatabaseError> {
    let size = i64::try_from(size).map_err(unreadable)?;
    let row = tx.maybe_row(CHECKPOINT_ROOT, &[&tx.project().uuid(), &size]).await?;
    row.map(|row| hash(row.try_get(0)?)).transpose()
}

/// The bytes behind thumbprints. A thumbprint is the identity, so what is found never changes.
pub(crate) async fn public_keys(
    tx: &ProjectTx<'_>,
    kids: &[&str],
) -> Result<Vec<(Thumbprint, PublicKey)>, DatabaseError> {
    let rows = tx.rows(PUBLIC_KEYS, &[&tx.project().uuid(), &kids]).await?;
    rows.iter()
        .map(|row| {
            let thumbprint = row.try_get::<_, &str>(0)?.parse().map_err(unreadable)?;
            Ok((thumbprint, PublicKey::parse(row.try_get(1)?).map_err(unreadable)?))
        })
        .collect()
}

fn head(project: ProjectId, row: &tokio_postgres::Row) -> Result<Head, DatabaseError> {
    let optional = |name: &str| -> Result<Option<Digest>, DatabaseError> {
        row.try_get::<_, Option<&[u8]>>(name)?.map(digest).transpose()
    };
    let moment = |name: &str| -> Result<Option<Timestamp>, DatabaseError> {
        row.try_get::<_, Option<i64>>(name)?.map(time).transpose()
    };
    let size = number(row.try_get("size")?)?;
    let frontier = Frontier::from_bytes(size, row.try_get("frontier")?).map_err(unreadable)?;
    if frontier.root() != hash(row.try_get("root")?)? {
        return Err(DatabaseError::Unreadable("the head's frontier does not lead to its root".to_owned()));
    }
    Ok(Head {
        project,
        frontier,
        last_hash: digest(row.try_get("last_hash")?)?,
        last_at: time(row.try_get("last_at")?)?,
        epoch_first: number(row.try_get("epoch_first")?)?,
        counts: serde_json::from_str(row.try_get("epoch_counts")?).map_err(unreadable)?,
        control: number(row.try_get("control")?)?,
        floor: number(row.try_get("floor")?)?,
        generation: number(row.try_get("gen")?)?,
        killed: row.try_get("killed")?,
        documents: Documents {
            policy: optional("policy")?,
            registry: optional("registry")?,
            rules: optional("rules")?,
        },
        stopped: scopes(row.try_get("stopped")?)?,
        breakglass_until: moment("breakglass_until")?,
        shadow_until: moment("shadow_until")?,
    })
}

/// The column `stopped` of a head.
fn scopes(text: &str) -> Result<BTreeSet<Scope>, DatabaseError> {
    text.split_whitespace().map(|id| id.parse().map_err(unreadable)).collect()
}

#[derive(Deserialize)]
struct KeyRow {
    thumbprint: Thumbprint,
    purpose: Purpose,
    ended: bool,
    provider: Option<ProviderId>,
    used: bool,
}

impl KeyRow {
    fn state(self) -> (Thumbprint, KeyState) {
        let Self { thumbprint, purpose, ended, provider, used } = self;
        (thumbprint, KeyState { purpose, ended, provider, used })
    }
}

#[derive(Deserialize)]
struct CredentialRow {
    key: Uuid,
    agent: Uuid,
    revoked: bool,
    running: Option<Running>,
}

impl CredentialRow {
    fn state(self) -> (KeyId, CredentialState) {
        let state = CredentialState {
            agent: AgentId::from_uuid(self.agent),
            revoked: self.revoked,
            running: self.running,
        };
        (KeyId::from_uuid(self.key), state)
    }
}

#[derive(Deserialize)]
struct KeyedRow {
    env: Environment,
    credential: Uuid,
    key: String,
    fingerprint: String,
    seq: u64,
}

impl KeyedRow {
    fn key(self) -> Result<Keyed, DatabaseError> {
        let key = IdempotencyKey {
            env: self.env,
            credential: KeyId::from_uuid(self.credential),
            key: self.key,
            fingerprint: digest_of_hex(&self.fingerprint)?,
        };
        Ok(Keyed { key, seq: self.seq })
    }
}

#[derive(Deserialize)]
struct Twin {
    seq: u64,
    digest: String,
}

fn json<T: DeserializeOwned>(row: &tokio_postgres::Row, column: &str) -> Result<Vec<T>, DatabaseError> {
    let Json(values) = row.try_get::<_, Json<Vec<T>>>(column)?;
    Ok(values)
}

fn digest_of_hex(hex: &str) -> Result<Digest, DatabaseError> {
    format!("sha256:{hex}").parse().map_err(unreadable)
}

pub(crate) fn digest(bytes: &[u8]) -> Result<Digest, DatabaseError> {
    bytes.try_into().map(Digest::from_bytes).map_err(unreadable)
}

fn hash(bytes: &[u8]) -> Result<Hash, DatabaseError> {
    bytes.try_into().map(Hash::from_bytes).map_err(unreadable)
}

fn hashes(bytes: &[u8]) -> Vec<Hash> {
    let (nodes, _) = bytes.as_chunks::<32>();
    nodes.iter().copied().map(Hash::from_bytes).collect()
}

pub(crate) fn number(value: i64) -> Result<u64, DatabaseError> {
    u64::try_from(value).map_err(unreadable)
}

pub(crate) fn time(millis: i64) -> Result<Timestamp, DatabaseError> {
    Timestamp::from_millis(millis).map_err(unreadable)
}

pub(crate) fn unreadable(error: impl std::fmt::Display) -> DatabaseError {
    DatabaseError::Unreadable(error.to_string())
}
