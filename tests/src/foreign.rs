//! Programs in other languages, with the packages that `scripts/test` installed.

use crate::repository::root;
use anyhow::{Context, bail};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(Clone, Copy, Debug)]
pub enum Language {
    Node,
    Python,
}

/// tests/foreign/rust, built: a program with crates of its own, apart from the workspace.
pub struct Rust(PathBuf);

impl Rust {
    /// Takes a minute of one core the first time. Its crates are as its own lock file says.
    pub fn build() -> anyhow::Result<Self> {
        let target = root().join("target/foreign-rust");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(folder().join("rust/Cargo.toml"));
        build.arg("--target-dir").arg(&target);
        let output = build.output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("tests/foreign/rust: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Self(target.join("debug/foreign-rust")))
    }

    /// As [`Language::run`].
    pub fn run(&self, input: &Value) -> anyhow::Result<Value> {
        answer(&mut Command::new(&self.0), "foreign-rust", input)
    }
}

impl Language {
    pub const BOTH: [Self; 2] = [Self::Node, Self::Python];

    fn interpreter(self) -> PathBuf {
        match self {
            Self::Node => "node".into(),
            Self::Python => folder().join("python/.venv/bin/python"),
        }
    }

    fn script(self, name: &str) -> PathBuf {
        match self {
            Self::Node => folder().join(format!("node/{name}.mjs")),
            Self::Python => folder().join(format!("python/{name}.py")),
        }
    }

    /// Runs one of the scripts in tests/foreign with a JSON document on its standard input; it prints another.
    pub fn run(self, script: &str, input: &Value) -> anyhow::Result<Value> {
        answer(Command::new(self.interpreter()).arg(self.script(script)), script, input)
    }

    /// Runs the example verifier of docs/formats: its exit code, and what it printed.
    pub fn verify(self, receipt: &Path, jwks: &Path) -> anyhow::Result<(Option<i32>, String)> {
        let examples = root().join("docs/formats/examples");
        let program = match self {
            Self::Node => examples.join("verify_receipt.mjs"),
            Self::Python => examples.join("verify_receipt.py"),
        };
        let output: Output = Command::new(self.interpreter()).arg(program).arg(receipt).arg(jwks).output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&said).trim().to_owned()))
    }
}

/// What a program prints for a document on its standard input.
fn answer(command: &mut Command, name: &str, input: &Value) -> anyhow::Result<Value> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}; `scripts/test` installs what it needs"))?;
    let mut pipe = child.stdin.take().context("standard input is a pipe")?;
    pipe.write_all(input.to_string().as_bytes())?;
    drop(pipe);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs the example verifier of docs/formats for packages: its exit code, and what it printed.
pub fn verify_package(package: &Path, jwks: &Path) -> anyhow::Result<(Option<i32>, String)> {
    let program = root().join("docs/formats/examples/verify_package.py");
    let output = Command::new(Language::Python.interpreter()).arg(program).arg(package).arg(jwks).output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&said).trim().to_owned()))
}

/// tests/foreign
pub fn folder() -> PathBuf {
    root().join("tests/foreign")
}

/// The command of a provider that is one of the scripts in tests/foreign/node.
pub fn node_provider(script: &str, arguments: &[&Path]) -> Vec<String> {
    let script = folder().join("node").join(script);
    let arguments = arguments.iter().map(|a| a.display().to_string());
    ["node".to_owned(), script.display().to_string()].into_iter().chain(arguments).collect()
}

/// npm's server-filesystem over one folder.
pub fn filesystem_provider(allowed: &Path) -> Vec<String> {
    let server = folder().join("node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    vec!["node".to_owned(), server.display().to_string(), allowed.display().to_string()]
}
