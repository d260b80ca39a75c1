//! P2: whatever is changed in a ledger, the audit says so and names the place.

mod answered;
mod mutations;
pub(crate) mod rows;
pub(crate) mod statements;
pub(crate) mod writer;

use super::*;
use crate::key::{Decision, Ledger, SigningKey};
use crate::statement::{KeyEvent, PublishedType, Verdict};
use proptest::prelude::*;
use rows::Rows;
use std::rc::Rc;
use writer::Writer;

/// Two keys, registry and rules in four commits; then an allowed call, a refused one, a finding.
fn first_day() -> Writer {
    let mut writer = Writer::new();
    let (ledger, log, decision) =
        (Rc::clone(&writer.ledger), Rc::clone(&writer.log), Rc::clone(&writer.decision));
    writer.key(KeyEvent::Introduced, &*ledger, &*ledger);
    writer.key(KeyEvent::Introduced, &*log, &*ledger);
    writer.commit();
    writer.key(KeyEvent::Introduced, &*decision, &*ledger);
    writer.commit();
    writer.publish(PublishedType::Registry, "registry 1");
    writer.commit();
    writer.publish(PublishedType::Rules, "rules 1");
    writer.commit();
    calls(&mut writer, 100);
    writer
}

/// One commit: an allowed call and its observation, a refused call, a finding.
fn calls(writer: &mut Writer, action: u128) {
    let key = Rc::clone(&writer.decision);
    let (numbers, policy, now) = (writer.numbers, writer.policy, writer.now);
    let allowed = statements::decision(action, Verdict::Allow, numbers, policy, now);
    let digest = writer.state(allowed, &key);
    writer.state(statements::decision(action + 1, Verdict::Deny, numbers, policy, now), &key);
    writer.state(statements::observation(action, digest, now), &key);
    let ledger = Rc::clone(&writer.ledger);
    writer.state(statements::finding(action, now), &ledger);
    writer.commit();
}

/// The second day: rotation of the decision key and of the ledger key, new rules, a decision that was judged by the
/// rules before them, a kill, a refused call under it.
pub(crate) fn two_days() -> Writer {
    let mut writer = first_day();
    writer.tomorrow();
    let (old_ledger, old_decision) = (Rc::clone(&writer.ledger), Rc::clone(&writer.decision));
    writer.decision = Rc::new(SigningKey::<Decision>::from_seed(&[5; 32]));
    let new_decision = Rc::clone(&writer.decision);
    writer.key(KeyEvent::Introduced, &*new_decision, &*old_ledger);
    writer.commit();
    writer.ledger = Rc::new(SigningKey::<Ledger>::from_seed(&[6; 32]));
    let new_ledger = Rc::clone(&writer.ledger);
    writer.key(KeyEvent::Introduced, &*new_ledger, &*old_ledger);
    writer.key(KeyEvent::Retired, &*old_ledger, &*new_ledger);
    writer.key(KeyEvent::Revoked, &*old_decision, &*new_ledger);
    writer.commit();
    let judged_before = (writer.numbers, writer.policy);
    writer.publish(PublishedType::Rules, "rules 2");
    writer.commit();
    let late = statements::decision(200, Verdict::Allow, judged_before.0, judged_before.1, writer.now);
    writer.state(late, &new_decision);
    writer.commit();
    calls(&mut writer, 300);
    kill(&mut writer);
    writer
}

fn kill(writer: &mut Writer) {
    writer.numbers.control += 1;
    writer.numbers.generation += 1;
    writer.numbers.floor = writer.numbers.control;
    let (key, ledger) = (Rc::clone(&writer.decision), Rc::clone(&writer.ledger));
    writer.rows.head.killed = true;
    writer.state(statements::kill(writer.numbers, writer.now), &ledger);
    writer.commit();
    let (numbers, policy, now) = (writer.numbers, writer.policy, writer.now);
    writer.state(statements::decision(400, Verdict::Deny, numbers, policy, now), &key);
    writer.commit();
}

fn spoilt_at(rows: &Rows) -> Place {
    rows.audit().expect_err("something was changed").place
}

