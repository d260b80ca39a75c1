//! P3, P9: what a provider signs, byte for byte; and keys that stay where they are.

use super::world::{PROJECT, execution_key};
use counterfoil_sdk::execution::{
    Callback, Facts, Outcome, SignError, Signer, SigningKey, VendorExecution, bound_result, decision_id,
    execution_statement, six_field_statement,
};
use counterfoil_sdk::formats::digest::Digest;
use counterfoil_sdk::formats::json::canonical;
use counterfoil_sdk::formats::nonce::{Nonce16, unbase64url};
use counterfoil_sdk::formats::time::Timestamp;
use serde_json::Value;
use std::path::Path;

fn vector(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors").join(name);
    serde_json::from_slice(&std::fs::read(path).expect("a case")).expect("JSON")
}

fn facts<'f>(claims: &Value, arguments: &'f Value, result: &str) -> Facts<'f> {
    let text = |name: &str| claims[name].as_str().expect("a text");
    Facts {
        project: PROJECT.parse().expect("an id"),
        provider: "notes".parse().expect("an id"),
        tool: claims["call"]["t"].as_str().expect("a text").parse().expect("a name"),
        action: text("txn").parse().expect("an id"),
        decision: text("dec").parse().expect("a digest"),
        capability: Some(text("jti").parse().expect("an id")),
        seed: text("os").parse().expect("a seed"),
        arguments,
        outcome: Outcome::Executed,
        result: bound_result(result.as_bytes()),
        error_code: None,
        started_at: Timestamp::parse("2026-11-30T11:20:00.130Z").ok(),
        executed_at: Timestamp::parse("2026-11-30T11:20:00.138Z").expect("a time"),
        seen: None,
        nonce: Nonce16::from_bytes([3; 16]),
    }
}

#[tokio::test]
async fn an_execution_comes_out_as_the_published_bytes() {
    let published = vector("chain/execution.json");
    let wanted = published["statement"]["payload"]["bytes"].as_str().expect("bytes");
    let case = vector("capability/note_write.json");
    let arguments = &case["call_document"]["a"];
    let result = r#"{"content":[{"type":"text","text":"ok"}],"isError":false,"_meta":{"a":1},"resultType":"complete"}"#;

    let statement = execution_statement(&facts(&case["claims"], arguments, result), &execution_key()).await;

    let statement = statement.expect("signed");
    assert_eq!(statement.bytes(), unbase64url(wanted).expect("base64url"));
    assert_eq!(statement.verify(execution_key().public()), Ok(()));
}

#[test]
fn a_result_that_cannot_be_compared_is_null() {
    assert!(bound_result(br#"{"a":1}"#).is_some());
    assert_eq!(bound_result(br#"{"b":2,"a":1e0}"#), bound_result(br#"{"a":1,"b":2,"_meta":{}}"#));
    for text in ["{\"a\":1,\"a\":2}", "{\"a\":9007199254740993}", "nonsense", ""] {
        assert_eq!(bound_result(text.as_bytes()), None, "{text}");
    }
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(1_100_000));
    assert_eq!(bound_result(large.as_bytes()), None);
}

#[tokio::test]
async fn a_signer_that_is_away_or_nameless_signs_nothing() {
    let case = vector("capability/note_write.json");
    let facts = facts(&case["claims"], &case["call_document"]["a"], "{}");
    let away = Callback::new(execution_key().kid(), |_| Err(SignError::Away("no network".to_owned())));
    assert_eq!(
        execution_statement(&facts, &away).await.err(),
        Some(SignError::Away("no network".to_owned()))
    );
    let nameless = Callback::new("k1", |_| Ok([0; 64]));
    assert!(matches!(execution_statement(&facts, &nameless).await, Err(SignError::NotAStatement(_))));
}

fn six() -> VendorExecution {
    VendorExecution {
        action_id: "act_1".to_owned(),
        decision_id: decision_id(&Digest::from_bytes([0; 32])),
        outcome: Outcome::Executed,
        result_hash: None,
        error_code: None,
        executed_at: "2026-11-30T11:20:00.138Z".to_owned(),
    }
}

#[tokio::test]
async fn the_six_field_form_signs_exactly_six_fields() {
    let signed = six_field_statement(six(), &execution_key()).await.expect("signed");
    assert_eq!(signed.fields.decision_id, format!("dec_{}", "0".repeat(64)));
    assert_eq!(execution_key().public().verify(&canonical(&six()), &signed.signature.value.0), Ok(()));
    let text: Value = serde_json::from_slice(&canonical(&signed)).expect("JSON");
    assert_eq!(text.as_object().expect("an object").len(), 7);
    let elsewhere = Callback::new("k1", |message: &[u8]| {
        Ok(counterfoil_sdk::formats::key::SigningKey::<counterfoil_sdk::formats::key::Execution>::from_seed(
            &[0x21; 32],
        )
        .sign(message))
    });
    let theirs = six_field_statement(six(), &elsewhere).await.expect("signed");
    assert_eq!((theirs.signature.kid.as_str(), theirs.signature.value), ("k1", signed.signature.value));
}

#[test]
fn a_key_is_read_from_a_file_or_the_environment_and_shown_by_neither() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{}\n", "21".repeat(32))).expect("written");
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("changed");
    mode(0o600);
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","d":"ISEhISEhISEhISEhISEhISEhISEhISEhISEhISEhISE"}"#;

    let keys = [
        SigningKey::from_file(&file),
        SigningKey::from_text(jwk),
        SigningKey::from_text("ISEhISEhISEhISEhISEhISEhISEhISEhISEhISEhISE="),
        SigningKey::from_text("ISEhISEhISEhISEhISEhISEhISEhISEhISEhISEhISE"),
    ];
    for key in keys {
        let key = key.expect("a key");
        assert_eq!(key.kid(), execution_key().kid());
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.kid()));
    }
    assert!(SigningKey::from_environment("COUNTERFOIL_NO_SUCH_KEY").is_err());
    mode(0o644);
    let refused = SigningKey::from_file(&file).expect_err("others may read it").to_string();
    assert!(refused.contains("can be read by others"), "{refused}");
    for text in ["short", "", "{}", r#"{"crv":"Ed25519","x":"AAAA"}"#, &"zz".repeat(32)] {
        assert!(SigningKey::from_text(text).is_err(), "{text}");
    }
}
