//! Hashes of a log, out of its tiles (C2SP tlog-tiles).
//!
//!     tile/<level>/<index>[.p/<width>]        256 hashes of 32 bytes; the newest tile of a level may be partial
//!
//! A tile is believed by nobody: what is computed from it is compared with a signed root.

use crate::fetch::{Bounds, Fetch, FetchError};
use counterfoil_core::tree::{Hash, node_hash};
use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

/// Hashes of a full tile: eight levels of the tree.
const WIDTH: u64 = 256;
const LEVELS: u8 = 8;
const TILE: Bounds = Bounds { most: 64 * 1024, within: Duration::from_secs(5) };

type Place = (u8, u64);

pub(super) struct Tiles<'t> {
    log: &'t str,
    fetch: &'t dyn Fetch,
    /// Leaves of the tree that the tiles are of.
    size: u64,
    held: HashMap<Place, Vec<Hash>>,
}

impl<'t> Tiles<'t> {
    pub(super) fn new(log: &'t str, fetch: &'t dyn Fetch, size: u64) -> Self {
        Self { log, fetch, size, held: HashMap::new() }
    }

    /// Runs a computation over nodes, fetching the tiles that it turns out to need. `None` if it needs one that no tree of
    /// this size has.
    pub(super) async fn with<T>(
        &mut self,
        compute: impl Fn(&dyn Fn(u8, u64) -> Option<Hash>) -> Option<T>,
    ) -> Result<Option<T>, FetchError> {
        loop {
            match self.attempt(&compute) {
                (None, Some(tile)) => self.load(tile).await?,
                (computed, _) => return Ok(computed),
            }
        }
    }

    /// The result, or the first tile that was not there.
    fn attempt<T>(
        &self,
        compute: impl Fn(&dyn Fn(u8, u64) -> Option<Hash>) -> Option<T>,
    ) -> (Option<T>, Option<Place>) {
        let missing = Cell::new(None);
        let node = |level: u8, index: u64| -> Option<Hash> {
            let (tile, first, count) = place(level, index);
            let Some(hashes) = self.held.get(&tile) else {
                missing.set(Some(tile));
                return None;
            };
            reduced(hashes.get(first..first + count)?)
        };
        let computed = compute(&node);
        (computed, missing.get())
    }

    async fn load(&mut self, (level, index): Place) -> Result<(), FetchError> {
        let complete = self.size.checked_shr(u32::from(level) * u32::from(LEVELS)).unwrap_or(0);
        let width = complete.saturating_sub(index * WIDTH).min(WIDTH);
        let end = if width < WIDTH { format!(".p/{width}") } else { String::new() };
        let address = format!("{}/tile/{level}/{}{end}", self.log, spelled(index));
        let bytes = self.fetch.get(&address, TILE).await?;
        let (hashes, rest) = bytes.as_chunks::<32>();
        if width == 0 || !rest.is_empty() || hashes.len() as u64 != width {
            return Err(FetchError(format!("`{address}` is not of {width} hashes")));
        }
        self.held.insert((level, index), hashes.iter().copied().map(Hash::from_bytes).collect());
        Ok(())
    }
}

/// The tile of a node, and which of its hashes the node covers.
fn place(level: u8, index: u64) -> (Place, usize, usize) {
    let (row, height) = (level / LEVELS, level % LEVELS);
    let first = index << height;
    let within = usize::try_from(first % WIDTH).expect("below 256");
    ((row, first / WIDTH), within, 1 << height)
}

fn reduced(hashes: &[Hash]) -> Option<Hash> {
    let mut row = hashes.to_vec();
    while row.len() > 1 {
        row = row.chunks_exact(2).map(|pair| node_hash(&pair[0], &pair[1])).collect();
    }
    row.first().copied()
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
    use super::spelled;

    #[test]
    fn a_tile_is_spelled_as_tlog_tiles_says() {
        assert_eq!(spelled(67), "067");
        assert_eq!(spelled(1_234_067), "x001/x234/067");
    }
}