#[test]
fn an_honest_ledger_with_rotations_and_a_change_of_day_is_clean() {
    let rows = two_days().rows;

    let clean = rows.audit().expect("nothing was changed");

    let size = u64::try_from(rows.entries.len()).expect("small");
    assert_eq!((clean.size, clean.verified, clean.erased), (size, size, 0));
    assert_eq!(clean.root.bytes().as_slice(), rows.head.root);
}

#[test]
fn a_ledger_without_entries_is_clean() {
    let clean = Writer::new().rows.audit().expect("nothing was written");
    assert_eq!((clean.size, clean.root), (0, Hash::empty_root()));
}

#[test]
fn an_allow_under_a_kill_is_named() {
    let mut writer = two_days();
    let key = Rc::clone(&writer.decision);
    let (numbers, policy, now) = (writer.numbers, writer.policy, writer.now);
    writer.state(statements::decision(500, Verdict::Allow, numbers, policy, now), &key);
    writer.commit();

    let broken = writer.rows.audit().expect_err("an ALLOW after kill/v1");

    assert_eq!(broken.fault, Fault::NotCleared("while the project is killed"));
    assert_eq!(broken.place, Place::Entry { seq: writer.rows.head.size - 1, column: "body" });
}

#[test]
fn an_allow_judged_by_what_is_below_the_floor_is_named() {
    let mut writer = first_day();
    let key = Rc::clone(&writer.decision);
    let judged_before = (writer.numbers, writer.policy);
    writer.publish(PublishedType::Registry, "registry 2");
    writer.commit();
    let stale = statements::decision(500, Verdict::Allow, judged_before.0, judged_before.1, writer.now);
    writer.state(stale, &key);
    writer.commit();

    let broken = writer.rows.audit().expect_err("a stale ALLOW");

    assert_eq!(broken.fault, Fault::NotCleared("under what was no longer in force"));
}

#[test]
fn an_allow_under_another_policy_is_named() {
    let mut writer = first_day();
    let key = Rc::clone(&writer.decision);
    let (numbers, now) = (writer.numbers, writer.now);
    writer.state(statements::decision(500, Verdict::Allow, numbers, Digest::of(b"mine"), now), &key);
    writer.commit();

    let broken = writer.rows.audit().expect_err("a policy that was never published");

    assert_eq!(broken.fault, Fault::NotCleared("under another policy than was in force"));
}

#[test]
fn a_statement_by_a_revoked_key_is_named() {
    let mut writer = two_days();
    let old = SigningKey::<Decision>::from_seed(&[3; 32]);
    let (numbers, policy, now) = (writer.numbers, writer.policy, writer.now);
    writer.state(statements::decision(500, Verdict::Deny, numbers, policy, now), &old);
    writer.commit();

    let fault = writer.rows.audit().expect_err("the key ended").fault;

    assert!(matches!(fault, Fault::EndedKey { kid, .. } if kid == *old.kid()));
}

#[test]
fn a_decision_by_the_ledger_key_is_named() {
    let mut writer = first_day();
    let ledger = Rc::clone(&writer.ledger);
    let (numbers, policy, now) = (writer.numbers, writer.policy, writer.now);
    writer.state(statements::decision(500, Verdict::Deny, numbers, policy, now), &ledger);
    writer.commit();

    let fault = writer.rows.audit().expect_err("a key of another purpose").fault;

    assert!(matches!(fault, Fault::OtherPurpose { .. }), "{fault}");
}

#[test]
fn a_key_that_nobody_possesses_is_named() {
    let mut writer = first_day();
    let (ledger, stolen) = (Rc::clone(&writer.ledger), SigningKey::<Decision>::from_seed(&[8; 32]));
    writer.numbers.control += 1;
    let mut said = statements::key(KeyEvent::Introduced, &stolen, writer.numbers, writer.now);
    said.possession = None;
    writer.state(said, &ledger);
    writer.commit();

    let fault = writer.rows.audit().expect_err("no signature of the new key").fault;

    assert_eq!(fault, Fault::Possession(stolen.kid().clone()));
}

