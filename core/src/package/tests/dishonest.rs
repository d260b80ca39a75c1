//! P4: what a dishonest operator, gateway or provider does is named.

use super::packer::pins;
use super::scene::Scene;
use super::{pack, packer_of};
use crate::digest::Digest;
use crate::id::SessionId;
use crate::key::{Execution as ExecutionKey, SigningKey};
use crate::package::Verdict;
use crate::statement::{FindingCode, ObservationStatus, Outcome, Verdict as Judged};

const HOUR: i64 = 3_600_000;

/// Verifies with the finding left out, then with it.
fn omitted_then_there(
    mut scene: Scene,
    code: FindingCode,
    action: crate::id::ActionId,
    about: crate::digest::Digest,
) {
    scene.wait(HOUR);
    scene.honest_call();
    let report = pack(&scene).verify(pins(&scene.writer));
    match &report.verdict {
        Verdict::Omitted(found) => assert_eq!((found.code, found.statement), (code, about)),
        other => panic!("{code}: {other}"),
    }
    assert_eq!(report.verdict.exit_code(), 21);

    scene.find(code, action, about);
    scene.honest_call();
    let report = pack(&scene).verify(pins(&scene.writer));
    assert_eq!(report.verdict, Verdict::Unanchored, "{code}: {}", report.verdict);
}

#[test]
fn a_finding_that_the_operator_left_out_is_omitted() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Allow);
    scene.observe(call, ObservationStatus::NotSent);
    let said = scene.execution(call, Outcome::Executed);
    let body = scene.sign(said);
    omitted_then_there(scene, FindingCode::StatementContradictsObservation, call.action, body);
}

#[test]
fn a_call_that_ran_against_its_verdict_is_named() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Deny);
    let said = scene.execution(call, Outcome::Executed);
    let body = scene.sign(said);
    omitted_then_there(scene, FindingCode::ExecutedAgainstVerdict, call.action, body);
}

#[test]
fn a_gateway_that_forwards_other_arguments_is_named() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Allow);
    scene.observe(call, ObservationStatus::Returned);
    let mut said = scene.execution(call, Outcome::Executed);
    said.args = said.result;
    let body = scene.sign(said);
    omitted_then_there(scene, FindingCode::ArgumentsDiffer, call.action, body);
}

#[test]
fn an_execution_that_never_came_is_named() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Allow);
    scene.observe(call, ObservationStatus::Returned);
    omitted_then_there(scene, FindingCode::MissingExecution, call.action, call.decision);
}

#[test]
fn a_call_of_which_nobody_says_anything_is_named_after_a_day() {
    let mut scene = Scene::new();
    let call = scene.decide(Judged::Allow);
    scene.writer.tomorrow();
    scene.writer.commit();
    scene.wait(HOUR);
    omitted_then_there(scene, FindingCode::OutcomeUnknown, call.action, call.decision);
}

/// T1: an action of elsewhere is an action that does not exist.
#[test]
fn an_execution_without_a_decision_is_named() {
    let mut scene = Scene::new();
    let call = scene.honest_call();
    let mut said = scene.execution(call, Outcome::Executed);
    said.decision = crate::digest::Digest::of(b"elsewhere");
    let body = scene.sign(said);
    omitted_then_there(scene, FindingCode::ExecutionWithoutDecision, call.action, body);
}

#[test]
fn a_forged_statement_is_named() {
    let mut scene = Scene::new();
    let call = scene.honest_call();
    let said = scene.execution(call, Outcome::Failed);
    let stranger = SigningKey::<ExecutionKey>::from_seed(&[0x44; 32]);
    let body = scene.submit(said, &stranger, false);
    omitted_then_there(scene, FindingCode::InvalidVendorSignature, call.action, body);
}

/// A flood from one key asks for no more findings than the cap.
#[test]
fn a_flood_of_forged_statements_asks_for_twenty_findings() {
    let mut scene = Scene::new();
    let call = scene.honest_call();
    let stranger = SigningKey::<ExecutionKey>::from_seed(&[0x44; 32]);
    for place in 0..60u8 {
        let mut said = scene.execution(call, Outcome::Failed);
        said.nonce = crate::nonce::Nonce16::from_bytes([place; 16]);
        let body = scene.submit(said, &stranger, false);
        if place < 20 {
            scene.find(FindingCode::InvalidVendorSignature, call.action, body);
        }
    }
    scene.wait(HOUR);
    scene.honest_call();

    let report = pack(&scene).verify(pins(&scene.writer));

    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
}

