//! C1, P3: an rmcp server, the official SDK's, behind the guard. Ignored unless asked for: it stands in a workspace of its own
//! (tests/foreign/rust-server), so that nothing of it is in the graph of what ships. `scripts/test sdks` asks.

use super::world::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

fn program() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("target/foreign-rust/debug/foreign-rust-server")
}

struct Peer {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    fn start(folder: &Path) -> Self {
        std::fs::write(folder.join("jwks.json"), gateway_keys()).expect("written");
        let mut command = Command::new(program());
        command.env("COUNTERFOIL_ISSUER", ISSUER).env("COUNTERFOIL_PROJECT", PROJECT);
        command.env("COUNTERFOIL_KEYS", folder.join("jwks.json")).env("NOTES_FOLDER", folder.join("used"));
        command
            .env("NOTES_KEY", "21".repeat(32))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("cargo built tests/foreign/rust-server");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { _child: child, input, output }
    }

    async fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it listens");
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.say(&message).await;
        let line = tokio::time::timeout(Duration::from_secs(10), self.output.next_line()).await;
        serde_json::from_str(&line.expect("soon").expect("unbroken").expect("a line")).expect("JSON")
    }
}

#[tokio::test]
#[ignore = "needs target/foreign-rust/debug/foreign-rust-server"]
async fn an_rmcp_server_behind_the_guard_runs_what_was_admitted_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut peer = Peer::start(folder.path());
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    peer.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).await;
    peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;

    // An unknown name and a spelling of a number that a decoder would not keep.
    let args = json!({ "path": "/notes/a", "surplus": [1.5, null] });
    let used = call("note_write", &args, slip("note_write", &args));
    let answer = peer.ask(request(1, used.clone())).await;
    assert_eq!(answer["result"]["content"][0]["text"], "wrote /notes/a", "{answer}");
    let statement = &answer["result"]["_meta"]["dev.counterfoil/execution"]["payload"];
    assert_eq!((&statement["outcome"], &statement["tool"]), (&json!("EXECUTED"), &json!("note_write")));

    for (params, code) in [
        (used, "capability_used"),
        (json!({ "name": "note_write", "arguments": args }), "capability_missing"),
        (
            call("note_write", &json!({ "path": "/notes/b" }), slip("note_write", &args)),
            "capability_arguments",
        ),
    ] {
        assert_eq!(peer.ask(request(2, params)).await["error"]["data"]["reason"], code);
    }
    let listed = peer.ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" })).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "note_write");
}
