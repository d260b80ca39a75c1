use counterfoil_core::envelope::Signed;
use counterfoil_core::key::{Execution as ExecutionKey, SigningKey};
use serde_json::json;

use super::*;

fn key(byte: u8) -> SigningKey<ExecutionKey> {
    SigningKey::from_seed(&[byte; 32])
}

fn known(byte: u8, introduced: u64, ended: Option<u64>) -> ProviderKey {
    let provider = "notes".parse().expect("a provider id");
    ProviderKey { key: key(byte).public().clone(), provider, introduced, ended }
}

fn about(keys: Vec<ProviderKey>) -> Known {
    Known { by_kid: true, keys, decided: true, held: 0, same: Vec::new(), charged: 0, charged_since: None }
}

/// A statement with a nonce of its own.
fn said(nonce: u8, signer: &SigningKey<ExecutionKey>) -> Submission {
    let nonce = counterfoil_core::nonce::base64url(&[nonce; 16]);
    let payload = json!({
        "typ": "execution/v1", "iss": "notes", "project": "prj_019355a0c0007000800000000000a001",
        "action": "act_019355a0c1007000800000000000b001", "provider": "notes", "tool": "note_write",
        "decision": format!("sha256:{}", "0".repeat(64)), "capability": null, "args": null, "outcome": "EXECUTED",
        "result": null, "error_code": null, "charged": null, "started_at": null,
        "executed_at": "2026-11-30T11:20:00.138Z", "nonce": nonce, "seen": null,
    });
    let bytes = Signed::sign(payload, signer).bytes().to_vec();
    let sender = Sender::Provider("notes".parse().expect("a provider id"));
    Submission::read(bytes, sender).expect("an execution")
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("a time")
}

fn one(submission: Submission, known: Known) -> (Fate, Option<New>) {
    let (mut fates, mut new) = weigh(&[submission], &[known], 10, at(0));
    (fates.remove(0), new.pop())
}

/// C4: a key counts after the entry that introduced it and not after the one that ended it.
#[test]
fn a_signature_is_judged_at_its_own_place() {
    for (introduced, ended, holds) in
        [(9, None, true), (10, None, false), (11, None, false), (3, Some(9), false), (3, Some(10), true)]
    {
        let (_, new) = one(said(1, &key(1)), about(vec![known(1, introduced, ended)]));
        assert_eq!(new.expect("stored").provider.is_some(), holds, "{introduced} {ended:?}");
    }
}

/// P3: of several keys that one name stands for, the signature says which is meant.
#[test]
fn of_keys_with_one_name_the_one_that_signed_is_meant() {
    let candidates = || vec![known(1, 1, None), known(2, 2, Some(5)), known(3, 3, None)];
    let meant = |signer: u8, by_kid| {
        let (_, new) = one(said(1, &key(signer)), Known { by_kid, ..about(candidates()) });
        new.expect("stored").thumbprint
    };

    assert_eq!(meant(1, true).as_ref(), Some(key(1).kid()));
    assert_eq!(meant(2, true).as_ref(), Some(key(2).kid()), "ended, and still the one");
    assert_eq!(meant(9, true).as_ref(), Some(key(3).kid()), "forged: the newest of the name");
    assert_eq!(meant(9, false), None, "forged under nobody's name");
}

/// P3: what does not hold takes no place, neither in the record nor in the same commit.
#[test]
fn an_invalid_statement_does_not_occupy_its_place() {
    let (forged, genuine) = (said(1, &key(9)), said(2, &key(1)));
    let again = said(3, &key(1));
    let facts = || about(vec![known(1, 1, None)]);

    let (fates, _) = weigh(&[forged, genuine, again], &[facts(), facts(), facts()], 10, at(0));

    assert_eq!(fates, [Fate::New(0), Fate::New(1), Fate::Twin(1)]);
}

/// T8: what proves nothing is charged, and beyond the allowance nothing of it is taken for the rest of the hour.
#[test]
fn what_proves_nothing_is_taken_from_an_hourly_allowance() {
    let good = || vec![known(1, 1, None)];
    let cases = [
        (said(1, &key(9)), about(good()), "forged"),
        (said(1, &key(1)), Known { decided: false, ..about(good()) }, "about nothing"),
        (said(1, &key(1)), Known { held: HELD_FOR_EACH_ACTION, ..about(good()) }, "the seventeenth"),
    ];
    for (submission, known, why) in cases {
        let spent = Known { charged: ALLOWANCE, charged_since: Some(at(1_800_000)), ..known.clone() };
        let last = Known { charged: ALLOWANCE - 1, ..known };
        let (fate, new) = one(submission, last);
        assert_eq!(fate, Fate::New(0), "{why}");
        assert!(new.expect("stored").charged, "{why}");
        let (fates, new) = weigh(&[said(1, &key(9))], &[spent], 10, at(3_600_000));
        assert_eq!((fates.as_slice(), new.len()), ([Fate::Spent { seconds: 1801 }].as_slice(), 0), "{why}");
    }
    let honest = Known { charged: ALLOWANCE, ..about(good()) };
    let (fate, new) = one(said(1, &key(1)), honest);
    assert_eq!((fate, new.expect("stored").charged), (Fate::New(0), false));
}

/// T8: one commit takes no more than the allowance either.
#[test]
fn statements_of_one_commit_share_the_allowance() {
    let forged: Vec<Submission> = (0..4).map(|n| said(n, &key(9))).collect();
    let facts = vec![Known { charged: ALLOWANCE - 2, ..about(vec![known(1, 1, None)]) }; 4];

    let (fates, new) = weigh(&forged, &facts, 10, at(0));

    assert_eq!(new.len(), 2);
    assert!(matches!(fates[..], [Fate::New(0), Fate::New(1), Fate::Spent { .. }, Fate::Spent { .. }]));
}
