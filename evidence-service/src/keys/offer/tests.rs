use counterfoil_core::key::{Execution, SigningKey};
use serde_json::json;

use super::*;

fn key(byte: u8) -> PublicKey {
    SigningKey::<Execution>::from_seed(&[byte; 32]).public().clone()
}

fn jwk(byte: u8, more: &Value) -> Value {
    let mut jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": key(byte).x() });
    for (name, value) in more.as_object().expect("members") {
        jwk[name] = value.clone();
    }
    jwk
}

fn read(document: &Value) -> Result<KeyOffer, OfferError> {
    KeyOffer::pasted(document.to_string().as_bytes())
}

fn pem_of(key: &PublicKey) -> String {
    let der: Vec<u8> = ED25519_SPKI.into_iter().chain(key.bytes()).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

/// C4
#[test]
fn a_key_is_read_from_a_jwk_a_set_and_a_pem() {
    let one = read(&jwk(1, &json!({ "kid": "k1", "use": "sig", "alg": "EdDSA" }))).expect("a JWK");
    let rsa = json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "r1" });
    let sealing = jwk(4, &json!({ "use": "enc" }));
    let twice = jwk(1, &json!({ "kid": "k0" }));
    let keys = [jwk(1, &json!({ "kid": "k1" })), twice, jwk(2, &json!({})), rsa, sealing];
    let set = read(&json!({ "keys": keys })).expect("a set");
    let pem = KeyOffer::pasted(pem_of(&key(3)).as_bytes()).expect("a PEM");

    assert_eq!(one.keys()[0].key, key(1));
    assert_eq!(one.keys()[0].names, ["k1"]);
    assert_eq!(set.keys().len(), 2);
    assert_eq!(set.keys()[0].names, ["k0", "k1"]);
    assert_eq!(set.skipped().len(), 2);
    assert_eq!(pem.keys()[0].key, key(3));
}

/// C4: what would make a signature worthless, or is nobody's to give away, is refused as a whole.
#[test]
fn a_key_that_proves_nothing_or_is_private_is_refused() {
    // The eight points of small order: here the neutral element.
    let small = json!({ "kty": "OKP", "crv": "Ed25519", "x": counterfoil_core::nonce::base64url(&{
        let mut neutral = [0; 32];
        neutral[0] = 1;
        neutral
    }) });
    assert!(matches!(read(&small), Err(OfferError::Bad { cause: KeyError::SmallOrder, .. })));
    assert!(matches!(read(&json!({ "keys": [jwk(1, &json!({})), small] })), Err(OfferError::Bad { .. })));
    assert!(matches!(read(&jwk(1, &json!({ "d": "AA" }))), Err(OfferError::Private)));
    assert!(matches!(
        read(&json!({ "keys": [{ "kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB" }] })),
        Err(OfferError::Private)
    ));
    let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n";
    assert!(matches!(KeyOffer::pasted(private.as_bytes()), Err(OfferError::Private)));
}

/// C4
#[test]
fn what_is_no_ed25519_key_for_signatures_is_refused() {
    for (document, why) in [
        (json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }), "another curve"),
        (json!({ "kty": "OKP", "crv": "X25519", "x": key(1).x() }), "a key for agreement"),
        (jwk(1, &json!({ "use": "enc" })), "for encryption"),
        (jwk(1, &json!({ "key_ops": ["sign"] })), "not for verifying"),
        (jwk(1, &json!({ "alg": "ES256" })), "another algorithm"),
        (json!({ "keys": [] }), "an empty set"),
    ] {
        assert!(matches!(read(&document), Err(OfferError::Nothing)), "{why}");
    }
    assert!(matches!(read(&json!({ "keys": {} })), Err(OfferError::NotAKey)));
    assert!(matches!(read(&json!({ "keys": [1] })), Err(OfferError::NotAKey)));
    assert!(matches!(read(&jwk(1, &json!({ "kid": "two words" }))), Err(OfferError::Name(_))));
    assert!(matches!(read(&jwk(1, &json!({ "kid": 7 }))), Err(OfferError::Name(_))));
    let clash = [jwk(1, &json!({ "kid": "k" })), jwk(2, &json!({ "kid": "k" }))];
    assert!(matches!(read(&json!({ "keys": clash })), Err(OfferError::Name(_))));
    let many: Vec<Value> = (0..65).map(|_| jwk(1, &json!({}))).collect();
    assert!(matches!(read(&json!({ "keys": many })), Err(OfferError::TooMany)));
    assert!(matches!(KeyOffer::pasted(&vec![b' '; LARGEST_OFFER + 1]), Err(OfferError::TooLarge)));
    assert!(matches!(KeyOffer::pasted(br#"{"kty":"OKP","kty":"OKP"}"#), Err(OfferError::Json(_))));
    let rsa = pem_of(&key(1)).replace("MCow", "MCoq");
    assert!(matches!(KeyOffer::pasted(rsa.as_bytes()), Err(OfferError::OtherPem)));
}

/// C4: nothing is imported whose fingerprint nobody compared.
#[test]
fn only_confirmed_fingerprints_are_kept() {
    let offer = || read(&json!({ "keys": [jwk(1, &json!({})), jwk(2, &json!({}))] })).expect("a set");

    let confirmed = offer().confirm(&[key(2).thumbprint()]).expect("offered");
    let another = offer().confirm(&[key(2).thumbprint(), key(3).thumbprint()]);

    assert_eq!(confirmed.keys.len(), 1);
    assert_eq!(confirmed.keys[0].key, key(2));
    assert!(matches!(another, Err(OfferError::NotOffered(kid)) if kid == key(3).thumbprint()));
    assert!(matches!(offer().confirm(&[]), Err(OfferError::NothingConfirmed)));
}
