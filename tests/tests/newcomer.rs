//! What somebody meets who has a server of their own and two minutes: `counterfoil wrap`, with real processes.

use counterfoil_tests::foreign::folder;
use counterfoil_tests::mcp::{Agent, Http};
use counterfoil_tests::process::Process;
use counterfoil_tests::repository::program;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// An empty folder, and what `counterfoil` leaves for it elsewhere.
struct Empty {
    folder: TempDir,
    ports: [u16; 3],
}

impl Empty {
    fn new() -> Self {
        let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners.each_ref().map(|l| l.local_addr().expect("a bound address").port());
        Self { folder: TempDir::new().expect("a folder"), ports }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn counterfoil(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("counterfoil").expect("the program is built"));
        command.current_dir(self.path()).args(words);
        for (name, port) in ["--gateway-port", "--evidence-port", "--internal-port"].iter().zip(self.ports) {
            command.arg(name).arg(port.to_string());
        }
        command
    }

    /// Starts it and waits until it says how to stop it.
    fn stands(&self, command: &mut Command, log: &str) -> Process {
        let log = self.path().join(log);
        let mut process = Process::start("counterfoil", command, &log).expect("it starts");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        process.until("standing", || said().contains("Ctrl-C stops everything")).expect("it stands");
        process
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("the file is there")
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        // As root the database lies outside the folder, in one that is named after it.
        let kept = self.path().join(".counterfoil");
        let Ok(kept) = kept.canonicalize() else { return };
        let mut name = "/var/tmp/counterfoil-".to_owned();
        for byte in &Sha256::digest(kept.as_os_str().as_encoded_bytes())[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        let _ = std::fs::remove_dir_all(name);
    }
}

fn memory_server() -> PathBuf {
    folder().join("node/node_modules/@modelcontextprotocol/server-memory/dist/index.js")
}

/// The API key that was shown once.
fn key_in(said: &str) -> String {
    let line = said.lines().find(|line| line.starts_with("API key")).expect("a key is shown");
    line.split_whitespace().nth(2).expect("the key stands there").to_owned()
}

// Upholds G2, G3: from an empty folder a read passes and a write is held, and a second run uses the files.
#[test]
fn a_newcomers_own_server_is_governed_within_two_minutes() {
    let began = Instant::now();
    let empty = Empty::new();
    let graph = empty.path().join("graph.jsonl");
    let server = memory_server().display().to_string();
    let mut wrap = empty.counterfoil(&["wrap"]);
    let file = format!("MEMORY_FILE_PATH={}", graph.display());
    wrap.args(["--", "env", &file, "node", &server]);

    let standing = empty.stands(&mut wrap, "first.log");
    let said = empty.text("first.log");
    let key = key_in(&said);
    let http = Http::new().expect("a client");
    let agent = Agent::new(format!("http://127.0.0.1:{}/mcp/memory", empty.ports[0]), &key);
    let read = agent.call(&http, "read_graph", "{}").expect("an answer");
    let entity = r#"{"entities":[{"name":"a","entityType":"b","observations":["c"]}]}"#;
    let write = agent.call(&http, "create_entities", entity).expect("an answer");

    assert!(!read.is_error().expect("a result"), "{}", read.text());
    assert_eq!(read.receipt().expect("a receipt")["verdict"], "ALLOW");
    assert!(write.says().expect("a text").starts_with("Held, not executed"), "{}", write.text());
    assert_eq!(write.receipt().expect("a receipt")["verdict"], "STEP_UP");
    assert!(!graph.exists(), "a held call reached the server");
    assert!(began.elapsed() < Duration::from_secs(120), "took {:?}", began.elapsed());
    for name in ["registry.toml", "rules.cedar"] {
        assert!(empty.text(name).contains(" DRAFT memory: "), "{name} is not marked as a draft");
    }

    assert!(standing.stop().expect("it stops").success());
    let before = empty.text("registry.toml");
    let again = empty.stands(&mut empty.counterfoil(&["dev"]), "second.log");
    let http = Http::new().expect("a client without connections to the first run");
    let read = agent.call(&http, "read_graph", "{}").expect("an answer");
    assert_eq!(read.receipt().expect("a receipt")["verdict"], "ALLOW", "{}", read.text());
    assert_eq!(empty.text("registry.toml"), before);
    assert!(!empty.text("second.log").contains("published"), "the same files were published twice");
    assert!(again.stop().expect("it stops").success());
}

// Upholds G2: a draft stays marked until a person publishes it by name.
#[test]
fn a_draft_is_a_draft_until_a_person_publishes_it() {
    let empty = Empty::new();
    let server = memory_server().display().to_string();
    let mut wrap = empty.counterfoil(&["wrap"]);
    wrap.args(["--", "node", &server]);
    let standing = empty.stands(&mut wrap, "first.log");

    let mut publish = Command::new(program("counterfoil").expect("the program is built"));
    publish.current_dir(empty.path()).args(["policy", "publish"]);
    publish.args(["--registry", "registry.toml", "--rules", "rules.cedar", "--reason", "read it"]);
    let output = publish.output().expect("it runs");

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        !empty.text("registry.toml").contains(" DRAFT ") && !empty.text("rules.cedar").contains(" DRAFT ")
    );
    assert!(standing.stop().expect("it stops").success());
}