#[test]
fn a_day_that_nobody_closed_is_named() {
    let mut writer = first_day();
    let first_of_day = writer.rows.head.size;
    writer.forget_yesterday();
    calls(&mut writer, 500);

    let broken = writer.rows.audit().expect_err("the day was not closed");

    assert_eq!(broken.fault, Fault::DayNotClosed("2026-11-30".to_owned()));
    assert_eq!(broken.place, Place::Entry { seq: first_of_day, column: "kind" });
}

#[test]
fn a_time_that_goes_back_is_named() {
    let mut writer = first_day();
    writer.now = writer.now.plus_millis(-1);
    calls(&mut writer, 500);

    let broken = writer.rows.audit().expect_err("a millisecond back");

    assert!(matches!(broken.fault, Fault::TimeGoesBack(_)), "{broken}");
}

#[test]
fn a_decision_dated_before_its_entry_is_named() {
    let mut writer = first_day();
    let key = Rc::clone(&writer.decision);
    let (numbers, policy) = (writer.numbers, writer.policy);
    let early = writer.now.plus_millis(-15_001);
    writer.state(statements::decision(500, Verdict::Deny, numbers, policy, early), &key);
    writer.commit();

    let broken = writer.rows.audit().expect_err("older than a decision lives");

    assert_eq!(broken.fault, Fault::Skew(early));
}

#[test]
fn a_ledger_of_another_log_key_or_ledger_key_is_not_trusted() {
    let rows = two_days().rows;
    let stranger = SigningKey::<Ledger>::from_seed(&[9; 32]).public().clone();

    let log = Trust { log: vec![stranger.clone()], ..Trust::default() };
    assert_eq!(rows.audit_trusting(log).expect_err("not pinned").fault, Fault::UntrustedLogKey);
    let ledger = Trust { log: vec![rows.log.clone()], ledger: vec![stranger], ..Trust::default() };
    let fault = rows.audit_trusting(ledger).expect_err("not pinned").fault;
    assert!(matches!(fault, Fault::UntrustedLedgerKey(_)), "{fault}");
}

/// P5: a genuine older state is no longer enough once somebody kept a newer checkpoint.
#[test]
fn a_record_cut_to_a_genuine_older_state_is_caught_by_a_checkpoint_held_elsewhere() {
    let long = two_days().rows;
    let cut = first_day().rows;
    let held = |rows: &Rows| {
        let root = Hash::from_bytes(rows.head.root.as_slice().try_into().expect("32 bytes"));
        let held = BTreeMap::from([(u64::try_from(rows.head.size).expect("small"), root)]);
        Trust { log: vec![rows.log.clone()], held, ..Trust::default() }
    };

    assert!(cut.audit().is_ok());
    assert!(long.audit_trusting(held(&cut)).is_ok());
    let broken = cut.audit_trusting(held(&long)).expect_err("shorter than what was held");
    assert_eq!(broken.place, Place::Head { column: "size" });
    let mut fork = first_day();
    calls(&mut fork, 900);
    fork.tomorrow();
    let size = fork.rows.head.size;
    let other = Trust {
        held: BTreeMap::from([(u64::try_from(size).expect("small"), Hash::empty_root())]),
        ..held(&cut)
    };
    assert_eq!(
        fork.rows.audit_trusting(other).expect_err("another root").place,
        Place::Entry { seq: size, column: "prev" }
    );
}

#[test]
fn an_absent_body_needs_a_tombstone_and_a_kind_that_can_be_erased() {
    let mut rows = two_days().rows;
    let decision = rows.entries.iter().position(|row| row.kind == "decision").expect("one");
    rows.entries[decision].body = None;
    assert_eq!(rows.audit().expect_err("no tombstone").fault, Fault::NoTombstone);
    let seq = rows.entries[decision].seq;
    rows.tombstones = vec![StoredTombstone { seq: seq + 1, first: seq, last: seq }];
    let broken = rows.audit().expect_err("a tombstone row without its entry");
    assert_eq!(
        (broken.place, broken.fault),
        (Place::Tombstone { seq: seq + 1, column: "seq" }, Fault::Surplus)
    );

    let mut rows = two_days().rows;
    rows.entries[0].body = None;
    rows.tombstones = vec![StoredTombstone { seq: 5, first: 0, last: 4 }];
    assert_eq!(rows.audit().expect_err("a key/v1").fault, Fault::NotErasable(Kind::Key));
}

