//! The restore guard, without a database.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::leaf_hash;
use uuid::Uuid;

use super::*;

/// A head of that many entries; `history` tells one past from another.
fn head(size: u8, history: &[u8]) -> Head {
    let project = ProjectId::from_uuid(Uuid::from_bytes([1; 16]));
    let mut head = Head::of_new_project(project, Timestamp::from_millis(0).unwrap());
    for place in 0..size {
        head.frontier.append(&[leaf_hash(&[history, &[place]].concat())]);
    }
    head.last_hash = Digest::of(history);
    head
}

fn compare(seen: &Seen, head: &Head, line: u64) -> Result<Proof, ReadOnly> {
    seen.compare(head, seen.known(head.project), &Line::numbered(line))
}

#[test]
fn a_head_that_grows_on_the_same_line_needs_no_proof() {
    let seen = Seen::default();
    assert_eq!(compare(&seen, &head(3, b"a"), 1), Ok(Proof::Needless));
    seen.remember(&head(3, b"a"), &Line::numbered(1));

    assert_eq!(compare(&seen, &head(3, b"a"), 1), Ok(Proof::Needless));
    assert_eq!(compare(&seen, &head(5, b"a"), 1), Ok(Proof::Needless));
}

#[test]
fn a_smaller_or_different_head_stops_the_project_for_good() {
    for other in [head(2, b"a"), head(3, b"b")] {
        let seen = Seen::default();
        seen.remember(&head(3, b"a"), &Line::numbered(1));

        assert!(compare(&seen, &other, 1).is_err());
        assert!(compare(&seen, &head(9, b"a"), 1).is_err(), "still stopped");
        assert!(seen.stopped(other.project).is_some());
    }
}

#[test]
fn a_new_line_must_contain_what_was_seen_before_anything_is_written() {
    let seen = Seen::default();
    let before = head(3, b"a");
    seen.remember(&before, &Line::numbered(1));

    let after = head(5, b"a");
    assert_eq!(compare(&seen, &after, 2), Ok(Proof::RootAt(3, before.root())));
    assert_eq!(seen.prove(&after, 3, before.root(), Some(before.root())), Ok(()));
    seen.remember(&after, &Line::numbered(2));
    assert_eq!(compare(&seen, &head(6, b"a"), 2), Ok(Proof::Needless));

    // A standby that lost the tail and was written to since: larger, and of another history.
    let fork = head(9, b"b");
    assert_eq!(compare(&seen, &fork, 3), Ok(Proof::RootAt(5, after.root())));
    assert!(seen.prove(&fork, 5, after.root(), None).is_err());
    assert!(compare(&seen, &head(9, b"a"), 3).is_err());
}

#[test]
fn heads_of_an_earlier_process_are_on_no_line_yet() {
    let seen = Seen::default();
    let before = head(3, b"a");
    seen.recall([(before.project, before.size(), before.root())]);

    assert!(compare(&seen, &head(2, b"a"), 1).is_err());
    let seen = Seen::default();
    seen.recall([(before.project, before.size(), before.root())]);
    assert_eq!(compare(&seen, &head(4, b"a"), 1), Ok(Proof::RootAt(3, before.root())));
}

#[test]
fn what_was_seen_never_shrinks() {
    let seen = Seen::default();
    seen.remember(&head(5, b"a"), &Line::numbered(1));
    seen.remember(&head(3, b"a"), &Line::numbered(1));
    seen.recall([(head(1, b"a").project, 1, head(1, b"a").root())]);

    assert_eq!(seen.held(head(5, b"a").project), Some((5, head(5, b"a").root())));
    assert_eq!(seen.changes().map(|heads| heads.len()), Some(1));
    assert!(seen.changes().is_none());
}
