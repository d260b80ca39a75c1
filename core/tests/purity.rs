//! G1: core has no clock, chance, file, socket, log line or model. It reads and writes bytes through what it is handed
//! (`std::io` traits), so that the same code runs in a browser.

use std::fs;
use std::path::{Path, PathBuf};

/// Words with which Rust code reaches a clock, chance, files, sockets, processes, the environment, a log or a model.
const REACHING_OUT: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::sync",
    "std::os",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "File::",
    "TcpStream",
    "UdpSocket",
    "SystemTime",
    "Instant",
    "now_utc",
    "tokio",
    "async fn",
    "tracing",
    "log::",
    "print!",
    "println!",
    "dbg!",
    "rand::",
    "thread_rng",
    "getrandom",
    "new_v4",
    "now_v7",
    "static mut",
    "thread_local",
    "RandomState",
    "reqwest",
    "hyper",
    "llm",
    "onnx",
    "openai",
    "extern \"C\"",
];

const DEPENDENCIES: &[&str] = &[
    "base64",
    "ed25519-dalek",
    "flate2",
    "hmac",
    "serde",
    "serde_jcs",
    "serde_json",
    "sha2",
    "thiserror",
    "time",
    "uuid",
    "zeroize",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of this crate") {
        let path = entry.expect("an entry").path();
        // Tests may read their cases.
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// `log::` is a crate's name, and the end of `catalog::`; every other word counts wherever it stands.
fn says(code: &str, word: &str) -> bool {
    let begins = |at: usize| !code[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    code.match_indices(word).any(|(at, _)| word != "log::" || begins(at))
}

#[test]
fn the_source_reaches_for_nothing_outside() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 40, "the sources are found");

    for path in sources {
        let code = code(&fs::read_to_string(&path).expect("a source file"));
        for word in REACHING_OUT {
            assert!(!says(&code, word), "{} says `{word}`", path.display());
        }
    }
}

#[test]
fn the_crate_depends_on_nothing_that_reaches_outside() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let text = fs::read_to_string(manifest).expect("the manifest");
    let table = text.split("[dependencies]\n").nth(1).expect("dependencies").split("\n[").next();

    let named: Vec<&str> =
        table.expect("a table").lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();

    let named: Vec<&str> = named.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(named, DEPENDENCIES);
}

/// The check is worth something only if it sees what it looks for.
#[test]
fn a_clock_a_file_a_socket_a_log_line_and_a_model_would_be_seen() {
    for gained in [
        "let now = std::time::SystemTime::now();",
        "let text = std::fs::read(path);",
        "let peer = std::net::TcpStream::connect(address);",
        "tracing::info!(\"judged\");",
        "log::info!(\"judged\");",
        "std::convert::drop(log::max_level());",
        "let answer = llm.ask(prompt);",
    ] {
        let code = code(&format!("//! tokio, in a comment\n{gained}\n#[cfg(test)]\nuse rand::x;"));
        let seen = REACHING_OUT.iter().filter(|word| says(&code, word)).count();
        assert!(seen >= 1, "{gained}");
        assert!(!code.contains("tokio") && !code.contains("rand::"));
        assert!(!says("Catalog::parse(catalog::MAX)", "log::"));
    }
}
