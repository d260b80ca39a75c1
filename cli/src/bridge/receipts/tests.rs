//! What goes out with a tool call, what comes back, and what is kept of it.

use super::*;
use serde_json::{Value, json};

/// A published receipt that verifies, as the gateway would send it.
fn full() -> String {
    let case: Value =
        serde_json::from_str(include_str!("../../../../docs/vectors/receipts/decision.json")).unwrap();
    json!({ "typ": "receipt-full/v1", "receipt": case["receipt"], "openings": [["args", "salt-secret"]] })
        .to_string()
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let files = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut kept: Vec<PathBuf> =
        files(folder).flat_map(|project| files(&project).collect::<Vec<_>>()).collect();
    kept.sort();
    kept
}

#[test]
fn the_wish_is_the_only_thing_that_is_added_to_a_call() {
    for (line, with_wish) in [
        (
            r#"{"id":1, "params":{"name":"x","arguments":{"n":1.0, "a":1e2}}}"#,
            r#"{"id":1, "params":{"_meta":{"dev.counterfoil/want":"full"},"name":"x","arguments":{"n":1.0, "a":1e2}}}"#,
        ),
        (
            r#"{"params":{"_meta":{"progressToken":1 }}}"#,
            r#"{"params":{"_meta":{"dev.counterfoil/want":"full","progressToken":1 }}}"#,
        ),
    ] {
        let (asking, asked) = asking(line.as_bytes()).unwrap();
        assert_eq!((String::from_utf8(asking).unwrap().as_str(), asked), (with_wish, Asked::Us));
    }
}

#[test]
fn what_has_no_one_reading_goes_out_as_it_came() {
    for line in [
        r#"{"params":{"a":1,"a":2}}"#,
        r#"{"params":{},"params":{}}"#,
        r#"{"params":{"_meta":7}}"#,
        r#"{"params":[]}"#,
        r#"{"id":1}"#,
        "no JSON",
    ] {
        assert!(asking(line.as_bytes()).is_none(), "{line}");
    }
    let own = r#"{"params":{"_meta":{"dev.counterfoil/want":"full"}}}"#;
    assert_eq!(asking(own.as_bytes()), Some((own.as_bytes().to_vec(), Asked::Host)));
    let longest = format!(r#"{{"params":{{"a":"{}"}}}}"#, "x".repeat(LONGEST - 30));
    assert!(asking(longest.as_bytes()).is_none());
}

// P5: what is kept is the receipt itself, for its owner alone; the host gets what it would have got.
#[test]
fn a_whole_receipt_is_kept_and_the_host_gets_a_reference() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("receipts");
    let receipts = Receipts::in_folder(&store).unwrap();
    let full = full();
    let (expected, receipt) = reference(&full).unwrap();
    let expected = serde_json::to_string(&expected).unwrap();
    let answers = [
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"_meta":{{"dev.counterfoil/receipt":{full},"x":1.0}},"content":[]}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"m","data":{{"dev.counterfoil/receipt":{full}}}}}}}"#
        ),
    ];

    for answer in answers {
        let given = receipts.keep(answer.clone().into_bytes(), Asked::Us);
        let own = receipts.keep(answer.clone().into_bytes(), Asked::Host);

        assert_eq!(String::from_utf8(given).unwrap(), answer.replace(&full, &expected));
        assert_eq!(own, answer.into_bytes());
    }

    let files = kept(&store);
    assert_eq!(files.len(), 2, "{files:?}");
    let seq = format!("{:012}", receipt.entry().seq);
    assert!(files[0].ends_with(format!("{seq}.json")) && files[1].ends_with(format!("{seq}.openings.json")));
    let read: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    assert_eq!(read, serde_json::from_str::<Value>(&full).unwrap()["receipt"]);
    for file in files.iter().map(PathBuf::as_path).chain([files[0].parent().unwrap(), &store]) {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o077, 0, "{}", file.display());
    }
}

#[test]
fn an_answer_without_a_whole_receipt_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let receipts = Receipts::in_folder(&folder.path().join("receipts")).unwrap();
    for answer in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"dev.counterfoil/receipt":{"typ":"receipt-ref/v1"}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"data":[1]}}"#,
        "no JSON",
    ] {
        assert_eq!(receipts.keep(answer.as_bytes().to_vec(), Asked::Us), answer.as_bytes());
    }
    // A receipt that is none reaches nobody, and nothing is kept of it.
    let odd = r#"{"id":1,"result":{"_meta":{"dev.counterfoil/receipt":{"typ":"receipt-full/v1","receipt":{},"openings":["salt-secret"]}}}}"#;
    let given = receipts.keep(odd.as_bytes().to_vec(), Asked::Us);
    assert_eq!(String::from_utf8(given).unwrap(), r#"{"id":1,"result":{"_meta":{}}}"#);
    assert!(kept(&folder.path().join("receipts")).is_empty());
}

#[test]
fn a_folder_that_others_may_look_into_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    DirBuilder::new().mode(0o755).create(&open).unwrap();

    assert!(matches!(Receipts::in_folder(&open), Err(KeepError::TooOpen { .. })));

    // One that cannot be written any more costs the receipt, and not the answer.
    let store = folder.path().join("receipts");
    let receipts = Receipts::in_folder(&store).unwrap();
    fs::remove_dir(&store).unwrap();
    fs::write(&store, "in the way").unwrap();
    let answer = format!(r#"{{"id":1,"result":{{"_meta":{{"dev.counterfoil/receipt":{}}}}}}}"#, full());
    let given = String::from_utf8(receipts.keep(answer.into_bytes(), Asked::Us)).unwrap();
    assert!(given.contains("receipt-ref/v1") && !given.contains("salt-secret"), "{given}");
}
