//! G1: evaluation is a pure function. This crate names nothing that reaches outside, and depends on nothing of ours
//! but core. (What core may use is checked beside core; clippy.toml bans clocks and chance everywhere.)

use std::fs;
use std::path::{Path, PathBuf};

/// Words with which Rust code reaches a clock, chance, files, sockets, processes, the environment, a log or a model.
const REACHING_OUT: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::sync",
    "SystemTime",
    "Instant",
    "now_utc",
    "tokio",
    "tracing",
    "rand::",
    "thread_rng",
    "getrandom",
    "new_v4",
    "now_v7",
    "static mut",
    "thread_local",
    "RandomState",
    "println!",
    "print!",
    "dbg!",
    "include_str!",
    "unsafe",
    "File::",
    "TcpStream",
    "UdpSocket",
    "async fn",
    "log::",
    "reqwest",
    "hyper",
    "llm",
    "onnx",
    "openai",
];

const DEPENDENCIES: &[&str] =
    &["cedar-policy", "counterfoil-core", "serde", "serde_json", "stacker", "thiserror", "toml", "toml_edit"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of this crate") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_source_reaches_for_nothing_outside() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 15, "the sources are found");

    for path in sources {
        let text = fs::read_to_string(&path).expect("a source file");
        for word in REACHING_OUT {
            assert!(!text.contains(word), "{} says `{word}`", path.display());
        }
    }
}

#[test]
fn the_crate_depends_on_nothing_that_reaches_outside() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let text = fs::read_to_string(manifest).expect("the manifest");

    let table: toml::Table = text.parse().expect("TOML");
    let named: Vec<&str> =
        table["dependencies"].as_table().expect("a table").keys().map(String::as_str).collect();

    assert_eq!(named, DEPENDENCIES);
}

/// The check is worth something only if it sees what it looks for.
#[test]
fn a_clock_a_file_a_socket_a_log_line_and_a_model_would_be_seen() {
    for gained in [
        "let now = SystemTime::now();",
        "let started = Instant::now();",
        "let text = std::fs::read(path);",
        "let peer = std::net::TcpStream::connect(address);",
        "tracing::info!(\"judged\");",
        "println!(\"judged\");",
        "let answer = llm.ask(prompt);",
    ] {
        assert!(REACHING_OUT.iter().any(|word| gained.contains(word)), "{gained}");
    }
}
