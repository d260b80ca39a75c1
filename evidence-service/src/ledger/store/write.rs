//! Writing one commit: a checkpoint, its entries, what hangs on them, and the head.

use counterfoil_core::audit::listed;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::KeyId;
use counterfoil_core::session::Running;
use counterfoil_core::tree::Hash;
use std::collections::HashMap;
use uuid::Uuid;

use crate::clock;
use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::head::Head;
use crate::ledger::judge::IdempotencyKey;
use crate::ledger::seal::{Placed, Sealed};
use crate::ledger::store::read::unreadable;

statements! {
    INSERT_HEAD = "insert into heads (project_id, size, root, frontier, last_hash, last_at, epoch_first, \
                   epoch_counts, control, floor, gen, killed, checkpoint) \
                   values ($1, 0, $2, '', $3, $4, 0, '{}', 0, 0, 0, false, '')";
    INSERT_CHECKPOINT = "insert into checkpoints (project_id, size, root, at, note) values ($1, $2, $3, $4, $5)";
    INSERT_ENTRIES = include_str!("../insert_entries.sql");
    UPDATE_HEAD = "update heads set size = $2, root = $3, frontier = $4, last_hash = $5, last_at = $6, \
                   epoch_first = $7, epoch_counts = $8, control = $9, floor = $10, gen = $11, killed = $12, \
                   policy = $13, registry = $14, rules = $15, checkpoint = $16, stopped = $17, \
                   breakglass_until = $18, shadow_until = $19 where project_id = $1";
    OCCUPY_KEYS = "insert into idempotency (project_id, env, credential, key, fingerprint, seq) \
                   select $1, k.* from unnest($2::text[], $3::uuid[], $4::text[], $5::bytea[], $6::bigint[]) as k \
                   on conflict (project_id, env, credential, key) \
                   do update set fingerprint = excluded.fingerprint, seq = excluded.seq";
    KEEP_SESSIONS = "insert into sessions (project_id, key_id, running) \
                     select $1, s.key_id, s.running::jsonb from unnest($2::uuid[], $3::text[]) as s (key_id, running) \
                     on conflict (project_id, key_id) do update set running = excluded.running";
    INSERT_OPENINGS = "insert into openings (project_id, opening_id, decision, at, jwe) \
                       select $1, o.id, o.decision, $4, o.jwe \
                       from unnest($2::uuid[], $3::bytea[], $5::text[]) as o (id, decision, jwe)";
}

/// The head of a project that has no entry yet.
pub(crate) async fn insert_head(tx: &ProjectTx<'_>, head: &Head) -> Result<(), DatabaseError> {
    let (root, last) = (head.root(), head.last_hash);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&head.project.uuid(), &root.bytes().as_slice(), &last.bytes().as_slice(), &head.last_at.millis()];
    tx.change(1, INSERT_HEAD, &parameters).await
}

/// All rows of one commit. The statements travel together instead of waiting for each other; none reads another's
/// rows, so their order does not matter.
pub(crate) async fn write(
    tx: &ProjectTx<'_>,
    sealed: &Sealed,
    keyed: &[(IdempotencyKey, u64)],
    sessions: &HashMap<KeyId, Running>,
) -> Result<(), DatabaseError> {
    tokio::try_join!(
        insert_checkpoint(tx, sealed),
        insert_entries(tx, sealed),
        occupy_keys(tx, keyed),
        keep_sessions(tx, sessions),
        update_head(tx, &sealed.head, &sealed.note),
    )?;
    Ok(())
}

async fn insert_checkpoint(tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
    let head = &sealed.head;
    let size = signed(head.size())?;
    let root = head.root();
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&head.project.uuid(), &size, &root.bytes().as_slice(), &head.last_at.millis(), &sealed.note];
    tx.change(1, INSERT_CHECKPOINT, &parameters).await
}

async fn insert_entries(tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
    let placed = &sealed.placed;
    let size = signed(sealed.head.size())?;
    let seqs = placed.iter().map(|p| signed(p.entry.seq)).collect::<Result<Vec<i64>, _>>()?;
    let kinds: Vec<&str> = placed.iter().map(|p| p.entry.kind.as_str()).collect();
    let digests: Vec<&[u8]> = placed.iter().map(|p| p.entry.body.bytes().as_slice()).collect();
    let prevs: Vec<&[u8]> = placed.iter().map(|p| p.entry.prev.bytes().as_slice()).collect();
    let hashes: Vec<&[u8]> = placed.iter().map(|p| p.hash.bytes().as_slice()).collect();
    let bodies: Vec<&[u8]> = placed.iter().map(|p| p.accepted.body.as_slice()).collect();
    let paths: Vec<Vec<u8>> = placed.iter().map(path_bytes).collect();
    let found = placed.iter().map(|p| &p.accepted.projection);
    let actions: Vec<Option<Uuid>> = found.clone().map(|f| f.action).collect();
    let decisions: Vec<Option<&[u8]>> =
        found.clone().map(|f| f.decision.as_ref().map(digest_bytes)).collect();
    let agents: Vec<Option<Uuid>> = found.clone().map(|f| f.agent).collect();
    let verdicts: Vec<Option<&str>> = found.clone().map(|f| f.verdict.as_deref()).collect();
    let reasons: Vec<Option<&str>> = found.clone().map(|f| f.reason.as_deref()).collect();
    let providers: Vec<Option<&str>> = found.clone().map(|f| f.provider.as_deref()).collect();
    let tools: Vec<Option<&str>> = found.clone().map(|f| f.tool.as_deref()).collect();
    let statuses: Vec<Option<&str>> = found.map(|f| f.status.as_deref()).collect();
    let (project, at) = (sealed.head.project.uuid(), sealed.head.last_at.millis());
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 18] = [
        &project, &at, &size, &seqs, &kinds, &digests, &prevs, &hashes, &bodies, &paths, &actions,
        &decisions, &agents, &verdicts, &reasons, &providers, &tools, &statuses,
    ];
    tx.change(placed.len() as u64, INSERT_ENTRIES, &parameters).await
}

