//! Whether a log still begins with what somebody holds of it.
//!
//! Tiles prove nothing by themselves. What they say of the older tree counts once it was led up to the newer root. Tiles that
//! do not add up to the signed checkpoint prove nothing either way, and are a contradiction of their own.

use super::tiles::Tiles;
use super::{HeldNote, HeldReceipt};
use crate::fetch::FetchError;
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::entry::Entry;
use counterfoil_core::tree::{
    consistency_path, inclusion_path, root_of, verify_consistency, verify_inclusion,
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AlarmKind {
    /// Smaller than it was.
    Shrank,
    /// Not a continuation.
    Forked,
    /// An entry that we hold is not in its place.
    Missing,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Alarm {
    pub kind: AlarmKind,
    /// The signed notes that cannot both be true of one log.
    pub notes: [String; 2],
    /// Which entry that we hold, where it is about one.
    pub seq: Option<u64>,
}

pub(super) struct Found {
    pub(super) alarm: Option<Alarm>,
    pub(super) count: usize,
}

pub(super) async fn contradiction(
    held: Option<&HeldNote>,
    newest: &HeldNote,
    receipts: &[HeldReceipt],
    tiles: &mut Tiles<'_>,
) -> Result<Found, FetchError> {
    let alarm = |kind, note: &str, seq| {
        let notes = [note.to_owned(), newest.note.clone()];
        Found { alarm: Some(Alarm { kind, notes, seq }), count: 0 }
    };
    if let Some(held) = held {
        if newest.checkpoint.size < held.checkpoint.size {
            return Ok(alarm(AlarmKind::Shrank, &held.note, None));
        }
        if !continues(&held.checkpoint, &newest.checkpoint, tiles).await? {
            return Ok(alarm(AlarmKind::Forked, &held.note, None));
        }
    }
    for HeldReceipt { entry, note } in receipts {
        if entry.seq >= newest.checkpoint.size {
            return Ok(alarm(AlarmKind::Shrank, note, Some(entry.seq)));
        }
        if !stands(entry, &newest.checkpoint, tiles).await? {
            return Ok(alarm(AlarmKind::Missing, note, Some(entry.seq)));
        }
    }
    Ok(Found { alarm: None, count: receipts.len() })
}

/// Whether the older tree is a prefix of the newer one. `old` is not larger.
async fn continues(old: &Checkpoint, newer: &Checkpoint, tiles: &mut Tiles<'_>) -> Result<bool, FetchError> {
    let path = tiles.with(|node| {
        // The newer root itself, so that a log which serves no tiles at all shows nothing.
        root_of(newer.size, &node).filter(|root| *root == newer.root)?;
        consistency_path(old.size, newer.size, &node)
    });
    Ok(match path.await? {
        Some(path) => verify_consistency(old.size, newer.size, &path, &old.root, &newer.root).is_ok(),
        None => false,
    })
}

async fn stands(entry: &Entry, head: &Checkpoint, tiles: &mut Tiles<'_>) -> Result<bool, FetchError> {
    let path = tiles.with(|node| inclusion_path(entry.seq, head.size, &node)).await?;
    let holds =
        |path: Vec<_>| verify_inclusion(&entry.leaf_hash(), entry.seq, head.size, &path, &head.root).is_ok();
    Ok(path.is_some_and(holds))
}
