//! An empty folder in which `counterfoil` is run as somebody who just got it would.

use counterfoil_tests::process::Process;
use counterfoil_tests::repository::program;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An empty folder, and what `counterfoil` leaves for it elsewhere.
pub struct Empty {
    folder: TempDir,
    pub ports: [u16; 3],
}

impl Empty {
    pub fn new() -> Self {
        let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners.each_ref().map(|l| l.local_addr().expect("a bound address").port());
        Self { folder: TempDir::new().expect("a folder"), ports }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn counterfoil(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("counterfoil").expect("the program is built"));
        command.current_dir(self.path()).args(words);
        // Nobody answers held calls here.
        command.env("COUNTERFOIL_HOLD_WAIT_MS", "0");
        for (name, port) in ["--gateway-port", "--evidence-port", "--internal-port"].iter().zip(self.ports) {
            command.arg(name).arg(port.to_string());
        }
        command
    }

    /// Starts it and waits until it says how to stop it.
    pub fn stands(&self, command: &mut Command, log: &str) -> Process {
        let log = self.path().join(log);
        let mut process = Process::start("counterfoil", command, &log).expect("it starts");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        process.until("standing", || said().contains("Ctrl-C stops everything")).expect("it stands");
        process
    }

    /// Runs it to its end, with these variables and this on its standard input: whether it went well, and what it said.
    pub fn said(&self, words: &[&str], environment: &[(&str, &str)], input: &str) -> (bool, String) {
        let mut command = Command::new(program("counterfoil").expect("the program is built"));
        command.current_dir(self.path()).args(words).envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("written");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("the file is there")
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        // As root the database lies outside the folder, in one that is named after it.
        let kept = self.path().join(".counterfoil");
        let Ok(kept) = kept.canonicalize() else { return };
        let _ = std::fs::remove_dir_all(database_elsewhere(&kept));
    }
}

/// Where a deployment of root has its database.
pub fn database_elsewhere(kept: &Path) -> String {
    let mut name = "/var/tmp/counterfoil-".to_owned();
    for byte in &Sha256::digest(kept.as_os_str().as_encoded_bytes())[..8] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The API key that was shown once.
pub fn key_in(said: &str) -> String {
    let line = said.lines().find(|line| line.starts_with("API key")).expect("a key is shown");
    line.split_whitespace().nth(2).expect("the key stands there").to_owned()
}

/// Starts what the host's file says and makes one call.
pub fn as_the_host_would(empty: &Empty, entry: &Value, tool: &str, arguments: Value) -> Value {
    let words = entry["args"].as_array().expect("arguments").iter().filter_map(Value::as_str);
    let mut command = Command::new(entry["command"].as_str().expect("a command"));
    // What the bridge keeps for this person does not go to the one who runs the tests.
    command.env("XDG_STATE_HOME", empty.path().join("state"));
    let mut child =
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": meta } });
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{call}").expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("one answer")
}
