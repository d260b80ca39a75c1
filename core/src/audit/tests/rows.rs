//! Owned rows of a small ledger, to be spoilt one column at a time.

use crate::audit::*;
use crate::key::PublicKey;
use crate::projection::Projection;

#[derive(Clone, Debug)]
pub(crate) struct EntryRow {
    pub(crate) seq: i64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) body_digest: Vec<u8>,
    pub(crate) prev: Vec<u8>,
    pub(crate) hash: Vec<u8>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) path: Vec<u8>,
    pub(crate) checkpoint_size: i64,
    pub(crate) projection: Projection,
}

#[derive(Clone, Debug)]
pub(crate) struct CheckpointRow {
    pub(crate) size: i64,
    pub(crate) root: Vec<u8>,
    pub(crate) at: i64,
    pub(crate) note: String,
}

#[derive(Clone, Debug)]
pub(crate) struct HeadRow {
    pub(crate) size: i64,
    pub(crate) root: Vec<u8>,
    pub(crate) frontier: Vec<u8>,
    pub(crate) last_hash: Vec<u8>,
    pub(crate) last_at: i64,
    pub(crate) epoch_first: i64,
    pub(crate) epoch_counts: String,
    pub(crate) control: i64,
    pub(crate) floor: i64,
    pub(crate) generation: i64,
    pub(crate) killed: bool,
    pub(crate) policy: Option<Vec<u8>>,
    pub(crate) registry: Option<Vec<u8>>,
    pub(crate) rules: Option<Vec<u8>>,
    pub(crate) stopped: String,
    pub(crate) breakglass_until: Option<i64>,
    pub(crate) shadow_until: Option<i64>,
    pub(crate) checkpoint: String,
}

#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) thumbprint: String,
    pub(crate) purpose: String,
    pub(crate) x: String,
    pub(crate) introduced: i64,
    pub(crate) introduced_at: i64,
    pub(crate) ended: Option<(i64, i64)>,
    pub(crate) revoked: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct DocumentRow {
    pub(crate) seq: i64,
    pub(crate) kind: String,
    pub(crate) digest: Vec<u8>,
    pub(crate) text: String,
}

/// Everything that is stored of one project, and the log key that is trusted.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) log: PublicKey,
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) checkpoints: Vec<CheckpointRow>,
    pub(crate) head: HeadRow,
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) documents: Vec<DocumentRow>,
    pub(crate) tombstones: Vec<StoredTombstone>,
}

impl EntryRow {
    pub(crate) fn stored(&self) -> StoredEntry<'_> {
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
    pub(crate) fn audit(&self) -> Result<Clean, Broken> {
        self.audit_trusting(Trust { log: vec![self.log.clone()], ..Trust::default() })
    }

    pub(crate) fn audit_trusting(&self, trust: Trust) -> Result<Clean, Broken> {
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
            stopped: &self.stopped,
            breakglass_until: self.breakglass_until,
            shadow_until: self.shadow_until,
            checkpoint: &self.checkpoint,
        }
    }
}