async fn update_head(tx: &ProjectTx<'_>, head: &Head, note: &str) -> Result<(), DatabaseError> {
    let root = head.root();
    let counts = serde_json::to_string(&head.counts).map_err(unreadable)?;
    let documents = head.documents;
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 19] = [
        &head.project.uuid(),
        &signed(head.size())?,
        &root.bytes().as_slice(),
        &head.frontier.to_bytes(),
        &head.last_hash.bytes().as_slice(),
        &head.last_at.millis(),
        &signed(head.epoch_first)?,
        &counts,
        &signed(head.control)?,
        &signed(head.floor)?,
        &signed(head.generation)?,
        &head.killed,
        &documents.policy.as_ref().map(digest_bytes),
        &documents.registry.as_ref().map(digest_bytes),
        &documents.rules.as_ref().map(digest_bytes),
        &note,
        &listed(&head.stopped),
        &head.breakglass_until.map(|until| until.millis()),
        &head.shadow_until.map(|until| until.millis()),
    ];
    tx.change(1, UPDATE_HEAD, &parameters).await
}

async fn occupy_keys(tx: &ProjectTx<'_>, keyed: &[(IdempotencyKey, u64)]) -> Result<(), DatabaseError> {
    if keyed.is_empty() {
        return Ok(());
    }
    let environments: Vec<&str> = keyed.iter().map(|(key, _)| key.env.as_str()).collect();
    let credentials: Vec<Uuid> = keyed.iter().map(|(key, _)| key.credential.uuid()).collect();
    let names: Vec<&str> = keyed.iter().map(|(key, _)| key.key.as_str()).collect();
    let fingerprints: Vec<&[u8]> = keyed.iter().map(|(key, _)| digest_bytes(&key.fingerprint)).collect();
    let seqs = keyed.iter().map(|(_, seq)| signed(*seq)).collect::<Result<Vec<i64>, _>>()?;
    let project = tx.project().uuid();
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&project, &environments, &credentials, &names, &fingerprints, &seqs];
    tx.change(keyed.len() as u64, OCCUPY_KEYS, &parameters).await
}

/// What keys have done, this commit included.
async fn keep_sessions(tx: &ProjectTx<'_>, sessions: &HashMap<KeyId, Running>) -> Result<(), DatabaseError> {
    if sessions.is_empty() {
        return Ok(());
    }
    let keys: Vec<Uuid> = sessions.keys().map(|key| key.uuid()).collect();
    let running = sessions.values().map(|running| serde_json::to_string(running).map_err(unreadable));
    let running: Vec<String> = running.collect::<Result<_, _>>()?;
    let project = tx.project().uuid();
    tx.change(keys.len() as u64, KEEP_SESSIONS, &[&project, &keys, &running]).await
}

/// Sealed openings, kept beside the bodies of the decisions they belong to.
pub(crate) async fn insert_openings(
    tx: &ProjectTx<'_>,
    openings: &[(Digest, String)],
) -> Result<(), DatabaseError> {
    let ids: Vec<Uuid> = openings.iter().map(|_| clock::fresh_uuid()).collect();
    let decisions: Vec<&[u8]> = openings.iter().map(|(decision, _)| digest_bytes(decision)).collect();
    let sealed: Vec<&str> = openings.iter().map(|(_, jwe)| jwe.as_str()).collect();
    let (project, at) = (tx.project().uuid(), clock::now().millis());
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&project, &ids, &decisions, &at, &sealed];
    tx.change(openings.len() as u64, INSERT_OPENINGS, &parameters).await
}

fn path_bytes(placed: &Placed) -> Vec<u8> {
    placed.path.iter().flat_map(|node: &Hash| *node.bytes()).collect()
}

fn digest_bytes(digest: &Digest) -> &[u8] {
    digest.bytes().as_slice()
}

/// A number as the database holds it.
pub(crate) fn signed(number: u64) -> Result<i64, DatabaseError> {
    i64::try_from(number).map_err(unreadable)
}
