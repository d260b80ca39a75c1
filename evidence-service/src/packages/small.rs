//! The small files: keys, checkpoints, what leads from one to the other, tombstones, published texts.

use std::cell::RefCell;
use std::collections::HashMap;

use counterfoil_core::issuer::Issuer;
use counterfoil_core::package::{ProviderKeyFile, consistency_text, name};
use counterfoil_core::tree::{Hash, consistency_path, node_hash};
use serde::Serialize;
use serde_json::value::RawValue;

use super::job::{Audience, Job};
use super::store::{self, Head};
use crate::database::{DatabaseError, ProjectTx};
use crate::keys;
use crate::ledger::store::{EntryRow, unreadable};

type File = (&'static str, Vec<u8>);

/// Every small file of a package, in the order that they are written.
pub(super) async fn files(
    tx: &ProjectTx<'_>,
    issuer: &Issuer,
    job: &Job,
    head: &Head,
) -> Result<Vec<File>, DatabaseError> {
    let mut files = vec![
        (name::NEW_CHECKPOINT, head.note.clone().into_bytes()),
        (name::JWKS, json(&keys::document(issuer, &keys::all(tx).await?))?),
        (name::PROVIDER_KEYS, json(&ProviderKeyFile { keys: store::provider_keys(tx).await? })?),
        (name::TOMBSTONES, json(&store::tombstones(tx, job.first).await?)?),
    ];
    if job.first > 0 {
        let old = store::note(tx, job.first).await?;
        let path = path(tx, job.first, head.size).await?;
        files.push((name::OLD_CHECKPOINT, old.into_bytes()));
        files.push((name::CONSISTENCY, consistency_text(job.first, &path, &head.note).into_bytes()));
    }
    if job.audience == Audience::Rules {
        files.push((name::BUNDLES, bundles(tx).await?));
        files.push((name::GRANTS, grants(tx).await?));
    }
    Ok(files)
}

/// One line for each text that was ever published.
async fn bundles(tx: &ProjectTx<'_>) -> Result<Vec<u8>, DatabaseError> {
    #[derive(Serialize)]
    struct Line<'t> {
        seq: u64,
        kind: &'t str,
        text: &'t str,
    }
    let mut lines = Vec::new();
    for (seq, kind, text) in store::documents(tx).await? {
        lines.extend(json(&Line { seq, kind: &kind, text: &text })?);
        lines.push(b'\n');
    }
    Ok(lines)
}

/// One line for each text of a grant, the shortened and ended too: a decision of then is evaluated again with them.
async fn grants(tx: &ProjectTx<'_>) -> Result<Vec<u8>, DatabaseError> {
    #[derive(Serialize)]
    struct Line<'t> {
        seq: u64,
        nonce: &'t str,
        document: &'t RawValue,
    }
    let mut lines = Vec::new();
    for (seq, nonce, text) in store::grants(tx).await? {
        let document: &RawValue = serde_json::from_str(&text).map_err(unreadable)?;
        lines.extend(json(&Line { seq, nonce: &nonce, document })?);
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The proof that the tree of `old` leaves is a prefix of the one of `new`.
async fn path(tx: &ProjectTx<'_>, old: u64, new: u64) -> Result<Vec<Hash>, DatabaseError> {
    let unproved = || unreadable("no proof leads from one checkpoint to the other");
    let places = last_leaves(old, new).ok_or_else(unproved)?;
    let rows: HashMap<u64, EntryRow> =
        store::nodes(tx, &places).await?.into_iter().map(|row| (row.entry.seq, row)).collect();
    let node = |level: u8, index: u64| {
        let row = rows.get(&last_leaf(level, index))?;
        let lefts = row.path.get(..usize::from(level))?;
        Some(lefts.iter().fold(row.entry.leaf_hash(), |right, left| node_hash(left, &right)))
    };
    consistency_path(old, new, &node).ok_or_else(unproved)
}

/// The last leaf under each node of the proof: its row is all that it takes.
fn last_leaves(old: u64, new: u64) -> Option<Vec<u64>> {
    let wanted = RefCell::new(Vec::new());
    let asking = |level: u8, index: u64| {
        wanted.borrow_mut().push(last_leaf(level, index));
        Some(Hash::empty_root())
    };
    consistency_path(old, new, &asking)?;
    Some(wanted.into_inner())
}

fn last_leaf(level: u8, index: u64) -> u64 {
    ((index + 1) << level) - 1
}

pub(super) fn json(document: &impl Serialize) -> Result<Vec<u8>, DatabaseError> {
    serde_json::to_vec(document).map_err(unreadable)
}
