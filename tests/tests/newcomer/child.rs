//! A server of one's own that somebody has to start.

use super::empty::{Empty, as_the_host_would, key_in};
use counterfoil_tests::foreign::folder;
use counterfoil_tests::mcp::{Agent, Http};
use counterfoil_tests::repository::program;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

fn memory_server() -> PathBuf {
    folder().join("node/node_modules/@modelcontextprotocol/server-memory/dist/index.js")
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
    let answer = as_the_host_would(&empty, &entry["mcpServers"]["memory"], "read_graph", json!({}));
    assert_eq!(entry["globalShortcut"], "Alt+Space");
    let reference = &answer["result"]["_meta"]["dev.counterfoil/receipt"];
    assert_eq!(
        (&reference["typ"], &reference["verdict"]),
        (&json!("receipt-ref/v1"), &json!("ALLOW")),
        "{answer}"
    );
    the_bridge_kept_the_receipt_of(&empty, reference);
    assert!(standing.stop().expect("it stops").success());
}

/// Whole, with what opens it, for its owner alone; it verifies under the project's own keys.
fn the_bridge_kept_the_receipt_of(empty: &Empty, reference: &Value) {
    let store = empty.path().join("state/counterfoil/receipts");
    let project =
        std::fs::read_dir(&store).expect("receipts are kept").next().expect("a project").expect("read");
    let named =
        |end: &str| project.path().join(format!("{:012}{end}", reference["seq"].as_u64().expect("a place")));
    let openings = std::fs::read_to_string(named(".openings.json")).expect("openings are kept");
    assert!(openings.contains("\"args\"") && openings.contains("\"result\""), "{openings}");
    for path in [named(".json"), named(".openings.json"), store] {
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
    let said = empty.text("dev.log");
    let page = said.split_whitespace().find(|word| word.starts_with("http://127") && word.contains("/p/0-"));
    let keys = Http::new()
        .expect("a client")
        .get(&format!("{}/jwks.json", page.expect("the page is named")), None)
        .expect("the keys");
    std::fs::write(empty.path().join("jwks.json"), keys.body).expect("written");
    let receipt = named(".json").display().to_string();
    let (verified, said) = empty.said(&["verify", &receipt, "--trust", "jwks.json"], &[], "");
    assert!(verified && said.contains("VERIFIED"), "{said}");
}

// Upholds G3: what cannot be governed is not half imported and then forgotten.
#[test]
fn an_import_that_cannot_carry_everything_changes_nothing_and_names_the_place() {
    let empty = Empty::new();
    let host = empty.path().join("mcp.json");
    let text = json!({ "mcpServers": {
        "memory": { "command": "node", "args": [memory_server()] },
        "linear": { "type": "sse", "url": "https://mcp.example.com/sse", "headers": { "Authorization": "Bearer hunter2" } } } });
    std::fs::write(&host, text.to_string()).expect("written");

    let mut command = Command::new(program("counterfoil").expect("the program is built"));
    let output = command.current_dir(empty.path()).args(["import", "cursor", "--file"]).arg(&host).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);

    assert!(!output.status.success());
    assert!(said.contains("mcpServers.linear.type") && !said.contains("hunter2"), "{said}");
    assert_eq!(empty.text("mcp.json"), text.to_string());
    assert!(!empty.path().join("counterfoil.toml").exists());
}