#[test]
fn a_wrapper_that_says_otherwise_than_the_signature_is_broken() {
    for (holds, key) in [(false, 0x21), (true, 0x44)] {
        let mut scene = Scene::new();
        let call = scene.decide(Judged::Allow);
        let said = scene.execution(call, Outcome::Executed);
        scene.submit(said, &SigningKey::from_seed(&[key; 32]), holds);

        let report = pack(&scene).verify(pins(&scene.writer));

        assert_eq!(report.verdict.exit_code(), 40, "{}", report.verdict);
    }
}

#[test]
fn a_clearance_closes_only_with_what_came() {
    for honest in [true, false] {
        let mut scene = Scene::new();
        let call = scene.decide(Judged::Allow);
        scene.observe(call, ObservationStatus::Returned);
        scene.wait(HOUR);
        let missing = scene.find(FindingCode::MissingExecution, call.action, call.decision);
        let said = scene.execution(call, Outcome::Executed);
        let late = scene.sign(said);
        scene.find(FindingCode::LateExecution, call.action, late);
        let by = if honest { late } else { call.decision };
        scene.clear(missing, FindingCode::MissingExecution, call.action, by);
        scene.honest_call();

        let code = pack(&scene).verify(pins(&scene.writer)).verdict.exit_code();

        assert_eq!(code, if honest { 10 } else { 40 });
    }
}

/// P5: the holder's own checkpoint and receipts show a record that was cut or written anew.
#[test]
fn a_record_that_is_shorter_than_what_was_kept_is_incomplete_and_another_one_forked() {
    let scene = super::honest();
    let whole = packer_of(&scene);
    let kept = whole.checkpoint(scene.size());
    let mut cut = packer_of(&scene);
    cut.size -= 3;
    let report = cut.pack().verify_holding(pins(&scene.writer), Some(&kept), &[]);
    assert_eq!(report.verdict.exit_code(), 20, "{}", report.verdict);

    let mut other = Scene::new();
    for _ in 0..9 {
        other.decide(Judged::Deny);
    }
    let fork = packer_of(&other).checkpoint(other.size());
    let report = pack(&scene).verify_holding(pins(&scene.writer), Some(&fork), &[]);
    assert_eq!(report.verdict.exit_code(), 30, "{}", report.verdict);
    let Verdict::Forked { one, other } = report.verdict else { panic!("it says FORKED") };
    assert!(one.contains("gw.example") && other.contains("gw.example"), "both notes are printed");

    let same = pack(&scene).verify_holding(pins(&scene.writer), Some(&kept), &[]);
    assert_eq!(same.verdict, Verdict::Unanchored);
}

#[test]
fn a_previous_hash_that_the_session_was_never_told_is_named_and_a_fan_out_is_not() {
    let session = SessionId::from_uuid(uuid::Uuid::from_u128(9));
    let mut scene = Scene::new();
    let head = scene.open(session).to_string();
    scene.ask(session, Some(head.clone()));
    let first = scene.last_hash().to_string();
    for told in [Some(head), Some(first), None] {
        scene.ask(session, told);
    }
    let invented = scene.ask(session, Some(Digest::of(b"?").to_string()));
    omitted_then_there(scene, FindingCode::UnknownPrevious, invented.action, invented.decision);
}

#[test]
fn a_catalogue_that_nobody_signed_is_named_and_one_that_holds_cannot_be_called_forged() {
    let stranger = SigningKey::<ExecutionKey>::from_seed(&[0x55; 32]);
    let mut scene = Scene::new();
    scene.catalog(&SigningKey::from_seed(&[0x21; 32]), true);
    let forged = scene.catalog(&stranger, false);
    scene.wait(HOUR);
    scene.honest_call();
    match pack(&scene).verify(pins(&scene.writer)).verdict {
        Verdict::Omitted(found) => {
            assert_eq!((found.code, found.statement), (FindingCode::CatalogSignature, forged));
        }
        other => panic!("{other}"),
    }

    for (key, holds) in [([0x21; 32], false), ([0x55; 32], true)] {
        let mut scene = Scene::new();
        scene.catalog(&SigningKey::from_seed(&key), holds);
        let report = pack(&scene).verify(pins(&scene.writer));
        assert!(matches!(report.verdict, Verdict::Broken(_)), "{}", report.verdict);
    }
}
