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
        let mut child = Command::new(self.interpreter())
            .arg(self.script(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {self:?}; `scripts/test` installs what it needs"))?;
        let mut pipe = child.stdin.take().context("standard input is a pipe")?;
        pipe.write_all(input.to_string().as_bytes())?;
        drop(pipe);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("{self:?} {script}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
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
