//! The right edge of a growing tree: the complete subtrees that its size's binary digits name, largest first.

use super::proof::{ProofError, edges_in, inclusion_path, verify_consistency};
use super::{Hash, node_hash};
use std::collections::HashMap;

/// Enough of a tree to append to it and to know its root: at most 64 nodes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frontier {
    size: u64,
    /// One node for each binary 1 of `size`, from the highest digit down.
    edges: Vec<Hash>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a frontier of size {size} has {wanted} bytes, not {found}")]
pub struct FrontierError {
    size: u64,
    wanted: usize,
    found: usize,
}

impl Frontier {
    pub fn empty() -> Self {
        Self { size: 0, edges: Vec::new() }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Hash {
        let mut smallest_first = self.edges.iter().rev();
        let Some(smallest) = smallest_first.next() else {
            return Hash::empty_root();
        };
        smallest_first.fold(*smallest, |right, left| node_hash(left, &right))
    }

    /// The nodes, 32 bytes each, largest subtree first.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.edges.iter().flat_map(|edge| *edge.bytes()).collect()
    }

    pub fn from_bytes(size: u64, bytes: &[u8]) -> Result<Self, FrontierError> {
        let wanted = 32 * size.count_ones() as usize;
        let (nodes, rest) = bytes.as_chunks::<32>();
        if bytes.len() != wanted || !rest.is_empty() {
            return Err(FrontierError { size, wanted, found: bytes.len() });
        }
        let edges = nodes.iter().copied().map(Hash::from_bytes).collect();
        Ok(Self { size, edges })
    }

    /// The edge of an older tree, out of the proof that a newer one continues it: enough to append the leaves between.
    pub fn from_consistency(
        old: u64,
        new: u64,
        path: &[Hash],
        old_root: &Hash,
        new_root: &Hash,
    ) -> Result<Self, ProofError> {
        verify_consistency(old, new, path, old_root, new_root)?;
        let edges = match old {
            0 => Vec::new(),
            // Two equal trees need no proof, and nothing is appended to this edge.
            _ if old == new => return Ok(Self { size: old, edges: vec![*old_root] }),
            _ => edges_in(old, new, path, old_root).ok_or(ProofError::WrongLength)?,
        };
        Ok(Self { size: old, edges })
    }

    /// Appends one leaf, for whoever needs the root alone. Costs two hashes on average.
    pub fn grow(&mut self, leaf: Hash) {
        self.push(leaf, &mut HashMap::new());
    }

    /// Appends leaves and returns, for each, its inclusion path under the new size. Costs about 2 log n hashes a leaf.
    pub fn append(&mut self, leaves: &[Hash]) -> Vec<Vec<Hash>> {
        let first = self.size;
        let mut nodes = self.complete_subtrees();
        for leaf in leaves {
            self.push(*leaf, &mut nodes);
        }
        let node = |level: u8, index: u64| nodes.get(&(level, index)).copied();
        (first..self.size)
            .map(|index| {
                inclusion_path(index, self.size, &node)
                    .expect("the frontier and the new leaves give every node beside the new leaves")
            })
            .collect()
    }

    fn complete_subtrees(&self) -> HashMap<(u8, u64), Hash> {
        let levels = (0..64u8).rev().filter(|l| self.size >> l & 1 == 1);
        levels.zip(&self.edges).map(|(level, hash)| ((level, (self.size >> level) - 1), *hash)).collect()
    }

    fn push(&mut self, leaf: Hash, nodes: &mut HashMap<(u8, u64), Hash>) {
        let (mut level, mut index, mut hash) = (0u8, self.size, leaf);
        nodes.insert((level, index), hash);
        // An odd index is a right child: its left sibling is the smallest edge, and both become their parent.
        while index & 1 == 1 {
            let left = self.edges.pop().expect("an odd index means a complete left sibling on the edge");
            hash = node_hash(&left, &hash);
            level += 1;
            index >>= 1;
            nodes.insert((level, index), hash);
        }
        self.edges.push(hash);
        self.size += 1;
    }
}
