use super::*;
use crate::entry::{Kind, genesis};
use crate::envelope::Signed;
use crate::key::{Decision as DecisionKey, Jwk, JwkSet, Ledger, Log, Purpose, SigningKey};
use crate::statement::{Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer};
use crate::time::Timestamp;
use crate::tree::Frontier;

const ISS: &str = "https://gw.example/p/7-k3m9q2v8";

struct Keys {
    decision: SigningKey<DecisionKey>,
    ledger: SigningKey<Ledger>,
    log: SigningKey<Log>,
}

fn keys() -> Keys {
    Keys {
        decision: SigningKey::from_seed(&[0x11; 32]),
        ledger: SigningKey::from_seed(&[0x13; 32]),
        log: SigningKey::from_seed(&[0x14; 32]),
    }
}

fn set(keys: &Keys) -> JwkSet {
    JwkSet {
        iss: ISS.parse().expect("issuer"),
        keys: vec![
            Jwk::new(keys.decision.public(), Purpose::Decision),
            Jwk::new(keys.ledger.public(), Purpose::Ledger),
            Jwk::new(keys.log.public(), Purpose::Log),
        ],
    }
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("good time")
}

/// A receipt for the first entry of a log, of something that was received.
fn receipt(keys: &Keys) -> Receipt {
    let project = "prj_019355a0c0007000800000000000a001".parse().expect("project");
    let at = time("2026-11-30T11:20:00.149Z");
    let received = Received {
        typ: ReceivedType::V1,
        form: ReceivedForm::ExecutionNative,
        signer: Signer { kid: None, thumbprint: None },
        project,
        at,
        holds: false,
        bytes: ReceivedBytes(b"{}".to_vec()),
    };
    let signed = Signed::sign(received, &keys.ledger);
    let entry = Entry::new(project, 0, at, Kind::Execution, signed.digest(), genesis(project));
    let mut tree = Frontier::empty();
    let paths = tree.append(&[entry.leaf_hash()]);
    let checkpoint = Checkpoint {
        origin: ISS.trim_start_matches("https://").to_owned(),
        size: tree.size(),
        root: tree.root(),
    };
    Receipt::new(signed.bytes(), entry, &paths[0], &checkpoint.sign(&keys.log)).expect("an envelope is JSON")
}

fn refusal(receipt: &[u8], set: JwkSet) -> Refusal {
    let trust = Trust::from_set(set).expect("good keys");
    verify(receipt, &trust).expect_err("must be refused")
}

#[test]
fn a_receipt_verifies_with_pinned_keys_alone() {
    let keys = keys();
    let trust = Trust::from_set(set(&keys)).expect("good keys");
    let verified = verify(&receipt(&keys).bytes(), &trust).expect("verifies");
    assert_eq!(verified.checkpoint.size, 1);
    assert_eq!(verified.verdict(), None, "an execution carries no verdict of ours");
}

/// P7: self-consistent is not enough; keys that nobody pinned prove nothing.
#[test]
fn keys_that_are_not_pinned_make_a_receipt_unpinned_not_verified() {
    let keys = keys();
    let bytes = receipt(&keys).bytes();
    let without = |purpose: Purpose| {
        let mut set = set(&keys);
        set.keys.retain(|key| key.purpose != purpose);
        refusal(&bytes, set)
    };

    for refusal in [without(Purpose::Ledger), without(Purpose::Log)] {
        assert_eq!(refusal.class(), RefusalClass::Unpinned, "{refusal}");
    }
    // A log key's place taken by the ledger key is not a missing pin but a contradiction.
    let mut other = keys;
    other.log = SigningKey::from_seed(&[0x13; 32]);
    let refused = refusal(&receipt(&other).bytes(), set(&self::keys()));
    assert_eq!(refused.code(), "checkpoint_other_purpose");
    assert_eq!(refused.class(), RefusalClass::Broken);
}

#[test]
fn a_key_counts_between_its_entries_only() {
    let keys = keys();
    let bytes = receipt(&keys).bytes();
    let bounded = |from: &str, until: &str| {
        let mut set = set(&keys);
        set.keys[1] = set.keys[1].clone().valid_from(time(from)).valid_until(time(until));
        verify(&bytes, &Trust::from_set(set).expect("good keys")).map(|_| ())
    };

    assert_eq!(bounded("2026-11-30T11:20:00.149Z", "2026-11-30T11:20:00.149Z"), Ok(()));
    for (from, until) in [
        ("2026-11-30T11:20:00.150Z", "2026-12-30T11:20:00.150Z"),
        ("2026-10-30T11:20:00.150Z", "2026-11-30T11:20:00.148Z"),
    ] {
        let refused = bounded(from, until).expect_err("must be refused");
        assert_eq!(refused.code(), "key_not_valid");
    }
}

#[test]
fn a_receipt_with_two_readings_is_refused() {
    let keys = keys();
    let text = String::from_utf8(receipt(&keys).bytes()).expect("UTF-8");
    let twice = text.replacen("\"proof\"", "\"typ\":\"receipt/v1\",\"proof\"", 1);
    assert_eq!(refusal(twice.as_bytes(), set(&keys)).code(), "json");
    let more = text.replacen("\"proof\"", "\"note\":1,\"proof\"", 1);
    assert_eq!(refusal(more.as_bytes(), set(&keys)).code(), "shape");
}
