//! P7: an honest package verifies from the holder's pins alone, and each way to spoil one has its name.

mod dishonest;
mod packer;
mod scene;
mod tampered;

use super::*;
use crate::reconcile::{Account, Status};
use crate::statement::{KeyEvent, ObservationStatus, Outcome, Verdict as Judged};
use packer::{Packer, pins, provider_line};
use scene::Scene;

fn pack(scene: &Scene) -> packer::Package {
    packer_of(scene).pack()
}

fn packer_of(scene: &Scene) -> Packer<'_> {
    let mut packer = Packer::of(&scene.writer);
    packer.providers = vec![provider_line(scene.provider.public(), scene.introduced, None)];
    packer
}

/// Calls that end in every honest way, over two days.
fn honest() -> Scene {
    let mut scene = Scene::new();
    for _ in 0..3 {
        scene.honest_call();
    }
    scene.decide(Judged::Deny);
    let refused = scene.decide(Judged::Allow);
    scene.observe(refused, ObservationStatus::NotSent);
    let quick = scene.decide(Judged::Allow);
    let said = scene.execution(quick, Outcome::Executed);
    scene.sign(said);
    scene.observe(quick, ObservationStatus::Returned);
    scene.writer.tomorrow();
    scene.writer.commit();
    let given_up = scene.decide(Judged::Allow);
    scene.observe(given_up, ObservationStatus::Timeout);
    let said = scene.execution(given_up, Outcome::Abandoned);
    scene.sign(said);
    let said = scene.execution(given_up, Outcome::Executed);
    scene.sign(said);
    scene.decide(Judged::Allow);
    scene
}

/// A gateway that waited in vain says `not_sent`, and its word may be numbered before the decision that it is about.
#[test]
fn an_observation_that_overtook_its_decision_is_counted() {
    let mut scene = Scene::new();
    let call = scene.sign_decision(Judged::Allow);
    scene.observe(call.call, ObservationStatus::NotSent);
    scene.enter_decision(call);
    scene.writer.tomorrow();
    scene.writer.commit();
    scene.wait(3_600_000);
    scene.honest_call();

    let report = pack(&scene).verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
}

#[test]
fn an_honest_package_holds_and_its_end_is_unanchored() {
    let scene = honest();

    let report = pack(&scene).verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
    assert_eq!(report.verdict.exit_code(), 10);
    assert_eq!((report.verified, report.withheld, report.erased), (scene.size(), 0, 0));
    let count = |status| report.calls.get(&(Account::Governed, status)).copied().unwrap_or(0);
    assert_eq!(count(Status::Matched), 7, "{:?}", report.calls);
    assert_eq!(report.open, 1, "the last call is not over");
    assert!(report.not_checked.contains(&NotChecked::Anchors));
}

#[test]
fn a_package_that_starts_later_holds_from_there() {
    let scene = honest();
    for first in 1..scene.size() {
        let mut packer = packer_of(&scene);
        packer.first = first;

        let report = packer.pack().verify(pins(&scene.writer));

        assert_eq!(report.verdict, Verdict::Unanchored, "from {first}: {}", report.verdict);
        assert_eq!(report.verified, scene.size() - first);
        assert!(report.not_checked.contains(&NotChecked::BeforeTheFirst(first)));
    }
}

#[test]
fn a_package_without_a_registry_says_what_it_cannot_judge() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Allow);
    scene.observe(call, ObservationStatus::Returned);
    let package = pack(&scene);
    let keys = crate::receipt::Trust::from_set(pins(&scene.writer)).expect("good keys");
    let trust = Trust { keys: &keys, since: None, held: &[], registry: &|_, _| None };

    let report = verify(&package, &trust).expect("memory can be read");

    assert_eq!(report.verdict, Verdict::Unanchored);
    assert!(report.not_checked.contains(&NotChecked::Duties(1)), "{:?}", report.not_checked);
}

