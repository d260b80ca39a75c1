use super::*;
use crate::statement::{Destination, Magnitude, Operation, Reversibility, Source};
use serde_json::json;

const ACTION: &str = "act_019355a0c0007000800000000000e001";

fn body(change: impl FnOnce(&mut Value)) -> Result<ActionRequest, Rejected> {
    let mut body = json!({
        "session_external_id": "run-7", "seq": 0, "tool": {"name": "send", "provider": "mail"},
        "args_redacted": {"to": "tok_1"}, "args_hash": Digest::of(br#"{"to":"x"}"#),
        "requested_at": "2026-11-30T11:20:00.123Z",
    });
    change(&mut body);
    ActionRequest::parse(body.to_string().as_bytes())
}

fn signals(signals: Value) -> Result<Signals, Rejected> {
    body(|body| body["signals"] = signals).map(|request| request.signals)
}

#[test]
fn a_body_reads_and_null_is_absent() {
    let request = body(|body| {
        body["signals"] = json!({"op": "send", "amount": 12.5, "destination": null});
        body["chain"] = json!({"prev_hash": Digest::of(b"head")});
        body["resource_ref"] = Value::Null;
        body["seq"] = json!(3.0);
    })
    .expect("a body");

    assert_eq!((request.seq, request.resource), (3, None));
    assert_eq!(request.prev, Some(Digest::of(b"head")));
    assert_eq!(request.signals.claims().operation, Some(Operation::Send));
    assert_eq!(request.signals.claims().destination, None);
}

#[test]
fn arguments_must_be_what_was_hashed() {
    let sent = |arguments: Value| body(|body| body["arguments"] = arguments);

    assert_eq!(sent(json!({"to": "x"})).expect("a body").shown(), json!({"to": "x"}));
    assert_eq!(sent(json!({"to": "y"})).expect_err("refused").path, "$.arguments");
    assert_eq!(body(|_| ()).expect("a body").shown(), json!({"to": "tok_1"}));
}

/// T4, and the list of the wire contract.
#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let replaced = |name: &'static str, value: Value| body(move |body| body[name] = value);
    for (read, path) in [
        (replaced("session_external_id", json!("ann@example.com")), "$.session_external_id"),
        (replaced("session_external_id", json!("")), "$.session_external_id"),
        (replaced("seq", json!(-1)), "$.seq"),
        (replaced("seq", json!(2_147_483_648_u32)), "$.seq"),
        (replaced("seq", json!(1.5)), "$.seq"),
        (replaced("tool", json!({"provider": "mail"})), "$.tool.name"),
        (replaced("tool", json!({"name": "x", "kind": 1})), "$.tool.kind"),
        (replaced("args_redacted", json!([])), "$.args_redacted"),
        (replaced("args_redacted", Value::Null), "$.args_redacted"),
        (replaced("args_hash", json!("sha256:abc")), "$.args_hash"),
        (replaced("args_hash", json!("d41d8cd98f00b204e9800998ecf8427e")), "$.args_hash"),
        (replaced("resource_ref", json!("+41 79 123 45 67")), "$.resource_ref"),
        (replaced("requested_at", json!("yesterday")), "$.requested_at"),
        (replaced("chain", json!({"prev_hash": "x"})), "$.chain.prev_hash"),
        (replaced("chain", json!({"prev": "x"})), "$.chain.prev"),
        (replaced("verdict", json!("ALLOW")), "$.verdict"),
        (replaced("arguments", json!([])), "$.arguments"),
    ] {
        assert_eq!(read.expect_err(path).path, path);
    }
    let twice = ActionRequest::parse(br#"{"seq":1,"seq":2}"#).expect_err("two readings");
    assert_eq!(twice.path, "$.seq");
    assert!(ActionRequest::parse(b"[]").is_err());
}

#[test]
fn signals_that_are_unknown_or_of_another_type_are_refused() {
    for (name, value) in [
        ("mood", json!("good")),
        ("op", json!("approve")),
        ("op", json!(1)),
        ("recipient_external", json!("yes")),
        ("record_count", json!(-1)),
        ("amount", json!("12")),
        ("approver", json!("ann@example.com")),
        ("resolves_action", json!("act_7")),
        ("shown_text_hash", json!("sha256:0")),
        ("inferred", json!("operation,human_decision")),
        ("data_class", json!({})),
    ] {
        let refused = signals(json!({ name: value })).expect_err(name);
        assert_eq!(refused.path, format!("$.signals.{name}"));
    }
}

/// G6
#[test]
fn a_persons_answer_is_whole_or_refused() {
    for (sent, path) in [
        (json!({"human_decision": "APPROVE"}), "$.signals.resolves_action"),
        (json!({"resolves_action": ACTION}), "$.signals.human_decision"),
        (json!({"human_authorized": true, "human_decision": "no"}), "$.signals.human_authorized"),
        (json!({"inferred": "operation"}), "$.signals.inference_model"),
        (json!({"inference_model": "m"}), "$.signals.inference_model"),
    ] {
        assert_eq!(signals(sent).expect_err(path).path, path);
    }
    let action = ACTION.parse().expect("an id");
    let answer = |sent: Value| signals(sent).expect("signals").answer();
    assert_eq!(
        answer(json!({"resolves_action": ACTION, "human_decision": "APPROVE"})),
        Some(Answer::Approves(action))
    );
    for other in ["DECLINE", "approve", "APPROVE "] {
        let sent = json!({"resolves_action": ACTION, "human_decision": other});
        assert_eq!(answer(sent), Some(Answer::Declines(action)), "{other}");
    }
    assert_eq!(answer(json!({"human_decision": "DECLINE"})), None, "a decision about nothing is inert");
    assert_eq!(answer(json!({"human_authorized": true})), None);
}

#[test]
fn claims_follow_the_words_and_the_counts() {
    let claims = |sent: Value| signals(sent).expect("signals").claims();
    assert_eq!(claims(json!({"recipient_external": true})).destination, Some(Destination::External));
    let both = json!({"recipient_external": true, "destination": "internal"});
    assert_eq!(claims(both).destination, Some(Destination::Internal));
    for (sent, magnitude) in [
        (json!({"record_count": 0}), Some(Magnitude::None)),
        (json!({"record_count": 1}), Some(Magnitude::Single)),
        (json!({"record_count": 1, "recipient_count": 2}), Some(Magnitude::Bulk)),
        (json!({"amount": 0.5}), Some(Magnitude::Single)),
        (json!({}), None),
    ] {
        assert_eq!(claims(sent).magnitude, magnitude);
    }
    assert_eq!(claims(json!({"reversible": false})).reversibility, Some(Reversibility::Terminal));
}

/// A model's word is told from a measured one, and both from what an operator published.
#[test]
fn an_inferred_claim_says_so() {
    let hash = Digest::of(b"prompt");
    let sent = signals(json!({"op": "send", "inferred": "operation, magnitude", "inference_model": "m",
        "inference_prompt_hash": hash, "inference_slice": "last_turn"}))
    .expect("signals");

    assert_eq!(sent.source(Dimension::Operation), Source::Inferred);
    assert_eq!(sent.source(Dimension::DataClass), Source::Catalogued);
}

#[test]
fn what_is_asked_again_has_the_question_in_it_and_no_times() {
    let asked = |change: fn(&mut Value)| body(change).expect("a body").asked();
    let same = asked(|_| ());

    assert_eq!(asked(|body| body["requested_at"] = json!("2026-11-30T11:20:09.000Z")), same);
    assert_eq!(asked(|body| body["signals"] = json!({"op": "send"})), same);
    assert_ne!(asked(|body| body["seq"] = json!(1)), same);
    assert_ne!(asked(|body| body["tool"]["name"] = json!("other")), same);
    assert_ne!(asked(|body| body["signals"] = json!({"human_decision": "no"})), same);
}
