//! P1, P7: what the program answers about every published case.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors")
}

/// Every case of a folder, by name.
fn cases(folder: &str) -> Vec<(String, Value)> {
    let files = fs::read_dir(vectors().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let cases: Vec<(String, Value)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.display().to_string(), serde_json::from_slice(&fs::read(path).unwrap()).unwrap()))
        .collect();
    assert!(!cases.is_empty());
    cases
}

fn about(receipt: PathBuf, trust: PathBuf) -> Arguments {
    Arguments {
        receipt: Some(receipt),
        trust,
        dump: None,
        held: Vec::new(),
        since: None,
        provider_keys: Vec::new(),
        replay: false,
        disclosure_key: None,
        json: false,
    }
}

fn answer(case: &Value) -> ExitCode {
    let folder = TempDir::new().unwrap();
    let (receipt, trust) = (folder.path().join("receipt.json"), folder.path().join("trust.json"));
    let bytes = match case.get("receipt_base64") {
        Some(text) => STANDARD.decode(text.as_str().unwrap()).unwrap(),
        None => serde_json::to_vec(&case["receipt"]).unwrap(),
    };
    fs::write(&receipt, bytes).unwrap();
    match case.get("jwks") {
        Some(set) => fs::write(&trust, serde_json::to_vec(set).unwrap()).unwrap(),
        None => drop(fs::copy(vectors().join("jwks.json"), &trust).unwrap()),
    }
    run(&Arguments { json: true, ..about(receipt, trust) })
}

#[test]
fn every_good_receipt_is_verified() {
    for (name, case) in cases("receipts") {
        assert_eq!(answer(&case), ExitCode::SUCCESS, "{name}");
    }
}

#[test]
fn every_malformed_receipt_is_broken_or_unpinned() {
    for (name, case) in cases("malformed-receipts") {
        let expected = match case["answer"].as_str().unwrap() {
            "BROKEN" => ExitCode::from(BROKEN),
            "UNPINNED" => ExitCode::from(UNPINNED),
            other => panic!("{name}: {other}"),
        };
        assert_eq!(answer(&case), expected, "{name}");
    }
}

/// Verified never means allowed.
#[test]
fn a_denied_call_verifies_and_is_shown_as_denied() {
    let case = fs::read(vectors().join("receipts/denied.json")).unwrap();
    let case: Value = serde_json::from_slice(&case).unwrap();
    let trust = Trust::from_jwks(&fs::read(vectors().join("jwks.json")).unwrap()).unwrap();

    let verified = verify(&serde_json::to_vec(&case["receipt"]).unwrap(), &trust).unwrap();
    let report = accepted(&verified, &trust);

    assert_eq!(report["outcome"], "VERIFIED");
    assert_eq!(report["verdict"], "DENY");
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake_of_usage() {
    let folder = TempDir::new().unwrap();
    let good = vectors().join("jwks.json");
    let missing = folder.path().join("missing.json");
    let no_key_set = folder.path().join("no-key-set.json");
    fs::write(&no_key_set, "{}").unwrap();

    for (receipt, trust) in [(&missing, &good), (&good, &missing), (&good, &no_key_set)] {
        let code = run(&about(receipt.clone(), trust.clone()));
        assert_eq!(code, ExitCode::from(USAGE));
    }
}
