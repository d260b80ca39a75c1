//! Owned rows of a small ledger, to be spoilt one column at a time.

use crate::audit::*;
use crate::key::PublicKey;
use crate::projection::Projection;

#[derive(Clone, Debug)]
pub(super) struct EntryRow {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) body_digest: Vec<u8>,
    pub(super) prev: Vec<u8>,
    pub(super) hash: Vec<u8>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) path: Vec<u8>,
    pub(super) checkpoint_size: i64,
    pub(super) projection: Projection,
}

#[derive(Clone, Debug)]
pub(super) struct CheckpointRow {
    pub(super) size: i64,
    pub(super) root: Vec<u8>,
    pub(super) at: i64,
    pub(super) note: String,
}

#[derive(Clone, Debug)]
pub(super) struct HeadRow {
    pub(super) size: i64,
    pub(super) root: Vec<u8>,
    pub(super) frontier: Vec<u8>,
    pub(super) last_hash: Vec<u8>,
    pub(super) last_at: i64,
    pub(super) epoch_first: i64,
    pub(super) epoch_counts: String,
    pub(super) control: i64,
    pub(super) floor: i64,
    pub(super) generation: i64,
    pub(super) killed: bool,
    pub(super) policy: Option<Vec<u8>>,
    pub(super) registry: Option<Vec<u8>>,
    pub(super) rules: Option<Vec<u8>>,
    pub(super) checkpoint: String,
}

#[derive(Clone, Debug)]
pub(super) struct KeyRow {
    pub(super) thumbprint: String,
    pub(super) purpose: String,
    pub(super) x: String,
    pub(super) introduced: i64,
    pub(super) introduced_at: i64,
    pub(super) ended: Option<(i64, i64)>,
    pub(super) revoked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct DocumentRow {
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) digest: Vec<u8>,
    pub(super) text: String,
}

/// Everything that is stored of one project, and the log key that is trusted.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) log: PublicKey,
    pub(super) entries: Vec<EntryRow>,
    pub(super) checkpoints: Vec<CheckpointRow>,
    pub(super) head: HeadRow,
    pub(super) keys: Vec<KeyRow>,
    pub(super) documents: Vec<DocumentRow>,
    pub(super) tombstones: Vec<StoredTombstone>,
}

impl EntryRow {
    pub(super) fn stored(&self) -> StoredEntry<'_> {
        let found = &self.projection;
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
                action: found.action,
                decision: found.decision.as_ref().map(|digest| digest.bytes().as_slice()),
                agent: found.agent,
                verdict: found.verdict.as_deref(),
                reason: found.reason.as_deref(),
                provider: found.provider.as_deref(),
                tool: found.tool.as_deref(),
                status: found.status.as_deref(),
            },
        }
    }
}

impl Rows {
    pub(super) fn audit(&self) -> Result<Clean, Broken> {
        self.audit_trusting(Trust { log: vec![self.log.clone()], ..Trust::default() })
    }

    pub(super) fn audit_trusting(&self, trust: Trust) -> Result<Clean, Broken> {
        let mut auditor =
            Auditor::new(super::writer::project(), super::writer::issuer(), trust, self.tombstones.clone());
        let mut checkpoints = self.checkpoints.iter();
        for entry in &self.entries {
            if auditor.wants_checkpoint()
                && let Some(row) = checkpoints.next()
            {
                auditor.checkpoint(&row.stored())?;
            }
            auditor.entry(&entry.stored())?;
        }
        for row in checkpoints {
            auditor.checkpoint(&row.stored())?;
        }
        for row in &self.documents {
            auditor.document(&row.stored())?;
        }
        let keys: Vec<StoredKey<'_>> = self.keys.iter().map(KeyRow::stored).collect();
        auditor.finish(&self.head.stored(), &keys)
    }
}

impl CheckpointRow {
    fn stored(&self) -> StoredCheckpoint<'_> {
        StoredCheckpoint { size: self.size, root: &self.root, at: self.at, note: &self.note }
    }
}

impl DocumentRow {
    fn stored(&self) -> StoredDocument<'_> {
        StoredDocument { seq: self.seq, kind: &self.kind, digest: &self.digest, text: &self.text }
    }
}

impl KeyRow {
    fn stored(&self) -> StoredKey<'_> {
        StoredKey {
            thumbprint: &self.thumbprint,
            purpose: &self.purpose,
            provider: None,
            x: &self.x,
            introduced: self.introduced,
            introduced_at: self.introduced_at,
            ended: self.ended.map(|(seq, _)| seq),
            ended_at: self.ended.map(|(_, at)| at),
            revoked: self.revoked,
        }
    }
}

impl HeadRow {
    fn stored(&self) -> StoredHead<'_> {
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
            checkpoint: &self.checkpoint,
        }
    }
}
