//! P5: a copy that is kept as the record grows, against every way of changing what was said before.

use super::*;
use crate::audit::tests::rows::Rows;
use crate::audit::tests::{statements, two_days, writer};
use crate::audit::{Place, Trust};
use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::key::{Log, SigningKey};
use std::rc::Rc;

fn trust() -> Trust {
    let log: SigningKey<Log> = SigningKey::from_seed(&[2; 32]);
    let ledger: SigningKey<crate::key::Ledger> = SigningKey::from_seed(&[1; 32]);
    Trust { log: vec![log.public().clone()], ledger: vec![ledger.public().clone()], ..Trust::default() }
}

fn follower() -> Follower {
    Follower::new(writer::issuer(), trust())
}

/// The stream of a whole record: entries, and each checkpoint after its last.
fn stream(rows: &Rows) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for row in &rows.entries {
        let digest = |bytes: &[u8]| Digest::from_bytes(bytes.try_into().expect("32 bytes"));
        let at = crate::time::Timestamp::from_millis(row.at).expect("a time");
        let (kind, seq) = (row.kind.parse().expect("a kind"), row.seq.try_into().expect("small"));
        let entry = Entry::new(writer::project(), seq, at, kind, digest(&row.body_digest), digest(&row.prev));
        lines.push(Line::of_entry(&entry, row.body.as_deref()));
        let closes = rows.checkpoints.iter().find(|checkpoint| checkpoint.size == row.seq + 1);
        lines.extend(closes.map(|checkpoint| Line::of_checkpoint(&checkpoint.note)));
    }
    lines
}

fn follow(follower: &mut Follower, lines: &[Vec<u8>]) -> Result<(), Contradiction> {
    for line in lines {
        let line = Line::parse(line.strip_suffix(b"\n").expect("a whole line")).expect("a line");
        follower.follow(&line)?;
    }
    Ok(())
}

#[test]
fn an_honest_stream_is_followed_from_its_first_entry_to_its_last() {
    let rows = two_days().rows;
    let mut follower = follower();

    follow(&mut follower, &stream(&rows)).expect("all of it holds");

    assert_eq!(i64::try_from(follower.size()), Ok(rows.head.size));
    assert_eq!(follower.checkpoint(), Some(rows.head.checkpoint.as_str()));
    follower.nothing_is_missing().expect("every body came");
}

/// P5, P6
#[test]
fn a_body_that_does_not_come_needs_its_tombstone_before_the_end() {
    let mut writer = two_days();
    let ledger = Rc::clone(&writer.ledger);
    writer.state(statements::tombstone(5, 7, writer.now), &ledger);
    writer.commit();
    let mut rows = writer.rows;
    for row in &mut rows.entries[5..=7] {
        row.body = None;
    }
    let lines = stream(&rows);
    let mut whole = follower();
    follow(&mut whole, &lines).expect("followed");
    whole.nothing_is_missing().expect("buried");

    let mut early = follower();
    follow(&mut early, &lines[..lines.len() - 2]).expect("so far");
    let missing = early.nothing_is_missing().expect_err("its tombstone did not come");
    assert_eq!(missing.place, Place::Entry { seq: 5, column: "body" });

    rows.entries[0].body = None;
    let broken = follow(&mut follower(), &stream(&rows)).expect_err("a key");
    assert!(broken.to_string().contains("cannot be erased"), "{broken}");
}

/// P5: whatever byte of an entry, a body or a note is another, no checkpoint after it is passed.
#[test]
fn a_stream_that_was_changed_anywhere_is_not_followed() {
    let lines = stream(&two_days().rows);
    for (place, line) in lines.iter().enumerate() {
        for index in (0..line.len() - 1).step_by(89) {
            let mut changed = lines.clone();
            changed[place][index] ^= 1;
            if Line::parse(changed[place].strip_suffix(b"\n").expect("a line")).is_err() {
                continue;
            }
            let mut follower = follower();
            follow(&mut follower, &changed[..place]).expect("as before");
            let (size, noted) = (follower.size(), follower.checkpoint().map(str::to_owned));
            assert!(follow(&mut follower, &changed[place..]).is_err(), "line {place}, byte {index}");
            assert!(follower.size() <= size + 1, "the line after it at the latest");
            assert_eq!(follower.checkpoint(), noted.as_deref());
        }
    }
}

/// P5: a record that is cut short, and one that goes on otherwise, each with both notes as evidence.
#[test]
fn a_record_that_shrank_or_forked_stops_the_copy_with_both_notes() {
    let rows = two_days().rows;
    let mut follower = follower();
    follow(&mut follower, &stream(&rows)).expect("followed");
    let earlier = &rows.checkpoints[rows.checkpoints.len() - 2];

    let shrunk = follow(&mut follower, &[Line::of_checkpoint(&earlier.note)]).expect_err("shorter");
    let Contradiction::Shrunk { kept, newest, .. } = shrunk else { panic!("{shrunk}") };
    assert_eq!((kept.as_ref(), &newest), (Some(&rows.head.checkpoint), &earlier.note));

    let log: SigningKey<Log> = SigningKey::from_seed(&[2; 32]);
    let (origin, size) = (writer::issuer().origin(), follower.size());
    let other = Checkpoint { origin, size, root: crate::tree::Hash::empty_root() }.sign(&log);
    let forked = follow(&mut follower, &[Line::of_checkpoint(&other)]).expect_err("another root");
    assert!(matches!(forked, Contradiction::Forked { .. }), "{forked}");
}

/// P5
#[test]
fn a_stream_under_keys_that_nobody_pinned_is_not_followed() {
    let lines = stream(&two_days().rows);
    let other: SigningKey<Log> = SigningKey::from_seed(&[9; 32]);
    let ledger: SigningKey<crate::key::Ledger> = SigningKey::from_seed(&[9; 32]);

    let mut log_only =
        Follower::new(writer::issuer(), Trust { log: vec![other.public().clone()], ..trust() });
    assert!(follow(&mut log_only, &lines).is_err());
    let mut ledger_only =
        Follower::new(writer::issuer(), Trust { ledger: vec![ledger.public().clone()], ..trust() });
    assert!(follow(&mut ledger_only, &lines).is_err());
}

#[test]
fn a_line_is_an_entry_or_a_checkpoint_and_says_one_thing() {
    for bad in [
        "",
        "{}",
        "null",
        r#"{"checkpoint":7}"#,
        r#"{"checkpoint":"x","body":null}"#,
        r#"{"entry":{}}"#,
        r#"{"body":null}"#,
    ] {
        assert!(Line::parse(bad.as_bytes()).is_err(), "{bad}");
    }
    let entry = serde_json::to_string(&two_days().rows.entries.len()).expect("a number");
    assert!(Line::parse(format!(r#"{{"entry":{entry}}}"#).as_bytes()).is_err());
}
