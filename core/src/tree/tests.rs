use super::*;
use proptest::prelude::*;

/// The definition of RFC 6962, section 2.1, word for word: slow, and independent of the code under test.
fn by_definition(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::empty_root(),
        [only] => *only,
        _ => {
            let mut half = 1;
            while half * 2 < leaves.len() {
                half *= 2;
            }
            node_hash(&by_definition(&leaves[..half]), &by_definition(&leaves[half..]))
        }
    }
}

fn leaves(count: u64) -> Vec<Hash> {
    (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
}

fn nodes_of(leaves: &[Hash]) -> impl Fn(u8, u64) -> Option<Hash> {
    move |level, index| {
        let width = 1usize << level;
        let start = usize::try_from(index).ok()? * width;
        leaves.get(start..start + width).map(by_definition)
    }
}

#[test]
fn the_empty_root_is_the_digest_of_nothing() {
    assert_eq!(
        crate::digest::hex(Frontier::empty().root().bytes()),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

/// P2: whatever the batches, the tree is the one of the definition and every new leaf gets a path that holds.
#[test]
fn appending_in_any_batches_builds_the_tree_of_the_definition() {
    let all = leaves(70);
    for batch in [1, 2, 3, 7, 16, 70] {
        let mut frontier = Frontier::empty();
        let mut done = 0;
        for chunk in all.chunks(batch) {
            let paths = frontier.append(chunk);
            let root = by_definition(&all[..done + chunk.len()]);
            assert_eq!(frontier.root(), root);
            for (offset, path) in paths.iter().enumerate() {
                let index = (done + offset) as u64;
                let leaf = &all[done + offset];
                assert_eq!(verify_inclusion(leaf, index, frontier.size(), path, &root), Ok(()));
            }
            done += chunk.len();
            let again = Frontier::from_bytes(frontier.size(), &frontier.to_bytes());
            assert_eq!(again.as_ref(), Ok(&frontier));
        }
    }
}

#[test]
fn a_frontier_of_another_size_is_refused() {
    let mut frontier = Frontier::empty();
    frontier.append(&leaves(6));
    assert!(Frontier::from_bytes(7, &frontier.to_bytes()).is_err());
    assert!(Frontier::from_bytes(6, &frontier.to_bytes()[1..]).is_err());
}

proptest! {
    #[test]
    fn inclusion_holds_for_the_leaf_and_for_nothing_else(size in 1u64..200, pick in any::<u64>(), other in any::<u64>()) {
        let all = leaves(size);
        let index = pick % size;
        let path = inclusion_path(index, size, &nodes_of(&all)).expect("inside the tree");
        let root = by_definition(&all);
        let leaf = &all[usize::try_from(index).expect("small")];
        prop_assert_eq!(verify_inclusion(leaf, index, size, &path, &root), Ok(()));

        let elsewhere = other % size;
        if elsewhere != index {
            prop_assert!(verify_inclusion(leaf, elsewhere, size, &path, &root).is_err());
        }
        prop_assert!(verify_inclusion(leaf, index, size, &path, &Hash::empty_root()).is_err());
        let mut longer = path.clone();
        longer.push(root);
        prop_assert!(verify_inclusion(leaf, index, size, &longer, &root).is_err());
        if let Some((_, shorter)) = path.split_last() {
            prop_assert!(verify_inclusion(leaf, index, size, shorter, &root).is_err());
        }
    }

    /// P5: a record that was shortened and regrown differently has no consistency proof.
    #[test]
    fn consistency_holds_for_a_prefix_and_for_nothing_else(old in 0u64..150, more in 0u64..150, bend in any::<u64>()) {
        let new = old + more;
        let all = leaves(new);
        let path = consistency_path(old, new, &nodes_of(&all)).expect("a prefix");
        let old_leaves = &all[..usize::try_from(old).expect("small")];
        let (old_root, new_root) = (by_definition(old_leaves), by_definition(&all));
        prop_assert_eq!(verify_consistency(old, new, &path, &old_root, &new_root), Ok(()));

        if old > 0 {
            let mut bent = old_leaves.to_vec();
            bent[usize::try_from(bend % old).expect("small")] = leaf_hash(b"another");
            prop_assert!(verify_consistency(old, new, &path, &by_definition(&bent), &new_root).is_err());
        }
        if more > 0 && old > 0 {
            prop_assert!(verify_consistency(new, old, &path, &new_root, &old_root).is_err());
        }
    }
}
