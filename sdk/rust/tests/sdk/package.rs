//! P1, P2, P6, P7: receipts that follow each other, and packages as zip files.

use super::ledger::{Ledger, decision, pinned_keys};
use super::world::set;
use counterfoil_sdk::formats::package::zip::Writer;
use counterfoil_sdk::verify::{
    KeySet, PackageTrust, Promise, Refused, verify_chain, verify_package, verify_package_file,
};
use serde_json::{Value, json};
use std::path::Path;

fn honest() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors/packages/honest.json");
    serde_json::from_slice(&std::fs::read(path).expect("a case")).expect("JSON")
}

fn keys(jwks: &Value) -> KeySet {
    KeySet::parse(jwks.to_string().as_bytes()).expect("a good key set")
}

fn zipped(case: &Value) -> Vec<u8> {
    use base64::Engine as _;
    let mut zip = Writer::new(std::io::Cursor::new(Vec::new()), u64::from(u32::MAX));
    for (name, file) in case["files"].as_object().expect("files") {
        let bytes = match (file["text"].as_str(), file["base64"].as_str()) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (_, bytes) => {
                base64::engine::general_purpose::STANDARD.decode(bytes.expect("bytes")).expect("base64")
            }
        };
        zip = zip.whole(name, &bytes).expect("written").0;
    }
    zip.finish().expect("written").into_inner()
}

#[test]
fn an_honest_package_verifies_in_memory_and_on_disk() {
    let case = honest();
    let (pinned, zip) = (keys(&case["jwks"]), zipped(&case));
    let registry = |_: &_, _: &_| Some(Promise::Signs { within: 600_000 });
    let trust = PackageTrust { registry: &registry, ..PackageTrust::of(&pinned) };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("package.zip"), &zip).expect("written");
    for report in
        [verify_package(&zip, &trust), verify_package_file(folder.path().join("package.zip"), &trust)]
    {
        let report = report.expect("readable");
        assert_eq!(
            (report.verdict.word(), report.verdict.exit_code()),
            ("UNANCHORED", 10),
            "{}",
            report.verdict
        );
        assert!(!report.not_checked.is_empty(), "it says what it did not check");
    }
}

#[test]
fn keys_are_brought_and_not_found() {
    let case = honest();
    let none = keys(&json!({ "iss": case["jwks"]["iss"], "keys": [] }));
    let report = verify_package(&zipped(&case), &PackageTrust::of(&none)).expect("readable");
    assert_eq!(report.verdict.exit_code(), 50);
}

#[test]
fn what_is_no_package_is_broken() {
    let case = honest();
    let (pinned, zip) = (keys(&case["jwks"]), zipped(&case));
    for bad in [b"".as_slice(), b"not a zip", &zip[..zip.len() - 30], &zip[40..]] {
        let report = verify_package(bad, &PackageTrust::of(&pinned)).expect("a verdict");
        assert_eq!(report.verdict.exit_code(), 40, "{}", report.verdict);
    }
    let mut changed = zip;
    let middle = changed.len() / 3;
    changed[middle] ^= 1;
    let report = verify_package(&changed, &PackageTrust::of(&pinned)).expect("a verdict");
    assert_eq!(report.verdict.exit_code(), 40, "{}", report.verdict);
    let bad_keys = [b"nonsense".to_vec()];
    let trust = PackageTrust { provider_keys: &bad_keys, ..PackageTrust::of(&pinned) };
    assert!(verify_package(&changed, &trust).is_err(), "what the holder brought is the holder's fault");
}

#[test]
fn receipts_that_do_not_follow_each_other_are_no_chain() {
    let ledger = Ledger::new();
    let receipts = ledger.grow(4);
    let pinned = set(&pinned_keys());
    assert_eq!(verify_chain(&receipts, &pinned).map(|chain| chain.len()), Ok(4));
    let gap = [&receipts[0], &receipts[2]];
    let other = Ledger::new();
    other.grow(1);
    let elsewhere = other.append(&decision(&json!({}), json!({}))).to_string().into_bytes();
    for broken in [gap, [&receipts[1], &receipts[0]], [&receipts[0], &elsewhere]] {
        let refused = verify_chain(&broken, &pinned).map(drop).expect_err("no chain");
        assert!(matches!(refused, Refused::Chain(_)), "{refused}");
        assert_eq!((refused.answer(), refused.exit_code()), ("BROKEN", 40));
    }
    assert_eq!(verify_chain(&[b"{}"], &pinned).map(drop).expect_err("no receipt").exit_code(), 40);
}
