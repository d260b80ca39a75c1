//! Watching a log: the checkpoint that it shows today continues the one that it showed before.
//!
//! Promised: what was signed is kept, and a log that shows another history is caught with two notes of its own, which
//! prove it to anybody. The proof is computed from the log's tiles (C2SP tlog-tiles) and believed only as far as it
//! leads to both signed roots.
//! Not promised: that everybody is shown the same. Two watchers compare their state files.

mod tiles;

use anyhow::Context;
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::receipt::{Refusal, RefusalClass, Trust, signed_checkpoint};
use counterfoil_core::tree::{consistency_path, root_of, verify_consistency};
use reqwest::Client;

use crate::remote;
use tiles::Tiles;

/// A note has at most 64 KiB, signatures included.
const LARGEST_NOTE: usize = 64 * 1024;

/// What one look at a log shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Seen {
    /// Nothing was kept before.
    First(u64),
    Same(u64),
    Extended {
        from: u64,
        to: u64,
    },
    /// The log shows less than it did: an older copy of it, or its end was cut off.
    Older {
        kept: u64,
        shown: u64,
    },
    /// Two signed notes that contradict each other.
    Forked {
        kept: String,
        shown: String,
    },
    /// A signature that does not hold, or tiles that are not those of the checkpoint.
    Broken(String),
    /// No log key that was pinned signed it.
    Unpinned(String),
}

impl Seen {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::First(_) | Self::Same(_) | Self::Extended { .. } => 0,
            Self::Older { .. } => 20,
            Self::Forked { .. } => 30,
            Self::Broken(_) => 40,
            Self::Unpinned(_) => 50,
        }
    }
}

/// Looks at the log behind a page. The second value is the note to keep from now on, if it is another than before.
///
/// An error says that the log could not be asked, or that what was kept is no note of it.
pub async fn look(
    client: &Client,
    page: &str,
    trust: &Trust,
    kept: Option<&str>,
) -> anyhow::Result<(Seen, Option<String>)> {
    let before = kept.map(|note| signed_checkpoint(note, trust)).transpose();
    let before = before.context("the checkpoint that was kept")?;
    let answer = client.get(format!("{page}/checkpoint")).send().await?;
    let note = remote::small(answer, LARGEST_NOTE).await?;
    let Ok(note) = String::from_utf8(note) else {
        return Ok((Seen::Broken("the checkpoint is no text".to_owned()), None));
    };
    let shown = match signed_checkpoint(&note, trust) {
        Ok(shown) => shown,
        Err(refusal) => return Ok((refused(&refusal), None)),
    };
    let (Some(before), Some(kept)) = (before, kept) else {
        return Ok((Seen::First(shown.size), Some(note)));
    };
    let seen = compare(client, page, &before, &shown, (kept, &note)).await?;
    let keep = matches!(seen, Seen::Extended { .. }).then_some(note);
    Ok((seen, keep))
}

fn refused(refusal: &Refusal) -> Seen {
    match refusal.class() {
        RefusalClass::Broken => Seen::Broken(refusal.to_string()),
        RefusalClass::Unpinned => Seen::Unpinned(refusal.to_string()),
    }
}

async fn compare(
    client: &Client,
    page: &str,
    before: &Checkpoint,
    shown: &Checkpoint,
    (kept, note): (&str, &str),
) -> anyhow::Result<Seen> {
    let forked = || Seen::Forked { kept: kept.to_owned(), shown: note.to_owned() };
    if shown.size < before.size {
        return Ok(Seen::Older { kept: before.size, shown: shown.size });
    }
    if shown.size == before.size {
        return Ok(if shown.root == before.root { Seen::Same(shown.size) } else { forked() });
    }
    let tiles = Tiles::for_proof(client, page, before.size, shown.size).await?;
    let node = |level, index| tiles.node(level, index);
    // First that these are the tiles of the tree that was signed: only then do they speak for it.
    if root_of(shown.size, &node) != Some(shown.root) {
        return Ok(Seen::Broken("the tiles do not lead to the root of the checkpoint".to_owned()));
    }
    let path = consistency_path(before.size, shown.size, &node).context("a proof needs more tiles")?;
    match verify_consistency(before.size, shown.size, &path, &before.root, &shown.root) {
        Ok(()) => Ok(Seen::Extended { from: before.size, to: shown.size }),
        Err(_) => Ok(forked()),
    }
}

#[cfg(test)]
mod tests;
