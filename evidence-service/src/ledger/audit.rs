//! The self-audit: at boot and every hour, each project's ledger recomputed from its signed bodies (P2).
//!
//! Promised: any difference, in a chained column, a projection, a key, a document or the head, and any in the lists and
//! sums of the comparison, is `BROKEN_CHAIN` on the project's page, with the first place that is not right. Not promised: that whoever holds our keys and the
//! database could not hide. `counterfoil fsck` does the same from outside, with keys and checkpoints kept elsewhere.

mod finding;

use std::collections::VecDeque;

use counterfoil_core::audit::{Auditor, Broken, Clean, Place, Trust};
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::{RetentionDays, SettingName};
use tokio_postgres::Row;

use super::Ledger;
use super::append::AppendError;
use super::store::audit as rows;
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::grants;
use crate::reconciliation::{self, Misplaced};
use crate::settings::{self, Visibility};

/// What was found.
pub(crate) type Found = Result<Clean, Broken>;

/// Rows read at once: some hundred kilobytes, a few hundredths of a second of checking between two reads.
const PAGE: i64 = 256;

impl Ledger {
    /// Audits every project, one after the other, and keeps what was found. One that cannot be read does not keep the
    /// next from being looked at.
    pub(crate) async fn audit_all(&self) -> Result<(), AppendError> {
        for project in self.all_projects().await? {
            if let Err(error) = self.audit_one(project).await {
                tracing::error!(%project, %error, "self-audit");
            }
        }
        Ok(())
    }

    /// Reads one moment of the project, however long it takes, and recomputes it.
    pub(crate) async fn audit(&self, project: ProjectId) -> Result<Found, AppendError> {
        // Taken before the snapshot: the ledger must pass through it.
        let held = self.seen.held(project);
        let mut client = self.database.app().await?;
        let tx = client.begin_snapshot(project).await?;
        let trust = Trust {
            log: self.keys.all_log.clone(),
            ledger: self.keys.all_ledger.clone(),
            held: held.into_iter().collect(),
        };
        Ok(recompute(&tx, trust).await?)
    }

    async fn audit_one(&self, project: ProjectId) -> Result<(), AppendError> {
        match self.audit(project).await? {
            Err(broken) => {
                let broken =
                    Misplaced { place: shown(&broken.place), seq: finding::entry_at_fault(&broken.place) };
                self.keep_found(project, 0, Some(broken)).await
            }
            Ok(clean) => {
                let misplaced = self.audit_comparison(project).await?;
                let size = if misplaced.is_some() { 0 } else { clean.size };
                self.keep_found(project, size, misplaced).await
            }
        }
    }

    async fn audit_comparison(&self, project: ProjectId) -> Result<Option<Misplaced>, AppendError> {
        let mut client = self.database.app().await?;
        let tx = client.begin_snapshot(project).await?;
        match reconciliation::misplaced(&tx).await? {
            Some(misplaced) => Ok(Some(misplaced)),
            None => Ok(grants::misplaced(&tx).await?),
        }
    }

    async fn keep_found(
        &self,
        project: ProjectId,
        size: u64,
        broken: Option<Misplaced>,
    ) -> Result<(), AppendError> {
        let mut client = self.database.app().await?;
        let tx = client.begin(project).await?;
        let before = rows::last_broken(&tx).await?;
        let place = broken.as_ref().map(|broken| broken.place.as_str());
        rows::keep_audit(&tx, clock::now(), size, place).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        drop(client);
        if let Some(Misplaced { place, seq }) = broken {
            tracing::error!(%project, place, "BROKEN_CHAIN");
            if before.is_none() {
                self.find_broken_chain(project, seq).await?;
            }
        }
        Ok(())
    }
}

