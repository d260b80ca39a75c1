use super::*;
use counterfoil_core::statement::Environment;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use std::collections::BTreeMap;

/// The published test key of the golden case.
fn key() -> SigningKey<Capability> {
    SigningKey::from_seed(&[0x12; 32])
}

fn decision() -> Decision {
    let receipt = include_str!("../../../docs/vectors/receipts/decision.json");
    let receipt: Value = serde_json::from_str(receipt).expect("JSON");
    let payload = receipt.pointer("/receipt/statement/payload").cloned().expect("a payload");
    serde_json::from_value(payload).expect("a decision")
}

fn vector() -> Value {
    serde_json::from_str(include_str!("../../../docs/vectors/capability/note_write.json")).expect("JSON")
}

fn arguments() -> Value {
    vector()["call_document"]["a"].clone()
}

fn golden(arguments: &Value, decision: &Decision) -> String {
    let slip = Slip {
        decision,
        digest: "sha256:5fc42a0b12650449dcfb7310c16ebb52bb64eadbcfd75da4e5ac8049132dcac7"
            .parse()
            .expect("a digest"),
        jti: "WlpaWlpaWlpaWlpaWlpaWg".parse().expect("a nonce"),
        aud: "https://notes.example/mcp",
        sub: "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo".into(),
        os: "EIiJJtA4kt3i9xxgGwUUaA".parse().expect("a seed"),
        tool: "note_write",
        arguments,
        input_responses: None,
    };
    slip.mint(decision.at, &key())
}

/// The golden token's times are past or to come; the test below has the rules about them.
fn validation() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.set_audience(&["https://notes.example/mcp"]);
    validation.set_issuer(&["https://gw.example/p/7-k3m9q2v8"]);
    validation.set_required_spec_claims(&["exp", "nbf", "aud", "iss", "sub"]);
    validation.leeway = 5;
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation
}

// C1
#[test]
fn the_golden_token_comes_out_byte_for_byte() {
    let token = vector()["token"].clone();

    assert_eq!(Value::String(golden(&arguments(), &decision())), token);
}

// C1
#[test]
fn a_foreign_jose_library_accepts_the_slip_and_refuses_a_changed_one() {
    let jwk: Jwk = serde_json::from_value(
        serde_json::to_value(counterfoil_core::key::Jwk::new(
            key().public(),
            counterfoil_core::key::Purpose::Capability,
        ))
        .expect("JSON"),
    )
    .expect("a JWK that the library reads");
    let trusted = DecodingKey::from_jwk(&jwk).expect("a key");
    let token = golden(&arguments(), &decision());

    let read = decode::<BTreeMap<String, Value>>(&token, &trusted, &validation()).expect("a valid token");

    assert_eq!(read.header.typ.as_deref(), Some("toolcap+jwt"));
    assert_eq!(read.claims["call"]["t"], "note_write");
    let other = golden(&json!({}), &decision());
    let forged = format!(
        "{}.{}",
        other.rsplit_once('.').expect("three parts").0,
        token.rsplit_once('.').expect("three parts").1
    );
    assert!(decode::<BTreeMap<String, Value>>(&forged, &trusted, &validation()).is_err());
}

// C1
#[test]
fn a_slip_ends_thirty_seconds_after_minting_and_a_minute_after_the_decision() {
    let decision = decision();
    let arguments = json!({});
    let slip = |late: i64| {
        let slip = Slip {
            decision: &decision,
            digest: Digest::of(b"decision"),
            jti: Nonce16::from_bytes([1; 16]),
            aud: "urn:counterfoil:7-k3m9q2v8:notes",
            sub: String::new(),
            os: Nonce16::from_bytes([2; 16]),
            tool: "note_read",
            arguments: &arguments,
            input_responses: None,
        };
        slip.claims(decision.at.plus_millis(late * 1000))
    };
    let decided = decision.at.millis() / 1000;
    assert_eq!(slip(0).exp, decided + 30);
    assert_eq!(slip(10).exp, decided + 40);
    assert_eq!(slip(50).exp, decided + 60);
    assert_eq!(slip(0).nbf, decided - 5);
    assert_eq!(slip(0).env, Environment::Live);
}
