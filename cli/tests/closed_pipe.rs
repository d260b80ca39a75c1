//! `counterfoil verify` where nobody reads its words.

use std::path::Path;
use std::process::{Command, Stdio};

/// P1: the exit code is the answer of a pipeline such as `counterfoil verify … | head -1`.
#[test]
fn the_exit_code_stands_when_nobody_reads_the_words() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors");
    let case = std::fs::read_dir(vectors.join("receipts")).expect("receipts").next().expect("a case");
    let case = std::fs::read(case.expect("a case").path()).expect("a case");
    let case: serde_json::Value = serde_json::from_slice(&case).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    let receipt = folder.path().join("receipt.json");
    std::fs::write(&receipt, case["receipt"].to_string()).expect("written");

    let mut verify = Command::new(env!("CARGO_BIN_EXE_counterfoil"))
        .arg("verify")
        .arg(&receipt)
        .arg("--trust")
        .arg(vectors.join("jwks.json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    drop(verify.stdout.take());

    assert_eq!(verify.wait().expect("ended").code(), Some(0));
}