// Upholds G2, G3, T9: a host's own file leads to the gateway, keeps no secret, and a second run changes nothing.
#[test]
fn a_hosts_own_configuration_is_imported_and_its_bridge_answers() {
    let empty = Empty::new();
    let host = empty.path().join("claude_desktop_config.json");
    let graph = empty.path().join("graph-secret.jsonl");
    let before = json!({ "globalShortcut": "Alt+Space", "mcpServers": { "memory": {
        "command": "node", "args": [memory_server()], "env": { "MEMORY_FILE_PATH": graph } } } });
    std::fs::write(&host, before.to_string()).expect("written");

    let gateway = format!("http://127.0.0.1:{}", empty.ports[0]);
    let import = || {
        let mut command = Command::new(program("counterfoil").expect("the program is built"));
        command.current_dir(empty.path()).args(["import", "claude-desktop", "--gateway", &gateway, "--file"]);
        let output = command.arg(&host).output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (imported, said) = import();
    let after = empty.text("claude_desktop_config.json");
    let (again, said_again) = import();

    assert!(imported && again, "{said}\n{said_again}");
    assert!(said.contains("memory: MEMORY_FILE_PATH") && said_again.contains("nothing to import"), "{said}");
    for text in [&said, &said_again, &after, &empty.text("counterfoil.toml")] {
        assert!(!text.contains("graph-secret"), "{text}");
    }
    assert_eq!(empty.text("claude_desktop_config.json"), after);
    assert_eq!(empty.text("claude_desktop_config.json.before-counterfoil"), before.to_string());

    let standing = empty.stands(&mut empty.counterfoil(&["dev"]), "dev.log");
    assert!(
        !empty.text("dev.log").contains("API key    cfk_")
            && empty.text("dev.log").contains("for its owner alone")
    );
    let entry: Value = serde_json::from_str(&after).expect("still JSON");
    let answer = as_the_host_would(&entry["mcpServers"]["memory"], "read_graph");
    assert_eq!(entry["globalShortcut"], "Alt+Space");
    assert_eq!(answer["result"]["_meta"]["dev.counterfoil/receipt"]["verdict"], "ALLOW", "{answer}");
    assert!(standing.stop().expect("it stops").success());
}

/// Starts what the host's file says and makes one call.
fn as_the_host_would(entry: &Value, tool: &str) -> Value {
    let arguments = entry["args"].as_array().expect("arguments").iter().filter_map(Value::as_str);
    let mut command = Command::new(entry["command"].as_str().expect("a command"));
    let mut child =
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": {}, "_meta": meta } });
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{call}").expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("one answer")
}

// Upholds G3: what cannot be governed is not half imported and then forgotten.
#[test]
fn an_import_that_cannot_carry_everything_changes_nothing_and_names_the_place() {
    let empty = Empty::new();
    let host = empty.path().join("mcp.json");
    let text = json!({ "mcpServers": {
        "memory": { "command": "node", "args": [memory_server()] },
        "linear": { "url": "https://mcp.example.com/sse", "headers": { "Authorization": "Bearer hunter2" } } } });
    std::fs::write(&host, text.to_string()).expect("written");

    let mut command = Command::new(program("counterfoil").expect("the program is built"));
    let output = command.current_dir(empty.path()).args(["import", "cursor", "--file"]).arg(&host).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);

    assert!(!output.status.success());
    assert!(said.contains("mcpServers.linear.url") && !said.contains("hunter2"), "{said}");
    assert_eq!(empty.text("mcp.json"), text.to_string());
    assert!(!empty.path().join("counterfoil.toml").exists());
}
