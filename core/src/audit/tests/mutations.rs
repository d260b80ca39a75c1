//! Every column of every row changed alone, and rows that go, come, and change places.

use super::rows::{EntryRow, Rows};
use super::{spoilt_at, two_days};
use crate::audit::{Broken, Fault, Place, StoredProject, StoredTombstone};
use crate::digest::Digest;
use uuid::Uuid;

type Change = (&'static str, fn(&mut EntryRow));

fn flip(bytes: &mut [u8]) {
    bytes[0] ^= 0x80;
}

/// Another text, or one where there was none.
fn other(text: &mut Option<String>) {
    *text = Some(text.take().map_or_else(|| "null".to_owned(), |text| format!("{text}x")));
}

const COLUMNS: [Change; 16] = [
    ("at", |row| row.at += 1),
    ("kind", |row| row.kind = if row.kind == "session" { "probe".into() } else { "session".into() }),
    ("body_digest", |row| flip(&mut row.body_digest)),
    ("prev", |row| flip(&mut row.prev)),
    ("hash", |row| flip(&mut row.hash)),
    ("body", |row| row.body = Some(b"{}".to_vec())),
    ("path", |row| row.path.extend([0; 32])),
    ("checkpoint_size", |row| row.checkpoint_size += 1),
    ("action", |row| row.projection.action = Some(Uuid::from_u128(99))),
    ("decision", |row| row.projection.decision = Some(Digest::of(b"another"))),
    ("agent", |row| row.projection.agent = Some(Uuid::from_u128(99))),
    ("verdict", |row| other(&mut row.projection.verdict)),
    ("reason", |row| other(&mut row.projection.reason)),
    ("provider", |row| other(&mut row.projection.provider)),
    ("tool", |row| other(&mut row.projection.tool)),
    ("status", |row| other(&mut row.projection.status)),
];

#[test]
fn a_column_of_an_entry_that_was_edited_is_named() {
    let honest = two_days().rows;
    for index in 0..honest.entries.len() {
        for (column, change) in COLUMNS {
            let mut rows = honest.clone();
            change(&mut rows.entries[index]);
            let seq = honest.entries[index].seq;
            assert_eq!(spoilt_at(&rows), Place::Entry { seq, column }, "{:?}", honest.entries[index].kind);
        }
    }
}

#[test]
fn a_projection_that_was_emptied_is_named() {
    let honest = two_days().rows;
    let empty: [Change; 8] = [
        ("action", |row| row.projection.action = None),
        ("decision", |row| row.projection.decision = None),
        ("agent", |row| row.projection.agent = None),
        ("verdict", |row| row.projection.verdict = None),
        ("reason", |row| row.projection.reason = None),
        ("provider", |row| row.projection.provider = None),
        ("tool", |row| row.projection.tool = None),
        ("status", |row| row.projection.status = None),
    ];
    for (column, change) in empty {
        let mut emptied = 0;
        for index in 0..honest.entries.len() {
            let mut rows = honest.clone();
            change(&mut rows.entries[index]);
            if rows.entries[index].projection != honest.entries[index].projection {
                emptied += 1;
                assert_eq!(spoilt_at(&rows), Place::Entry { seq: honest.entries[index].seq, column });
            }
        }
        assert!(emptied > 0, "no entry has a {column}");
    }
}

/// A forger who knows the format: a statement of his own with digest, hash and the hashes after it made to fit.
#[test]
fn a_body_swapped_with_everything_that_hangs_on_it_is_named() {
    let honest = two_days().rows;
    let decisions: Vec<usize> =
        (0..honest.entries.len()).filter(|index| honest.entries[*index].kind == "decision").collect();
    let mut rows = honest.clone();
    let donor = honest.entries[decisions[1]].clone();
    let forged = &mut rows.entries[decisions[0]];
    (forged.body, forged.body_digest) = (donor.body, donor.body_digest);
    forged.projection = donor.projection;
    rehash(&mut rows, decisions[0]);

    let seq = rows.entries[decisions[0]].seq;

    assert_eq!(spoilt_at(&rows), Place::Entry { seq, column: "path" });
}

/// Makes hashes and prevs fit again from `index` on.
fn rehash(rows: &mut Rows, index: usize) {
    use crate::entry::Entry;
    use crate::time::Timestamp;
    let digest = |bytes: &[u8]| Digest::from_bytes(bytes.try_into().expect("32 bytes"));
    let mut prev = rows.entries[index].prev.clone();
    for row in &mut rows.entries[index..] {
        row.prev = prev;
        let entry = Entry::new(
            super::writer::project(),
            u64::try_from(row.seq).expect("small"),
            Timestamp::from_millis(row.at).expect("in range"),
            row.kind.parse().expect("a kind"),
            digest(&row.body_digest),
            digest(&row.prev),
        );
        row.hash = entry.hash().bytes().to_vec();
        prev = row.hash.clone();
    }
    rows.head.last_hash = prev;
}

#[test]
fn an_entry_that_was_deleted_is_named() {
    let honest = two_days().rows;
    for index in 0..honest.entries.len() {
        let mut rows = honest.clone();
        rows.entries.remove(index);
        let broken = rows.audit().expect_err("an entry is gone");
        assert_eq!(broken.place, Place::Entry { seq: honest.entries[index].seq, column: "seq" });
        assert_eq!(broken.fault, Fault::Missing);
    }
}

/// Seq is the primary key, so whoever inserts must renumber what follows.
#[test]
fn an_entry_that_was_inserted_is_named() {
    let honest = two_days().rows;
    for index in 1..honest.entries.len() {
        let mut rows = honest.clone();
        let copy = rows.entries[index].clone();
        rows.entries.insert(index, copy);
        for row in &mut rows.entries[index + 1..] {
            row.seq += 1;
        }
        let named = spoilt_at(&rows);
        let Place::Entry { seq, .. } = named else { panic!("{named}") };
        assert!((honest.entries[index].seq..=honest.entries[index].seq + 1).contains(&seq), "{named}");
    }
}

#[test]
fn an_entry_stored_twice_is_named() {
    let honest = two_days().rows;
    let mut rows = honest.clone();
    rows.entries.insert(4, honest.entries[3].clone());

    let Broken { place, fault } = rows.audit().expect_err("stands twice");

    assert_eq!((place, fault), (Place::Entry { seq: 3, column: "seq" }, Fault::OutOfOrder { expected: 4 }));
}

#[test]
fn entries_that_changed_places_are_named() {
    let honest = two_days().rows;
    for index in 1..honest.entries.len() {
        let mut rows = honest.clone();
        rows.entries.swap(index - 1, index);
        // Swapped in the table, seq kept: the numbers no longer rise.
        assert_eq!(
            spoilt_at(&rows),
            Place::Entry { seq: honest.entries[index - 1].seq, column: "seq" },
            "order of {index}"
        );
        // Renumbered too: the chain does not fit.
        let (left, right) = (rows.entries[index - 1].seq, rows.entries[index].seq);
        (rows.entries[index - 1].seq, rows.entries[index].seq) = (right, left);
        assert_eq!(
            spoilt_at(&rows),
            Place::Entry { seq: honest.entries[index - 1].seq, column: "prev" },
            "places of {index}"
        );
    }
}

#[test]
fn a_tail_that_was_cut_off_is_named() {
    let honest = two_days().rows;
    let mut rows = honest.clone();
    rows.entries.pop();
    assert_eq!(spoilt_at(&rows), Place::Entry { seq: honest.head.size - 1, column: "seq" });
    // With its checkpoint, so that only the head remembers.
    rows.checkpoints.pop();
    assert_eq!(spoilt_at(&rows), Place::Entry { seq: honest.head.size - 1, column: "seq" });
    // With the head's size as well, so that only the root in it remembers.
    rows.head.size -= 1;
    assert_eq!(spoilt_at(&rows), Place::Head { column: "root" });
}

#[test]
fn a_checkpoint_that_was_edited_deleted_or_made_up_is_named() {
    let honest = two_days().rows;
    for index in 0..honest.checkpoints.len() {
        let size = honest.checkpoints[index].size;
        let spoil = |change: fn(&mut Rows, usize)| {
            let mut rows = honest.clone();
            change(&mut rows, index);
            spoilt_at(&rows)
        };
        let named = |column| Place::Checkpoint { size, column };
        assert_eq!(spoil(|rows, index| flip(&mut rows.checkpoints[index].root)), named("root"));
        assert_eq!(spoil(|rows, index| rows.checkpoints[index].at += 1), named("at"));
        let grow: fn(&mut Rows, usize) = |rows, index| {
            let row = &mut rows.checkpoints[index];
            row.note = row.note.replace(&format!("\n{}\n", row.size), &format!("\n{}\n", row.size + 1));
        };
        assert_eq!(spoil(grow), named("note"));
        let foreign: fn(&mut Rows, usize) = |rows, index| rows.checkpoints[index].note = "nobody's\n".into();
        assert_eq!(spoil(foreign), named("note"));
        let deleted = spoil(|rows, index| drop(rows.checkpoints.remove(index)));
        assert_eq!(deleted, named("size"), "deleted");
        let twice = spoil(|rows, index| rows.checkpoints.insert(index, rows.checkpoints[index].clone()));
        assert_eq!(twice, named("size"), "twice");
    }
}

type HeadChange = (&'static str, fn(&mut Rows));

#[test]
fn a_column_of_the_head_that_was_edited_is_named() {
    let honest = two_days().rows;
    let changes: [HeadChange; 17] = [
        ("root", |rows| flip(&mut rows.head.root)),
        ("frontier", |rows| flip(&mut rows.head.frontier)),
        ("last_hash", |rows| flip(&mut rows.head.last_hash)),
        ("last_at", |rows| rows.head.last_at += 1),
        ("epoch_first", |rows| rows.head.epoch_first += 1),
        ("epoch_counts", |rows| rows.head.epoch_counts = r#"{"decision":1}"#.into()),
        ("control", |rows| rows.head.control += 1),
        ("floor", |rows| rows.head.floor -= 1),
        ("gen", |rows| rows.head.generation -= 1),
        ("killed", |rows| rows.head.killed = false),
        ("stopped", |rows| rows.head.stopped = "live".to_owned()),
        ("breakglass_until", |rows| rows.head.breakglass_until = Some(1)),
        ("shadow_until", |rows| rows.head.shadow_until = Some(1)),
        ("policy", |rows| rows.head.policy = None),
        ("registry", |rows| rows.head.registry.iter_mut().for_each(|digest| flip(digest))),
        ("rules", |rows| rows.head.rules.iter_mut().for_each(|digest| flip(digest))),
        ("checkpoint", |rows| rows.head.checkpoint = rows.checkpoints[0].note.clone()),
    ];
    for (column, change) in changes {
        let mut rows = honest.clone();
        change(&mut rows);
        assert_eq!(spoilt_at(&rows), Place::Head { column });
    }
}

type KeyChange = (&'static str, fn(&mut super::rows::KeyRow));

#[test]
fn a_signing_key_that_was_edited_added_or_deleted_is_named() {
    let honest = two_days().rows;
    let changes: [KeyChange; 7] = [
        ("purpose", |row| row.purpose = "tick".into()),
        ("x", |row| row.x.insert(0, 'A')),
        ("introduced", |row| row.introduced += 1),
        ("introduced_at", |row| row.introduced_at += 1),
        ("ended", |row| row.ended = Some((1, 1))),
        ("revoked", |row| row.revoked = !row.revoked),
        ("thumbprint", |row| row.thumbprint = "A".repeat(43)),
    ];
    for index in 0..honest.keys.len() {
        for (column, change) in changes {
            let mut rows = honest.clone();
            change(&mut rows.keys[index]);
            let thumbprint = rows.keys[index].thumbprint.clone();
            assert_eq!(spoilt_at(&rows), Place::Key { thumbprint, column });
        }
        let mut rows = honest.clone();
        let thumbprint = rows.keys.remove(index).thumbprint;
        let broken = rows.audit().expect_err("a key is gone");
        assert_eq!(
            broken,
            Broken { place: Place::Key { thumbprint, column: "thumbprint" }, fault: Fault::Missing }
        );
    }
}

#[test]
fn a_document_that_was_edited_added_or_deleted_is_named() {
    let honest = two_days().rows;
    let document = |seq, column| Place::Document { seq, column };
    for index in 0..honest.documents.len() {
        let seq = honest.documents[index].seq;
        let mut rows = honest.clone();
        rows.documents[index].text.push(' ');
        assert_eq!(spoilt_at(&rows), document(seq, "text"));
        let mut rows = honest.clone();
        flip(&mut rows.documents[index].digest);
        assert_eq!(spoilt_at(&rows), document(seq, "digest"));
        let mut rows = honest.clone();
        rows.documents.remove(index);
        assert_eq!(spoilt_at(&rows), document(seq, "seq"));
        let mut rows = honest.clone();
        rows.documents[index].seq = 0;
        assert_eq!(spoilt_at(&rows), document(0, "seq"));
    }
}

#[test]
fn a_tombstone_without_its_entry_is_named() {
    let mut rows = two_days().rows;
    rows.tombstones.push(StoredTombstone { seq: 12, first: 5, last: 8 });
    assert_eq!(spoilt_at(&rows), Place::Tombstone { seq: 12, column: "seq" });
}

#[test]
fn a_project_row_that_names_another_slot_is_named() {
    let honest = StoredProject { issuer: "https://gw.example/p/7-k3m9q2v8", slot: 7, public_id: "k3m9q2v8" };
    assert!(honest.identity().is_ok());
    let column = |row: StoredProject<'_>| row.identity().expect_err("does not agree").place;
    assert_eq!(column(StoredProject { slot: 8, ..honest }), Place::Project { column: "slot" });
    assert_eq!(
        column(StoredProject { public_id: "k3m9q2v9", ..honest }),
        Place::Project { column: "public_id" }
    );
    assert_eq!(column(StoredProject { issuer: "gw.example", ..honest }), Place::Project { column: "issuer" });
}
