//! Addresses of C2SP tlog-tiles. Pure.
//!
//!     tile/0/x001/x234/067        256 leaf hashes from leaf 1234067·256 on
//!     tile/1/000.p/112            the first 112 hashes of subtrees of 256 leaves
//!     tile/entries/000.p/7        seven entries, each behind its length as two bytes
//!
//! One spelling each: what is padded, prefixed or counted differently does not parse. A width of 256 is written as
//! the full tile, and a tile of width 0 does not exist.

/// Leaves of a full tile, and the factor between two levels.
pub(super) const WIDTH: u64 = 256;
/// 256^8 does not fit in a seq.
const HIGHEST_LEVEL: u8 = 7;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tile {
    Hashes { level: u8, range: Range },
    Entries(Range),
}

/// `width` things from `index`·256 on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Range {
    pub(super) index: u64,
    pub(super) width: u64,
}

impl Tile {
    /// Reads what stands behind `tile/`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let (level, rest) = path.split_once('/')?;
        let range = Range::parse(rest)?;
        if level == "entries" {
            return Some(Self::Entries(range));
        }
        let level = number::<u8>(level).filter(|level| *level <= HIGHEST_LEVEL)?;
        Some(Self::Hashes { level, range })
    }

    /// The last leaf under each hash (or the leaf of each entry), if a log of `size` entries has them all.
    pub(super) fn last_leaves(self, size: u64) -> Option<Vec<u64>> {
        let (level, range) = match self {
            Self::Hashes { level, range } => (level, range),
            Self::Entries(range) => (0, range),
        };
        let span = WIDTH.checked_pow(u32::from(level))?;
        let first = range.index.checked_mul(WIDTH)?;
        let end = first.checked_add(range.width)?;
        let available = size / span;
        (end <= available).then(|| (first..end).map(|place| (place + 1) * span - 1).collect())
    }
}

impl Range {
    fn parse(path: &str) -> Option<Self> {
        let (index, width) = match path.split_once(".p/") {
            Some((index, width)) => (index, number::<u64>(width).filter(|w| (1..WIDTH).contains(w))?),
            None => (path, WIDTH),
        };
        let mut groups = index.split('/').rev();
        let mut value = group(groups.next()?)?;
        let mut factor: u64 = 1000;
        let mut highest = value;
        for prefixed in groups {
            highest = group(prefixed.strip_prefix('x')?)?;
            value = value.checked_add(highest.checked_mul(factor)?)?;
            factor = factor.checked_mul(1000)?;
        }
        // A leading group of zeros would be a second spelling.
        let canonical = factor == 1000 || highest > 0;
        canonical.then_some(Self { index: value, width })
    }
}

fn group(text: &str) -> Option<u64> {
    let three_digits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    three_digits.then(|| text.parse().ok()).flatten()
}

fn number<T: std::str::FromStr + ToString>(text: &str) -> Option<T> {
    let value: T = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(level: u8, index: u64, width: u64) -> Option<Tile> {
        Some(Tile::Hashes { level, range: Range { index, width } })
    }

    #[test]
    fn an_address_has_one_spelling() {
        assert_eq!(Tile::parse("0/x001/x234/067"), hashes(0, 1_234_067, 256));
        assert_eq!(Tile::parse("1/000.p/112"), hashes(1, 0, 112));
        assert_eq!(Tile::parse("entries/005.p/7"), Some(Tile::Entries(Range { index: 5, width: 7 })));
        for wrong in [
            "0/1",
            "0/0001",
            "0/x000/001",
            "0/001/002",
            "00/001",
            "+1/001",
            "8/000",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/01",
            "0/000.p/",
            "0/000.p/+1",
            "0/",
            "0",
            "",
            "data/000",
            "0/x001",
            "0/x01/001",
            "-1/000",
        ] {
            assert_eq!(Tile::parse(wrong), None, "{wrong}");
        }
    }

    /// 70,000 leaves: 273 full tiles and one of 112 at level 0; one full and one of 17 at level 1; one of 1 at level 2.
    #[test]
    fn a_tile_exists_exactly_as_far_as_the_log_reaches() {
        let has = |path: &str| Tile::parse(path).unwrap().last_leaves(70_000).map(|leaves| leaves.len());
        assert_eq!(has("0/272"), Some(256));
        assert_eq!(has("0/273"), None);
        assert_eq!(has("0/273.p/112"), Some(112));
        assert_eq!(has("0/273.p/111"), Some(111));
        assert_eq!(has("0/273.p/113"), None);
        assert_eq!(has("1/000"), Some(256));
        assert_eq!(has("1/001.p/17"), Some(17));
        assert_eq!(has("1/001.p/18"), None);
        assert_eq!(has("2/000.p/1"), Some(1));
        assert_eq!(has("2/000.p/2"), None);
        assert_eq!(has("3/000.p/1"), None);
        assert_eq!(Tile::parse("1/001.p/2").unwrap().last_leaves(70_000), Some(vec![65_791, 66_047]));
    }
}
