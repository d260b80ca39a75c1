//! Rows with their own memory, whichever way they were read.

use counterfoil_core::audit::{
    StoredCheckpoint, StoredColumns, StoredDocument, StoredEntry, StoredHead, StoredKey, StoredProject,
    StoredSession,
};
use counterfoil_core::id::{KeyId, ProjectId};
use uuid::Uuid;

#[derive(Clone, Debug)]
pub struct ProjectRow {
    pub id: ProjectId,
    pub issuer: String,
    pub slot: i64,
    pub public_id: String,
    /// None in a dump from before there was such a setting.
    pub retention_days: Option<String>,
    pub visibility: Option<String>,
}

pub struct EntryRow {
    pub seq: i64,
    pub at: i64,
    pub kind: String,
    pub body_digest: Vec<u8>,
    pub prev: Vec<u8>,
    pub hash: Vec<u8>,
    pub body: Option<Vec<u8>>,
    pub path: Vec<u8>,
    pub checkpoint_size: i64,
    pub action: Option<Uuid>,
    pub decision: Option<Vec<u8>>,
    pub agent: Option<Uuid>,
    pub verdict: Option<String>,
    pub reason: Option<String>,
    pub provider: Option<String>,
    pub tool: Option<String>,
    pub status: Option<String>,
}

pub struct CheckpointRow {
    pub size: i64,
    pub root: Vec<u8>,
    pub at: i64,
    pub note: String,
}

pub struct HeadRow {
    pub size: i64,
    pub root: Vec<u8>,
    pub frontier: Vec<u8>,
    pub last_hash: Vec<u8>,
    pub last_at: i64,
    pub epoch_first: i64,
    pub epoch_counts: String,
    pub control: i64,
    pub floor: i64,
    pub generation: i64,
    pub killed: bool,
    pub policy: Option<Vec<u8>>,
    pub registry: Option<Vec<u8>>,
    pub rules: Option<Vec<u8>>,
    pub stopped: String,
    pub breakglass_until: Option<i64>,
    pub shadow_until: Option<i64>,
    pub checkpoint: String,
}

pub struct KeyRow {
    pub thumbprint: String,
    pub purpose: String,
    pub provider: Option<String>,
    pub x: String,
    pub introduced: i64,
    pub introduced_at: i64,
    pub ended: Option<i64>,
    pub ended_at: Option<i64>,
    pub revoked: bool,
}

pub struct DocumentRow {
    pub seq: i64,
    pub kind: String,
    pub digest: Vec<u8>,
    pub text: String,
}

pub struct SessionRow {
    pub key: KeyId,
    pub running: String,
}

impl SessionRow {
    pub fn stored(&self) -> StoredSession<'_> {
        StoredSession { key: self.key, running: &self.running }
    }
}

impl ProjectRow {
    pub fn stored(&self) -> StoredProject<'_> {
        StoredProject { issuer: &self.issuer, slot: self.slot, public_id: &self.public_id }
    }
}

impl EntryRow {
    pub fn stored(&self) -> StoredEntry<'_> {
        StoredEntry {
            seq: self.seq,
            at: self.at,
            kind: &self.kind,
            body_digest: &self.body_digest,
            prev: &self.prev,
            hash: &self.hash,
            body: self.body.as_deref(),
            path: &self.path,
            checkpoint_size: self.checkpoint_size,
            columns: StoredColumns {
                action: self.action,
                decision: self.decision.as_deref(),
                agent: self.agent,
                verdict: self.verdict.as_deref(),
                reason: self.reason.as_deref(),
                provider: self.provider.as_deref(),
                tool: self.tool.as_deref(),
                status: self.status.as_deref(),
            },
        }
    }
}

impl CheckpointRow {
    pub fn stored(&self) -> StoredCheckpoint<'_> {
        StoredCheckpoint { size: self.size, root: &self.root, at: self.at, note: &self.note }
    }
}

impl HeadRow {
    pub fn stored(&self) -> StoredHead<'_> {
        StoredHead {
            size: self.size,
            root: &self.root,
            frontier: &self.frontier,
            last_hash: &self.last_hash,
            last_at: self.last_at,
            epoch_first: self.epoch_first,
            epoch_counts: &self.epoch_counts,
            control: self.control,
            floor: self.floor,
            generation: self.generation,
            killed: self.killed,
            policy: self.policy.as_deref(),
            registry: self.registry.as_deref(),
            rules: self.rules.as_deref(),
            stopped: &self.stopped,
            breakglass_until: self.breakglass_until,
            shadow_until: self.shadow_until,
            checkpoint: &self.checkpoint,
        }
    }
}

impl KeyRow {
    pub fn stored(&self) -> StoredKey<'_> {
        StoredKey {
            thumbprint: &self.thumbprint,
            purpose: &self.purpose,
            provider: self.provider.as_deref(),
            x: &self.x,
            introduced: self.introduced,
            introduced_at: self.introduced_at,
            ended: self.ended,
            ended_at: self.ended_at,
            revoked: self.revoked,
        }
    }
}

impl DocumentRow {
    pub fn stored(&self) -> StoredDocument<'_> {
        StoredDocument { seq: self.seq, kind: &self.kind, digest: &self.digest, text: &self.text }
    }
}
