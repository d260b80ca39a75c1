//! The project's log to the letter of C2SP tlog-tiles: `/checkpoint`, `/tile/<L>/<N>[.p/<W>]`, `/tile/entries/…`.
//!
//! Nothing is stored for it. A leaf hash comes from the entry's columns. The hash over a complete subtree comes from
//! its last leaf and the path that was stored with it: that leaf is a right child at every level of the subtree, so
//! the first siblings of its path are the complete left halves, whatever the size of the tree was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use counterfoil_core::id::ProjectId;
use counterfoil_core::tree::{Hash, node_hash};

use super::door::Visit;
use super::store;
use super::tiles::Tile;
use crate::http::ApiError;
use crate::ledger::Ledger;
use crate::ledger::store::EntryRow;

/// Checkpoints as they were last published.
#[derive(Clone, Default)]
pub(crate) struct Published(Arc<Mutex<HashMap<ProjectId, (Instant, String)>>>);

/// At most one checkpoint a second is published; receipts carry their own.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

impl Published {
    fn fresh(&self, project: ProjectId) -> Option<String> {
        let published = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, note) = published.get(&project)?;
        (at.elapsed() < PUBLISH_EVERY).then(|| note.clone())
    }

    /// What is published from now on: the note, unless another was published since the moment it was asked for. That
    /// one may be of a later read, and what followers see must not go back.
    fn publish(&self, project: ProjectId, note: String, asked_at: Instant) -> String {
        let mut published = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match published.get(&project) {
            Some((at, newer)) if *at >= asked_at => newer.clone(),
            Some(_) | None => {
                published.insert(project, (Instant::now(), note.clone()));
                note
            }
        }
    }
}

/// The newest published checkpoint.
pub(crate) async fn checkpoint(
    State(ledger): State<Arc<Ledger>>,
    State(published): State<Published>,
    Extension(visit): Extension<Visit>,
) -> Result<Response, ApiError> {
    let id = visit.project;
    let note = match published.fresh(id) {
        Some(note) => note,
        None => {
            let asked_at = Instant::now();
            let mut client = ledger.database().reader().await?;
            let tx = client.begin(id).await?;
            published.publish(id, store::checkpoint(&tx).await?, asked_at)
        }
    };
    Ok((headers("text/plain; charset=utf-8", "max-age=1"), note).into_response())
}

/// A tile of hashes or a bundle of entries, full or partial. Immutable once it is there.
pub(crate) async fn tile(
    State(ledger): State<Arc<Ledger>>,
    Extension(visit): Extension<Visit>,
    Path((_, path)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let tile = Tile::parse(&path).ok_or(ApiError::NotFound)?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin(visit.project).await?;
    let leaves = tile.last_leaves(store::size(&tx).await?).ok_or(ApiError::NotFound)?;
    let rows = store::at(&tx, &leaves).await?;
    if rows.len() != leaves.len() {
        // The audit will say where. A tile with a hole would be a lie.
        return Err(ApiError::Unavailable);
    }
    let bytes = match tile {
        Tile::Hashes { level, .. } => hashes(&rows, level).ok_or(ApiError::Unavailable)?,
        Tile::Entries(_) => bundle(&rows).ok_or(ApiError::Unavailable)?,
    };
    Ok((headers("application/octet-stream", "max-age=31536000, immutable"), bytes).into_response())
}

fn hashes(rows: &[EntryRow], level: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(32 * rows.len());
    for row in rows {
        // Eight levels of the tree make one level of tiles.
        let lefts = row.path.get(..8 * usize::from(level))?;
        let root = lefts.iter().fold(row.entry.leaf_hash(), |right: Hash, left| node_hash(left, &right));
        bytes.extend_from_slice(root.bytes());
    }
    Some(bytes)
}

fn bundle(rows: &[EntryRow]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for row in rows {
        let entry = row.entry.bytes();
        bytes.extend_from_slice(&u16::try_from(entry.len()).ok()?.to_be_bytes());
        bytes.extend_from_slice(&entry);
    }
    Some(bytes)
}

fn headers(kind: &'static str, cache: &'static str) -> HeaderMap {
    let fixed = HeaderValue::from_static;
    HeaderMap::from_iter([(CONTENT_TYPE, fixed(kind)), (CACHE_CONTROL, fixed(cache))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_was_read_earlier_never_replaces_one_published_since() {
        let project = "prj_019355a0c0007000800000000000a001".parse().unwrap();
        let published = Published::default();
        let slow = Instant::now();
        let fast = Instant::now();

        assert_eq!(published.publish(project, "seven".to_owned(), fast), "seven");
        assert_eq!(published.publish(project, "five".to_owned(), slow), "seven");

        assert_eq!(published.fresh(project).as_deref(), Some("seven"));
        assert_eq!(published.publish(project, "eight".to_owned(), Instant::now()), "eight");
    }
}
