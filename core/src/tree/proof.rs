//! Inclusion and consistency: made from the nodes of complete subtrees, checked as RFC 9162, section 2.1, says.

use super::{Hash, node_hash};

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProofError {
    #[error("index {index} is not inside a tree of size {size}")]
    OutsideTree { index: u64, size: u64 },
    #[error("tree of size {old} is no prefix of one of size {new}")]
    NotAPrefix { old: u64, new: u64 },
    #[error("path has the wrong length")]
    WrongLength,
    #[error("path does not lead to the root")]
    OtherRoot,
}

/// Largest power of two below `n`, for n ≥ 2.
fn split(n: u64) -> u64 {
    1 << (63 - (n - 1).leading_zeros())
}

/// The hash of leaves `low` to `high` − 1. `node` gives complete subtrees; `None` if one that is needed is missing.
fn range_hash(low: u64, high: u64, node: &impl Fn(u8, u64) -> Option<Hash>) -> Option<Hash> {
    let width = high - low;
    if width.is_power_of_two() && low.is_multiple_of(width) {
        let level = u8::try_from(width.trailing_zeros()).ok()?;
        return node(level, low / width);
    }
    let middle = low + split(width);
    Some(node_hash(&range_hash(low, middle, node)?, &range_hash(middle, high, node)?))
}

/// The root of the first `size` leaves.
pub fn root_of(size: u64, node: &impl Fn(u8, u64) -> Option<Hash>) -> Option<Hash> {
    match size {
        0 => Some(Hash::empty_root()),
        _ => range_hash(0, size, node),
    }
}

/// PATH(index, D[size]), leaf sibling first. `None` outside the tree or where a node is missing.
pub fn inclusion_path(index: u64, size: u64, node: &impl Fn(u8, u64) -> Option<Hash>) -> Option<Vec<Hash>> {
    if index >= size {
        return None;
    }
    let (mut low, mut high) = (0, size);
    let mut from_the_top = Vec::new();
    while high - low > 1 {
        let middle = low + split(high - low);
        if index < middle {
            from_the_top.push(range_hash(middle, high, node)?);
            high = middle;
        } else {
            from_the_top.push(range_hash(low, middle, node)?);
            low = middle;
        }
    }
    from_the_top.reverse();
    Some(from_the_top)
}

/// PROOF(old, D[new]). Empty where old is 0 or equals new.
pub fn consistency_path(old: u64, new: u64, node: &impl Fn(u8, u64) -> Option<Hash>) -> Option<Vec<Hash>> {
    if old > new {
        return None;
    }
    if old == 0 || old == new {
        return Some(Vec::new());
    }
    let (mut low, mut high) = (0, new);
    let mut from_the_top = Vec::new();
    while high != old {
        let middle = low + split(high - low);
        if old <= middle {
            from_the_top.push(range_hash(middle, high, node)?);
            high = middle;
        } else {
            from_the_top.push(range_hash(low, middle, node)?);
            low = middle;
        }
    }
    if low > 0 {
        from_the_top.push(range_hash(low, high, node)?);
    }
    from_the_top.reverse();
    Some(from_the_top)
}

/// RFC 9162, section 2.1.3.2.
pub fn verify_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    path: &[Hash],
    root: &Hash,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::OutsideTree { index, size });
    }
    let (mut place, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return Err(ProofError::WrongLength);
        }
        if place & 1 == 1 || place == last {
            hash = node_hash(sibling, &hash);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    match last {
        0 if hash == *root => Ok(()),
        0 => Err(ProofError::OtherRoot),
        _ => Err(ProofError::WrongLength),
    }
}

/// RFC 9162, section 2.1.4.2: the tree of `old` leaves is a prefix of that of `new`.
pub fn verify_consistency(
    old: u64,
    new: u64,
    path: &[Hash],
    old_root: &Hash,
    new_root: &Hash,
) -> Result<(), ProofError> {
    if old > new {
        return Err(ProofError::NotAPrefix { old, new });
    }
    if old == 0 || old == new {
        let expected = if old == 0 { Hash::empty_root() } else { *new_root };
        return match (path.is_empty(), expected == *old_root) {
            (true, true) => Ok(()),
            (false, _) => Err(ProofError::WrongLength),
            (true, false) => Err(ProofError::OtherRoot),
        };
    }
    let mut path = path.iter();
    let (mut place, mut last) = (old - 1, new - 1);
    while place & 1 == 1 {
        place >>= 1;
        last >>= 1;
    }
    // An old size that is a power of two is a node of the new tree itself.
    let start = match place {
        0 => *old_root,
        _ => *path.next().ok_or(ProofError::WrongLength)?,
    };
    let (mut from_old, mut from_new) = (start, start);
    for sibling in path {
        if last == 0 {
            return Err(ProofError::WrongLength);
        }
        if place & 1 == 1 || place == last {
            from_old = node_hash(sibling, &from_old);
            from_new = node_hash(sibling, &from_new);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            from_new = node_hash(&from_new, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    match (last, from_old == *old_root && from_new == *new_root) {
        (0, true) => Ok(()),
        (0, false) => Err(ProofError::OtherRoot),
        _ => Err(ProofError::WrongLength),
    }
}

/// The edges of the tree of `old` leaves, largest first, as a consistency path to `new` contains them: the node that
/// the path starts from, and every left sibling.
pub(super) fn edges_in(old: u64, new: u64, path: &[Hash], old_root: &Hash) -> Option<Vec<Hash>> {
    let (mut low, mut high) = (0, new);
    let mut lefts_from_the_top = Vec::new();
    while high != old {
        let middle = low + split(high - low);
        lefts_from_the_top.push(old > middle);
        if old <= middle {
            high = middle;
        } else {
            low = middle;
        }
    }
    let (smallest, siblings) = match low {
        0 => (old_root, path),
        _ => path.split_first()?,
    };
    if siblings.len() != lefts_from_the_top.len() {
        return None;
    }
    let largest_first = siblings.iter().rev().zip(&lefts_from_the_top);
    let mut edges: Vec<Hash> =
        largest_first.filter(|(_, is_left)| **is_left).map(|(sibling, _)| *sibling).collect();
    edges.push(*smallest);
    Some(edges)
}
