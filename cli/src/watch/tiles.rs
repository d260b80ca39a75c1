//! Tiles of a C2SP tlog-tiles log: those that one proof takes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, ensure};
use counterfoil_core::tree::{Hash, consistency_path, node_hash, root_of};
use reqwest::Client;

use crate::remote;

/// Hashes of a full tile: eight levels of the tree.
const WIDTH: u64 = 256;
const LEVELS: u8 = 8;

/// Tiles by their level and index, each as wide as the tree makes it.
pub(super) struct Tiles(HashMap<(u8, u64), Vec<Hash>>);

impl Tiles {
    /// Fetches what it takes to recompute the root of `new` leaves, and to prove that `old` is a prefix.
    pub(super) async fn for_proof(client: &Client, page: &str, old: u64, new: u64) -> anyhow::Result<Self> {
        let wanted = wanted(old, new).context("no proof leads from the one to the other")?;
        let mut tiles = HashMap::new();
        for (level, index) in wanted {
            let there = new >> (u32::from(level) * u32::from(LEVELS));
            let width = WIDTH.min(there - index * WIDTH);
            tiles.insert((level, index), fetch(client, page, level, index, width).await?);
        }
        Ok(Self(tiles))
    }

    /// The hash of a complete subtree, out of the tile that holds it.
    pub(super) fn node(&self, level: u8, index: u64) -> Option<Hash> {
        let (tile, first, count) = place(level, index);
        let hashes = self.0.get(&tile)?;
        let mut row = hashes.get(first..first + count)?.to_vec();
        while row.len() > 1 {
            row = row.chunks_exact(2).map(|pair| node_hash(&pair[0], &pair[1])).collect();
        }
        row.first().copied()
    }
}

/// Which tiles the proof looks into. It is known before any is there.
fn wanted(old: u64, new: u64) -> Option<BTreeSet<(u8, u64)>> {
    let wanted = RefCell::new(BTreeSet::new());
    let asking = |level, index| {
        wanted.borrow_mut().insert(place(level, index).0);
        Some(Hash::empty_root())
    };
    root_of(new, &asking)?;
    consistency_path(old, new, &asking)?;
    Some(wanted.into_inner())
}

/// The tile of a node, and which of its hashes the node covers.
fn place(level: u8, index: u64) -> ((u8, u64), usize, usize) {
    let (tile_level, height) = (level / LEVELS, level % LEVELS);
    let first = index << height;
    let within = usize::try_from(first % WIDTH).expect("below 256");
    ((tile_level, first / WIDTH), within, 1 << height)
}

async fn fetch(client: &Client, page: &str, level: u8, index: u64, width: u64) -> anyhow::Result<Vec<Hash>> {
    let full = format!("{page}/tile/{level}/{}", spelled(index));
    let url = if width == WIDTH { full } else { format!("{full}.p/{width}") };
    let bytes = remote::small(client.get(&url).send().await?, 32 * WIDTH as usize).await?;
    let (hashes, rest) = bytes.as_chunks::<32>();
    ensure!(rest.is_empty() && hashes.len() as u64 == width, "`{url}` is not {width} hashes");
    Ok(hashes.iter().copied().map(Hash::from_bytes).collect())
}

/// `x001/x234/067` for 1234067.
fn spelled(index: u64) -> String {
    let mut rest = index / 1000;
    let mut text = format!("{:03}", index % 1000);
    while rest > 0 {
        text = format!("x{:03}/{text}", rest % 1000);
        rest /= 1000;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{spelled, wanted};

    #[test]
    fn a_tile_is_spelled_as_tlog_tiles_says() {
        assert_eq!(spelled(67), "067");
        assert_eq!(spelled(1_234_067), "x001/x234/067");
        assert_eq!(spelled(256_000), "x256/000");
    }

    /// A proof over a million entries takes a handful of tiles, not thousands.
    #[test]
    fn a_proof_takes_few_tiles() {
        assert!(wanted(999_999, 1_000_000).unwrap().len() <= 3);
        assert!(wanted(1, 1_000_000).unwrap().len() <= 6);
        assert!(wanted(500_001, 1_000_000).unwrap().len() <= 6);
    }
}
