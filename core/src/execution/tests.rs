use super::*;
use crate::envelope::Signed;
use crate::key::{Execution as ExecutionKey, SigningKey};
use serde_json::json;

fn key() -> SigningKey<ExecutionKey> {
    SigningKey::from_seed(&[0x21; 32])
}

fn native() -> Value {
    json!({"typ":"execution/v1","iss":"notes","project":"prj_019355a0c0007000800000000000a001",
        "action":"act_019355a0c1007000800000000000b001","provider":"notes","tool":"note_write",
        "decision":format!("sha256:{}", "5f".repeat(32)),"capability":"WlpaWlpaWlpaWlpaWlpaWg",
        "args":"a1PA2FAayHGTDs4-Ek6wscKS-6IyDWkpGKkgMfLiE9w","outcome":"EXECUTED",
        "result":"fEOO2JrPdoJTQPojBXoeFPx5uwiltYbzMxQOrkcEXlw","error_code":null,"charged":null,
        "started_at":"2026-11-30T11:20:00.130Z","executed_at":"2026-11-30T11:20:00.138Z",
        "nonce":"AwMDAwMDAwMDAwMDAwMDAw","seen":null})
}

fn vendor() -> Value {
    json!({"action_id":"act_019355a0c1007000800000000000b001","decision_id":format!("dec_{}", "5f".repeat(32)),
        "outcome":"EXECUTED","result_hash":null,"error_code":null,"executed_at":"2026-11-30T11:20:00.138Z"})
}

fn sealed(body: &Value) -> Vec<u8> {
    let signature = crate::nonce::base64url(&key().sign(&canonical(body)));
    let mut whole = body.clone();
    whole["signature"] = json!({"kid": "k1", "alg": "Ed25519", "value": signature});
    serde_json::to_vec(&whole).expect("JSON")
}

fn changed(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

/// P3: both forms are signed over their content, and one changed member is enough.
#[test]
fn an_execution_verifies_under_its_own_key_alone() {
    let stranger = SigningKey::<ExecutionKey>::from_seed(&[0x22; 32]);
    let ours = Signed::sign(native(), &key());
    let theirs = sealed(&vendor());
    for (form, bytes) in
        [(ReceivedForm::ExecutionNative, ours.bytes().to_vec()), (ReceivedForm::VendorWire, theirs.clone())]
    {
        let submitted = Submitted::parse(form, &bytes).expect("good bytes");
        assert!(submitted.verify(key().public()).is_ok(), "{form}");
        assert!(submitted.verify(stranger.public()).is_err(), "{form}");
        assert_eq!(submitted.decision(), Some(Digest::from_bytes([0x5f; 32])));
        let tampered = String::from_utf8(bytes).expect("text").replace("EXECUTED", "FAILED");
        let tampered = Submitted::parse(form, tampered.as_bytes()).expect("it still reads");
        assert!(tampered.verify(key().public()).is_err(), "{form}");
    }
}

#[test]
fn a_native_execution_of_another_shape_is_refused() {
    let mut without = native();
    without.as_object_mut().expect("an object").remove("seen");
    for (why, body) in [
        ("a member is missing", without),
        ("a member too many", changed(native(), "extra", json!(1))),
        ("an outcome of no vocabulary", changed(native(), "outcome", json!("DONE"))),
        ("an error code with a space", changed(native(), "error_code", json!("no such note"))),
        ("an error code that is empty", changed(native(), "error_code", json!(""))),
        ("an error code of 65", changed(native(), "error_code", json!("x".repeat(65)))),
        ("executed_at is not null", changed(native(), "executed_at", json!(null))),
        (
            "a bare hash for a commitment",
            changed(native(), "result", json!(format!("sha256:{}", "00".repeat(32)))),
        ),
        ("it speaks for another provider", changed(native(), "provider", json!("mail"))),
        ("a decision is no execution", changed(native(), "typ", json!("decision/v1"))),
        ("a claim beside the checkpoint", changed(native(), "seen", json!({"size": 1, "root": "x"}))),
    ] {
        let signed = Signed::sign(body, &key());
        assert!(Submitted::parse(ReceivedForm::ExecutionNative, signed.bytes()).is_err(), "{why}");
    }
}

#[test]
fn a_six_field_execution_has_six_fields_and_a_signature() {
    let mut without = vendor();
    without.as_object_mut().expect("an object").remove("result_hash");
    for (why, bytes) in [
        ("a field is missing", sealed(&without)),
        ("a field too many", sealed(&changed(vendor(), "project", json!("prj_x")))),
        ("an outcome of no vocabulary", sealed(&changed(vendor(), "outcome", json!("executed")))),
        ("a hash that is none", sealed(&changed(vendor(), "result_hash", json!("sha256:xyz")))),
        ("a field of any length", sealed(&changed(vendor(), "executed_at", json!("0".repeat(129))))),
        ("no signature", serde_json::to_vec(&vendor()).expect("JSON")),
        ("two readings", br#"{"action_id":"a","action_id":"b","signature":{}}"#.to_vec()),
        ("more than an honest one needs", vec![b' '; MAX_VENDOR_EXECUTION + 1]),
    ] {
        assert!(Submitted::parse(ReceivedForm::VendorWire, &bytes).is_err(), "{why}");
    }
}

/// T1: an id that is none of ours is an action that does not exist, not an error of its own.
#[test]
fn a_foreign_id_names_nothing() {
    let bytes = sealed(&changed(vendor(), "action_id", json!("4711")));
    let submitted = Submitted::parse(ReceivedForm::VendorWire, &bytes).expect("it reads");
    assert_eq!(submitted.action(), None);
}

#[test]
fn a_fingerprint_leaves_out_times_and_signatures() {
    let of = |body: &Value| {
        Submitted::parse(ReceivedForm::VendorWire, &sealed(body)).expect("good bytes").fingerprint()
    };
    let later = changed(vendor(), "executed_at", json!("2026-11-30T11:20:09.000Z"));
    assert_eq!(of(&vendor()), of(&later));
    assert_ne!(of(&vendor()), of(&changed(vendor(), "outcome", json!("FAILED"))));
}
