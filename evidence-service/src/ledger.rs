//! The ledger: the record transaction, heads, checkpoints, the restore guard.
//!
//! Promised: entries of a project are numbered without holes in one chain and one tree, whoever writes and however
//! many do; an acknowledgement leaves the process only after its commit is known to stand. docs/operating/record.md
//! explains the transaction to an operator.
//! Not promised: that nobody with the database's superuser rewrites it. Receipts, checkpoints and the self-audit
//! show that they did.

pub(crate) mod append;
pub(crate) mod audit;
pub(crate) mod facts;
pub(crate) mod head;
pub(crate) mod heads_file;
pub(crate) mod inspect;
pub(crate) mod judge;
pub(crate) mod project;
pub(crate) mod receipts;
pub(crate) mod record;
pub(crate) mod routes;
pub(crate) mod seal;
pub(crate) mod seen;
pub(crate) mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterfoil_core::id::{InstanceId, ProjectId};

use crate::database::Database;
use crate::reconciliation::Heard;

pub use append::AppendError;
pub use heads_file::HeadsFileError;
pub use project::Project;
pub(crate) use seal::Keys;
pub use seen::ReadOnly;

/// The only writer of entries.
pub struct Ledger {
    database: Arc<Database>,
    keys: Keys,
    seen: seen::Seen,
    heads_file: PathBuf,
    turns: project::Turns,
    cache: project::Cache,
    heard: Heard,
}

impl Ledger {
    /// Recalls the heads that an earlier process saw. Nothing is compared yet: that happens under each head's lock,
    /// before the first write.
    pub(crate) fn open(
        database: Arc<Database>,
        keys: Keys,
        heads_file: &Path,
    ) -> Result<Self, HeadsFileError> {
        let seen = seen::Seen::default();
        seen.recall(heads_file::read(heads_file)?);
        Ok(Self {
            database,
            keys,
            seen,
            heads_file: heads_file.to_owned(),
            turns: project::Turns::default(),
            cache: project::Cache::default(),
            heard: Heard::default(),
        })
    }

    /// Copies what was seen to the file, if it changed since the last call.
    pub(crate) fn save_heads(&self) -> Result<(), HeadsFileError> {
        match self.seen.changes() {
            Some(heads) => heads_file::write(&self.heads_file, &heads),
            None => Ok(()),
        }
    }

    /// A gateway process asked something. If that cannot be written down it asks again soon.
    pub(crate) async fn heard(&self, project: ProjectId, instance: InstanceId) {
        if let Err(error) = self.heard.note(&self.database, project, instance).await {
            tracing::warn!(%project, %error, "gateway not noted");
        }
    }

    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn seen(&self) -> &seen::Seen {
        &self.seen
    }
}
