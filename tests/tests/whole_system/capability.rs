//! The slip that goes with an ALLOW, judged by JOSE libraries that are not ours.

use super::world::{World, action_of};
use counterfoil_tests::foreign::Language;
use serde_json::{Value, json};

// Upholds C1 (minting).
#[test]
fn foreign_jose_libraries_accept_the_capability_and_refuse_its_misuse() {
    let world = World::start();
    let answer =
        world.deployment.agent("scripted").call_for_receipt(&world.deployment.http, "echo", r#"{"n":1}"#);
    let receipt = answer.expect("an answer").receipt().expect("a receipt");

    let log = world.provider_log();
    let token =
        log[0]["params"]["_meta"]["dev.counterfoil/capability"].as_str().expect("a capability").to_owned();

    let jwks: Value =
        serde_json::from_slice(&world.deployment.gateway_jwks().expect("a key set")).expect("JSON");
    let name = &world.deployment.page()["/p/".len()..];
    let aud = format!("urn:counterfoil:{name}:scripted");
    let payload = &receipt["receipt"]["statement"]["payload"];
    let claims_time = expiry(&token) - 30;
    let plan = json!({ "token": token, "jwks": jwks, "iss": world.deployment.issuer, "aud": aud, "now": claims_time });
    for language in Language::BOTH {
        let said = language.run("capability", &plan).expect("the library accepts it");

        let claims = &said["claims"];
        assert_eq!(claims["jti"], payload["capability"], "the decision names another capability");
        assert_eq!(claims["dec"], receipt["receipt"]["entry"]["body"]);
        assert_eq!(claims["txn"], json!(action_of(payload)));
        assert_eq!(claims["call"]["t"], "echo");
        let life = claims["exp"].as_i64().unwrap_or(0) - claims["iat"].as_i64().unwrap_or(0);
        assert!((1..=30).contains(&life), "it lives {life} s");
        let header = said["header"].as_object().expect("a header");
        assert_eq!(header.keys().collect::<Vec<_>>().len(), 3, "{header:?}");
        for (misuse, refused) in said["refused"].as_object().expect("refusals") {
            assert!(refused.is_string(), "{language:?} accepts {misuse}");
        }
    }
}

// Upholds C1: what was not allowed carries nothing that a provider would accept.
#[test]
fn a_provider_that_wants_no_capability_is_sent_none() {
    let world = World::start();
    let answer = world.deployment.agent("files").call_for_receipt(
        &world.deployment.http,
        "read_text_file",
        &json!({ "path": world.file("hello.txt") }).to_string(),
    );
    let receipt = answer.expect("an answer").receipt().expect("a receipt");

    assert!(receipt["receipt"]["statement"]["payload"]["capability"].is_null());
}

/// `exp` of a token, without judging it.
fn expiry(token: &str) -> i64 {
    use base64::Engine as _;
    let body = token.split('.').nth(1).expect("three parts");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(body).expect("base64url");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    claims["exp"].as_i64().expect("an end")
}