/// The place as a public page may name it. What stands there instead was put by a stranger's hand and is not repeated
/// (T4); `counterfoil fsck` says it to whoever may read the database.
fn shown(place: &Place) -> String {
    match place {
        Place::Setting { name } => format!("project, column {name}"),
        Place::Key { column, .. } => format!("signing key, column {column}"),
        Place::Project { .. }
        | Place::Entry { .. }
        | Place::Checkpoint { .. }
        | Place::Head { .. }
        | Place::Document { .. }
        | Place::Tombstone { .. }
        | Place::Session { .. } => place.to_string(),
    }
}

async fn recompute(tx: &ProjectTx<'_>, trust: Trust) -> Result<Found, DatabaseError> {
    let project = rows::project_row(tx).await?;
    let issuer = match rows::project(&project)?.identity() {
        Ok(issuer) => issuer,
        Err(broken) => return Ok(Err(broken)),
    };
    let mut auditor = Auditor::new(tx.project(), issuer, trust, rows::tombstones(tx).await?);
    if let Err(broken) = walk(tx, &mut auditor).await? {
        return Ok(Err(broken));
    }
    for row in rows::document_rows(tx).await? {
        if let Err(broken) = auditor.document(&rows::document(&row)?) {
            return Ok(Err(broken));
        }
    }
    for row in rows::session_rows(tx).await? {
        if let Err(broken) = auditor.session(&rows::session(&row)?) {
            return Ok(Err(broken));
        }
    }
    if let Err(broken) = compare_settings(tx, &auditor).await? {
        return Ok(Err(broken));
    }
    let keys = rows::key_rows(tx).await?;
    let keys = keys.iter().map(rows::key).collect::<Result<Vec<_>, _>>()?;
    Ok(auditor.finish(&rows::head(&rows::head_row(tx).await?)?, &keys))
}

/// Columns that repeat a setting.
async fn compare_settings(
    tx: &ProjectTx<'_>,
    auditor: &Auditor,
) -> Result<Result<(), Broken>, DatabaseError> {
    let days = settings::store::retention_days(tx).await?.to_string();
    let unset = RetentionDays::DEFAULT.to_string();
    if let Err(broken) = auditor.setting(&SettingName::retention_days(), &days, &unset) {
        return Ok(Err(broken));
    }
    let visibility = settings::store::visibility(tx).await?;
    Ok(auditor.setting(&SettingName::visibility(), visibility.as_str(), Visibility::DEFAULT.as_str()))
}

/// Entries by seq, each commit's checkpoint before its entries.
async fn walk(tx: &ProjectTx<'_>, auditor: &mut Auditor) -> Result<Result<(), Broken>, DatabaseError> {
    let mut checkpoints = VecDeque::new();
    let mut last_size = -1;
    let mut last_seq = -1;
    loop {
        let entries = rows::entry_rows(tx, last_seq, PAGE).await?;
        let Some(last) = entries.last() else { break };
        last_seq = rows::entry(last)?.seq;
        for row in &entries {
            if auditor.wants_checkpoint()
                && let Some(row) = next_checkpoint(tx, &mut checkpoints, &mut last_size).await?
                && let Err(broken) = auditor.checkpoint(&rows::checkpoint(&row)?)
            {
                return Ok(Err(broken));
            }
            if let Err(broken) = auditor.entry(&rows::entry(row)?) {
                return Ok(Err(broken));
            }
        }
        // A long ledger must not keep a worker thread from answering.
        tokio::task::yield_now().await;
    }
    // A checkpoint beyond the last entry is one too many.
    match next_checkpoint(tx, &mut checkpoints, &mut last_size).await? {
        Some(row) => Ok(auditor.checkpoint(&rows::checkpoint(&row)?)),
        None => Ok(Ok(())),
    }
}

async fn next_checkpoint(
    tx: &ProjectTx<'_>,
    waiting: &mut VecDeque<Row>,
    last_size: &mut i64,
) -> Result<Option<Row>, DatabaseError> {
    if waiting.is_empty() {
        *waiting = rows::checkpoint_rows(tx, *last_size, PAGE).await?.into();
    }
    let next = waiting.pop_front();
    if let Some(row) = &next {
        *last_size = rows::checkpoint(row)?.size;
    }
    Ok(next)
}
