use std::os::unix::fs::PermissionsExt as _;

use counterfoil_core::execution::{Said, Submitted};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::ReceivedForm;
use serde_json::json;

use super::*;

fn spent() -> Spent {
    Spent {
        jti: Nonce16::from_bytes([1; 16]),
        action: "act_019355a0c1007000800000000000b001".parse().unwrap(),
        decision: counterfoil_core::digest::Digest::of(b"a decision"),
        seed: Nonce16::from_bytes([2; 16]),
    }
}

fn witness(folder: &Path) -> Witness {
    let key = SigningKey::from_seed(&[0x21; 32]);
    let project = "prj_019355a0c0007000800000000000a001".parse().unwrap();
    Witness::new(key, project, "notes".parse().unwrap(), &folder.join("accepted")).unwrap()
}

fn stated(witness: &Witness, arguments: &Value, result: &Value) -> (Submitted, Execution) {
    let spent = spent();
    let call = Call { spent: &spent, tool: "note_write", arguments, started_at: clock::now() };
    let envelope = witness.state(&call, result).unwrap();
    let submitted = Submitted::parse(ReceivedForm::ExecutionNative, envelope.to_string().as_bytes()).unwrap();
    let Said::Native(said) = submitted.said().clone() else { panic!("the native form") };
    (submitted, *said)
}

/// P3: what the gateway can hold against what it saw, and nothing that it did not give.
#[test]
fn a_statement_names_its_decision_and_commits_as_the_gateway_does() {
    let folder = tempfile::tempdir().unwrap();
    let witness = witness(folder.path());
    let arguments = json!({ "path": "/notes/a.txt" });
    let result = json!({ "content": [], "isError": false });
    let seed = ProviderSeed::from_bytes([2; 16]);

    let (submitted, said) = stated(&witness, &arguments, &result);
    let with_meta = json!({ "content": [], "isError": false, "_meta": { "a": 1 }, "resultType": "complete" });
    let (_, same) = stated(&witness, &arguments, &with_meta);
    let (_, failed) = stated(&witness, &arguments, &json!({ "content": [], "isError": true }));
    let large = json!({ "content": "x".repeat(MAX_BOUND), "isError": false });
    let (_, large) = stated(&witness, &arguments, &large);

    assert!(submitted.verify(witness.key.public()).is_ok());
    assert_eq!(
        (said.action, said.decision, said.capability),
        (spent().action, spent().decision, Some(spent().jti))
    );
    assert_eq!(said.args, Some(seed.commit("args", &document_value(&arguments)).commitment()));
    assert_eq!(said.result, Some(seed.commit("result", &document_value(&result)).commitment()));
    assert_eq!(said.outcome, Outcome::Executed);
    assert_eq!(same.result, said.result);
    assert_eq!((failed.outcome, failed.error_code.is_some()), (Outcome::Failed, true));
    assert_eq!(large.result, None);
}

/// P3: the provider keeps the receipts of its word.
#[test]
fn acceptances_are_kept_one_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut witness = witness(folder.path());

    for params in [
        json!({}),
        json!({ "_meta": { ACCEPTED: 7 } }),
        json!({ "_meta": { ACCEPTED: [{ "n": 1 }, { "n": 2 }] } }),
    ] {
        witness.keep_accepted(&params).unwrap();
    }

    let kept = std::fs::read_to_string(folder.path().join("accepted")).unwrap();
    assert_eq!(kept, "{\"n\":1}\n{\"n\":2}\n");
}

/// C3
#[test]
fn an_execution_key_is_made_once_and_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");

    mint_key(&path).unwrap();
    let first = read_key(&path).unwrap();
    mint_key(&path).unwrap();

    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(read_key(&path).unwrap().kid(), first.kid());
    std::fs::remove_file(&path).unwrap();
    write_new(&path, b"short\n").unwrap();
    assert!(read_key(&path).is_err());
}