/// A key that the operator imported under the provider's name is reported as the operator's word.
#[test]
fn a_providers_key_is_vouched_for_by_whoever_pinned_it() {
    let scene = honest();
    let package = pack(&scene);

    let by_operator = package.verify(pins(&scene.writer));
    let mut with_provider = pins(&scene.writer);
    with_provider.keys.push(crate::key::Jwk::new(scene.provider.public(), crate::key::Purpose::Execution));
    let by_holder = package.verify(with_provider);

    assert_eq!(by_operator.providers[0].pin, Pin::ByTheOperator);
    assert_eq!(by_holder.providers[0].pin, Pin::ByTheHolder);
}

#[test]
fn a_body_that_was_erased_is_counted_and_the_rest_holds() {
    let mut scene = Scene::new();
    scene.honest_call();
    let (first, last) = (6, 8);
    scene.tombstone(first, last);
    scene.honest_call();
    let mut packer = packer_of(&scene);
    packer.absent = (first..=last).collect();
    packer.tombstones = vec![TombstoneClaim { seq: 9, first, last }];

    let report = packer.pack().verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
    assert_eq!(report.erased, 3);
    assert!(report.not_checked.contains(&NotChecked::Absences));
}

#[test]
fn an_absent_body_without_a_tombstone_is_incomplete_and_one_that_cannot_be_erased_broken() {
    let scene = honest();
    let mut packer = packer_of(&scene);
    packer.absent = vec![7];
    assert_eq!(packer.pack().verify(pins(&scene.writer)).verdict.exit_code(), 20);

    packer.absent = vec![3];
    let report = packer.pack().verify(pins(&scene.writer));
    assert_eq!(report.verdict.exit_code(), 40, "a registry/v1: {}", report.verdict);
}

#[test]
fn a_claimed_tombstone_must_stand_in_the_record() {
    let scene = honest();
    let mut packer = packer_of(&scene);
    packer.absent = vec![7];
    packer.tombstones = vec![TombstoneClaim { seq: 9, first: 7, last: 7 }];

    let report = packer.pack().verify(pins(&scene.writer));

    assert_eq!(report.verdict.exit_code(), 20, "{}", report.verdict);
}

/// A statement long after its call was settled is matched all the same: the second pass.
#[test]
fn what_comes_after_its_call_was_settled_is_still_reconciled() {
    let mut scene = Scene::new();
    let call = scene.honest_call();
    scene.honest_call();
    scene.wait(3_600_000);
    let said = scene.execution(call, Outcome::Executed);
    scene.sign(said);

    let report = pack(&scene).verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "a retry: {}", report.verdict);
    let matched = report.calls.get(&(Account::Governed, Status::Matched));
    assert_eq!(matched, Some(&2), "no call is counted twice");
}

#[test]
fn a_revoked_key_is_known_by_its_place() {
    let mut scene = Scene::new();
    scene.honest_call();
    scene.provider_key(KeyEvent::Revoked);
    scene.writer.commit();
    let call = scene.decide(Judged::Allow);
    scene.observe(call, ObservationStatus::Returned);
    let said = scene.execution(call, Outcome::Executed);
    let key = crate::key::SigningKey::from_seed(&[0x21; 32]);
    let body = scene.submit(said, &key, false);
    scene.find(crate::statement::FindingCode::RevokedKey, call.action, body);
    let mut packer = packer_of(&scene);
    packer.providers = vec![provider_line(scene.provider.public(), scene.introduced, Some(9))];

    let report = packer.pack().verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
    assert_eq!(report.findings.len(), 1);
}

/// Memory grows with what is open, not with the record.
#[test]
fn a_long_record_is_verified_with_few_calls_in_memory() {
    let mut scene = Scene::new();
    for _ in 0..200 {
        scene.honest_call();
    }

    let report = pack(&scene).verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
    assert_eq!(report.calls.get(&(Account::Governed, Status::Matched)), Some(&200));
    assert_eq!(report.most_open, 1);
}
