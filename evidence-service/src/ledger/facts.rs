//! What is read under the head's lock and can refuse, as values.

use std::collections::HashMap;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Entry;
use counterfoil_core::id::{AgentId, HoldId, KeyId, ProviderId};
use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::session::Running;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Hash;

use super::judge::IdempotencyKey;
use crate::declared::store::{Declared, Taken};
use crate::executions::{Asked, Known};
use crate::holds::store::HoldRow;

#[derive(Debug)]
pub(crate) struct Facts {
    /// The database's clock.
    pub(crate) clock: Timestamp,
    pub(crate) keys: HashMap<Thumbprint, KeyState>,
    pub(crate) credentials: HashMap<KeyId, CredentialState>,
    pub(crate) keyed: Vec<Keyed>,
    /// Statements of this batch that are stored already.
    pub(crate) twins: HashMap<Digest, u64>,
    pub(crate) stored: HashMap<u64, Stored>,
    /// Live execution keys, where they were asked for.
    pub(crate) executions: Vec<Thumbprint>,
    /// About each statement of a provider, in the order in which they were asked for.
    pub(crate) submissions: Vec<Known>,
    /// The holds that were asked for. Of those that are approved, `stored` has the held decision.
    pub(crate) holds: HashMap<HoldId, HoldRow>,
    /// Texts of the grants that stand, where they were asked for.
    pub(crate) grants: Vec<GrantDocument>,
    /// Of the declared sessions that were asked for, by name or by id, those that stand.
    pub(crate) declared: Vec<Declared>,
    /// Of the places in them that were asked for, those that are taken. `stored` has the decisions that took them.
    pub(crate) places: Vec<Taken>,
    /// About the catalogue that was asked for.
    pub(crate) catalog: Option<crate::catalogs::Known>,
}

#[derive(Clone, Debug)]
pub(crate) struct KeyState {
    pub(crate) purpose: Purpose,
    pub(crate) ended: bool,
    /// Whose it is, where it is an execution key.
    pub(crate) provider: Option<ProviderId>,
    /// Whether a statement stands that it signed, where it is an execution key.
    pub(crate) used: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CredentialState {
    pub(crate) agent: AgentId,
    pub(crate) revoked: bool,
    /// What it did last; maybe that session is over.
    pub(crate) running: Option<Running>,
}

/// An idempotency key that is taken, and by which entry.
#[derive(Debug)]
pub(crate) struct Keyed {
    pub(crate) key: IdempotencyKey,
    pub(crate) seq: u64,
}

/// An entry as it stands in the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) entry: Entry,
    pub(crate) statement: Statement,
    pub(crate) body: Vec<u8>,
    pub(crate) path: Vec<Hash>,
    pub(crate) note: String,
}

/// What to read: everything that the statements of a batch name.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    pub(crate) kids: Vec<String>,
    pub(crate) credentials: Vec<uuid::Uuid>,
    pub(crate) idempotency: Vec<IdempotencyKey>,
    pub(crate) actions: Vec<uuid::Uuid>,
    pub(crate) digests: Vec<Vec<u8>>,
    /// Whether the live execution keys are wanted.
    pub(crate) live_executions: bool,
    pub(crate) submissions: Vec<Asked>,
    pub(crate) holds: Vec<uuid::Uuid>,
    /// Whether the grants that stand are wanted.
    pub(crate) live_grants: bool,
    /// Declared sessions of a key, by their names in the directory.
    pub(crate) externals: Option<(KeyId, Vec<[u8; 32]>)>,
    /// Declared sessions by id, and places in them.
    pub(crate) sessions: Vec<uuid::Uuid>,
    pub(crate) places: Vec<(uuid::Uuid, i64)>,
    pub(crate) catalog: Option<crate::catalogs::Asked>,
}
