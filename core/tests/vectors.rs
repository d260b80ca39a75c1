//! Every case of docs/vectors, run against this crate. A folder or a case that nobody knows how to run is a failure,
//! so a new case cannot be forgotten.

mod vectors {
    pub mod bytes;
    pub mod executions;
    pub mod export;
    pub mod log;
    pub mod packages;
    pub mod receipts;
    pub mod reconciliation;
    pub mod vocabulary;
}

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a case says about itself and what went otherwise.
pub type Outcome = Result<(), String>;
type Runner = fn(&[u8]) -> Outcome;

const FOLDERS: &[(&str, Runner)] = &[
    ("canonical-json", vectors::bytes::canonical_json),
    ("commitments", vectors::bytes::commitment),
    ("capability", vectors::bytes::capability),
    ("chain", vectors::log::chain),
    ("trees", vectors::log::tree),
    ("checkpoints", vectors::log::checkpoint),
    ("key-sets", vectors::receipts::key_set),
    ("receipts", vectors::receipts::good),
    ("malformed-receipts", vectors::receipts::malformed),
    ("executions", vectors::executions::execution),
    ("packages", vectors::packages::package),
    ("export", vectors::export::stream),
    ("reconciliation", vectors::reconciliation::situation),
];

/// Folders whose cases another crate runs: this one knows nothing of rules.
const ELSEWHERE: &[&str] = &["policy"];

pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Reads a case that has these members and no others.
pub fn read<T: DeserializeOwned>(case: &[u8]) -> Result<T, String> {
    serde_json::from_slice(case).map_err(|e| format!("a case of a shape that nobody knows: {e}"))
}

pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, not {wanted:?}")) }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("docs/vectors has this folder");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("folders can be listed").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    files
}

// P7
#[test]
fn every_published_case_comes_out_as_it_says() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (folder, runner) in FOLDERS {
        let files = json_files(&docs().join("vectors").join(folder));
        assert!(!files.is_empty(), "{folder} has no case");
        for file in files {
            count += 1;
            let case = fs::read(&file).expect("cases can be read");
            if let Err(why) = runner(&case) {
                failures.push(format!("{folder}/{}: {why}", file.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 200, "only {count} cases");
}

#[test]
fn every_folder_is_known_and_says_what_it_is() {
    let known: BTreeMap<_, _> = FOLDERS.iter().copied().collect();
    for entry in fs::read_dir(docs().join("vectors")).expect("docs/vectors is there") {
        let path = entry.expect("folders can be listed").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        if path.is_dir() && name != "make" {
            let run = known.contains_key(name.as_str()) || ELSEWHERE.contains(&name.as_str());
            assert!(run, "no runner for docs/vectors/{name}");
            assert!(path.join("README.md").is_file(), "docs/vectors/{name} has no README.md");
        } else if path.is_file() {
            let known = ["README.md", "jwks.json", "keys.json"];
            assert!(known.contains(&name.as_str()), "docs/vectors/{name} is in no folder");
        }
    }
}