/// P6, T5: what was erased as it may be leaves a ledger that is clean, and is counted apart.
#[test]
fn a_ledger_with_bodies_erased_under_a_tombstone_is_clean() {
    let mut writer = two_days();
    let seq = writer.rows.head.size;
    let ledger = Rc::clone(&writer.ledger);
    writer.state(statements::tombstone(5, 7, writer.now), &ledger);
    writer.commit();
    let mut rows = writer.rows;
    rows.tombstones = vec![StoredTombstone { seq, first: 5, last: 7 }];
    for row in &mut rows.entries[5..=7] {
        row.body = None;
    }

    let clean = rows.audit().expect("erased as it may be");

    assert_eq!((clean.erased, clean.verified), (3, clean.size - 3));
    for wider in [StoredTombstone { seq, first: 5, last: 8 }, StoredTombstone { seq, first: 4, last: 7 }] {
        rows.tombstones = vec![wider];
        assert!(matches!(spoilt_at(&rows), Place::Tombstone { .. }), "{wider:?}");
    }
    rows.tombstones = Vec::new();
    assert_eq!(spoilt_at(&rows), Place::Entry { seq: 5, column: "body" });
}

/// P6: a tombstone of one day excuses no body of another, whatever its range says.
#[test]
fn a_body_of_another_day_than_its_tombstone_says_is_named() {
    let mut writer = two_days();
    let seq = writer.rows.head.size;
    let ledger = Rc::clone(&writer.ledger);
    let decision =
        writer.rows.entries.iter().rposition(|row| row.kind == "decision").expect("of the second day");
    let last = u64::try_from(decision).expect("small");
    writer.state(statements::tombstone(5, last, writer.now), &ledger);
    writer.commit();
    let mut rows = writer.rows;
    rows.tombstones = vec![StoredTombstone { seq, first: 5, last: rows.entries[decision].seq }];
    rows.entries[5].body = None;
    rows.audit().expect("of the day that the tombstone names");

    rows.entries[decision].body = None;

    let broken = rows.audit().expect_err("of the day after");
    assert_eq!(broken.place, Place::Entry { seq, column: "body" });
    assert!(broken.to_string().contains("bodies of 2026-12-01"), "{broken}");
}

/// T5, T10: a setting is kept in the record, and moves nothing that decides.
#[test]
fn a_setting_that_moves_what_decides_is_named() {
    for (moved, clean) in [(0, true), (1, false)] {
        let mut writer = two_days();
        let seq = writer.rows.head.size;
        let mut numbers = writer.numbers;
        numbers.control += moved;
        let ledger = Rc::clone(&writer.ledger);
        writer.state(statements::retention(30, numbers, writer.now), &ledger);
        writer.commit();

        let found = writer.rows.audit();

        assert_eq!(found.is_ok(), clean);
        let place = found.err().map(|broken| broken.place);
        assert_eq!(place, (!clean).then_some(Place::Entry { seq, column: "body" }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any one bit of any stored bytes: the audit stops at that entry.
    #[test]
    fn any_flipped_bit_of_an_entry_is_named(row in 0..19usize, column in 0..5usize, bit in any::<prop::sample::Index>()) {
        let mut rows = two_days().rows;
        let row = row % rows.entries.len();
        let entry = &mut rows.entries[row];
        let bytes = match column {
            0 => &mut entry.body_digest,
            1 => &mut entry.prev,
            2 => &mut entry.hash,
            3 => &mut entry.path,
            _ => entry.body.as_mut().expect("nothing is erased"),
        };
        prop_assume!(!bytes.is_empty());
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);

        let named = match spoilt_at(&rows) {
            Place::Entry { seq, .. } => usize::try_from(seq).ok(),
            _ => None,
        };
        prop_assert_eq!(named, Some(row));
    }
}
