use super::*;
use crate::digest::unhex;

fn key_from_hex(digits: &str) -> Result<PublicKey, KeyError> {
    PublicKey::from_bytes(unhex(digits).expect("32 bytes of hex"))
}

#[test]
fn the_thumbprint_is_that_of_rfc_8037() {
    // RFC 8037, appendix A.3.
    let key = PublicKey::parse("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").expect("good key");
    assert_eq!(key.thumbprint().as_str(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn a_key_of_small_order_is_refused() {
    // Under these "any" message verifies with a fitting signature: their owner could disown everything.
    let small = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    ];
    for digits in small {
        assert_eq!(key_from_hex(digits), Err(KeyError::SmallOrder), "{digits}");
    }
}

#[test]
fn a_second_spelling_of_a_point_is_refused() {
    // y = p + 1 and y = p: non-canonical spellings of y = 1 and y = 0.
    for digits in [
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        assert_eq!(key_from_hex(digits), Err(KeyError::NotAPoint), "{digits}");
    }
}

#[test]
fn a_malleated_signature_does_not_hold() {
    let key = SigningKey::<Ledger>::from_seed(&[0x13; 32]);
    let signature = key.sign(b"message");
    assert_eq!(key.public().verify(b"message", &signature), Ok(()));

    // S + L is the same scalar; whoever accepts it accepts two signatures for one statement.
    let order =
        unhex::<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").expect("32 bytes");
    let mut malleated = signature;
    let mut carry = 0u16;
    for (s, l) in malleated[32..].iter_mut().zip(order) {
        let sum = u16::from(*s) + u16::from(l) + carry;
        *s = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(key.public().verify(b"message", &malleated), Err(BadSignature));
    assert_eq!(key.public().verify(b"massage", &signature), Err(BadSignature));
}

/// C3: a key in a log line would be a key no more.
#[test]
fn a_signing_key_prints_its_public_id_alone() {
    let key = SigningKey::<Decision>::from_seed(&[0x11; 32]);
    assert_eq!(format!("{key:?}"), "SigningKey(decision vaJPtef-vPnGAIWE19qlMPDYWGaER3zeeJM_3r1WO7E)");
    assert!(key.is_sample());
}

#[test]
fn a_key_set_with_a_wrong_kid_or_a_key_twice_is_refused() {
    let good = Jwk::new(SigningKey::<Log>::from_seed(&[0x14; 32]).public(), Purpose::Log);
    let other = Jwk::new(SigningKey::<Log>::from_seed(&[0x15; 32]).public(), Purpose::Log);
    let set = |keys: Vec<Jwk>| {
        let set = JwkSet { iss: "https://gw.example/p/7-k3m9q2v8".parse().expect("issuer"), keys };
        JwkSet::parse(&serde_json::to_vec(&set).expect("serialises"))
    };

    assert!(set(vec![good.clone(), other.clone()]).is_ok());
    let swapped = Jwk { kid: other.kid.clone(), ..good.clone() };
    assert!(matches!(set(vec![swapped]), Err(JwkSetError::KidIsNotThumbprint(_))));
    assert!(matches!(set(vec![good.clone(), good]), Err(JwkSetError::Twice(_))));
}
