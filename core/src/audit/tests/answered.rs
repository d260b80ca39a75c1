//! E4: a call that goes out by a person's answer follows that answer, once and in time.

use super::super::*;
use super::first_day;
use super::statements;
use super::writer::{Writer, issuer, project};
use crate::id::HoldId;
use crate::nonce::Nonce16;
use crate::statement::{Answer, AnswerType, AnsweredBy, Answers as Named, Decision, Reason, Say, Verdict};
use std::rc::Rc;
use uuid::Uuid;

const ACTION: u128 = 900;

fn hold() -> HoldId {
    HoldId::from_uuid(Uuid::from_u128(31))
}

struct Scene {
    writer: Writer,
    held: Digest,
}

fn scene() -> Scene {
    let mut writer = first_day();
    let key = Rc::clone(&writer.decision);
    let mut said = statements::decision(ACTION, Verdict::StepUp, writer.numbers, writer.policy, writer.now);
    (said.reason, said.hold) = (Reason::NoRule, Some(hold()));
    let held = writer.state(said, &key);
    writer.commit();
    Scene { writer, held }
}

impl Scene {
    fn answer(&self, say: Say, until: i64) -> Answer {
        let now = self.writer.now;
        Answer {
            typ: AnswerType::V1,
            iss: issuer(),
            project: project(),
            at: now,
            behalf: "somebody".to_owned(),
            authorization: None,
            by: AnsweredBy::Login,
            hold: hold(),
            action: statements::decision(ACTION, Verdict::Deny, self.writer.numbers, self.held, now).action,
            decision: self.held,
            card: Digest::of(b"card"),
            answer: say,
            grants: Vec::new(),
            until: (say != Say::Deny).then(|| now.plus_millis(until)),
        }
    }

    fn state(&mut self, answer: Answer) -> Digest {
        let ledger = Rc::clone(&self.writer.ledger);
        let digest = self.writer.state(answer, &ledger);
        self.writer.commit();
        digest
    }

    fn go(&mut self, answer: Digest, change: fn(&mut Decision)) {
        let (numbers, policy, now) = (self.writer.numbers, self.writer.policy, self.writer.now);
        let mut said = statements::decision(ACTION, Verdict::Allow, numbers, policy, now);
        (said.reason, said.answers) =
            (Reason::Approved, Some(Named { hold: hold(), decision: self.held, answer }));
        change(&mut said);
        let key = Rc::clone(&self.writer.decision);
        self.writer.state(said, &key);
        self.writer.commit();
    }

    fn fault(&self) -> Fault {
        self.writer.rows.audit().expect_err("what goes by no answer").fault
    }
}

#[test]
fn a_call_that_goes_by_a_standing_answer_is_clean() {
    for say in [Say::ApproveOnce, Say::ApproveFor] {
        let mut scene = scene();
        let answer = scene.answer(say, 60_000);
        let digest = scene.state(answer);

        scene.go(digest, |_| {});

        scene.writer.rows.audit().expect("approved");
    }
}

#[test]
fn a_call_that_goes_by_an_answer_that_does_not_let_it_is_named() {
    let none = Fault::NotCleared("by an answer that does not stand before it, or was used");
    let mut nobody = scene();
    nobody.go(Digest::of(b"made up"), |_| {});
    assert_eq!(nobody.fault(), none);

    let mut refused = scene();
    let answer = refused.answer(Say::Deny, 0);
    let digest = refused.state(answer);
    refused.go(digest, |_| {});
    assert_eq!(refused.fault(), none);

    let mut twice = scene();
    let answer = twice.answer(Say::ApproveOnce, 60_000);
    let digest = twice.state(answer);
    twice.go(digest, |_| {});
    twice.go(digest, |said| said.nonce = Nonce16::from_bytes([8; 16]));
    assert_eq!(twice.fault(), none);

    let mut unnamed = scene();
    unnamed.go(Digest::of(b"none"), |said| said.answers = None);
    assert_eq!(unnamed.fault(), Fault::NotCleared("as approved, and names no answer"));

    let other = Fault::NotCleared("by an answer to another call");
    let changes: [fn(&mut Answer); 3] = [
        |answer| answer.decision = Digest::of(b"another"),
        |answer| answer.hold = HoldId::from_uuid(Uuid::from_u128(32)),
        |answer| answer.action = crate::id::ActionId::from_uuid(Uuid::from_u128(901)),
    ];
    for change in changes {
        let mut scene = scene();
        let mut answer = scene.answer(Say::ApproveOnce, 60_000);
        change(&mut answer);
        let digest = scene.state(answer);
        scene.go(digest, |_| {});
        assert_eq!(scene.fault(), other);
    }

    let mut late = scene();
    let answer = late.answer(Say::ApproveOnce, 1_000);
    let digest = late.state(answer);
    late.writer.now = late.writer.now.plus_millis(1_001);
    late.go(digest, |said| {
        said.reason = Reason::Rule;
    });
    assert_eq!(late.fault(), Fault::NotCleared("by an answer whose time had passed"));
}

/// What is said of a call that stays where it is needs no answer that stands.
#[test]
fn a_refusal_may_name_any_answer() {
    let mut scene = scene();
    let answer = scene.answer(Say::Deny, 0);
    let digest = scene.state(answer);

    scene.go(digest, |said| (said.verdict, said.reason) = (Verdict::Deny, Reason::AnsweredNo));

    scene.writer.rows.audit().expect("denied");
}
