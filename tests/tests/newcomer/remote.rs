//! A server of one's own that has an address: npm server-everything and PyPI fastmcp, over Streamable HTTP.

use super::empty::{Empty, as_the_host_would, database_elsewhere, key_in};
use counterfoil_tests::foreign::folder;
use counterfoil_tests::mcp::{Agent, Http};
use counterfoil_tests::process::Process;
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// What the guarded server wants to see, and what nothing may show.
const TOKEN: &str = "hunter2-of-the-guarded-server";

struct Server {
    process: Process,
    url: String,
}

impl Server {
    fn everything(empty: &Empty) -> Self {
        let script = folder().join("node/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        Self::start(empty, |port| {
            let mut command = Command::new("node");
            command.arg(&script).arg("streamableHttp").env("PORT", port.to_string());
            command
        })
    }

    fn guarded(empty: &Empty) -> Self {
        Self::start(empty, |port| {
            let mut command = Command::new(folder().join("python/.venv/bin/python"));
            command.arg(folder().join("python/guarded.py")).arg(port.to_string()).arg(TOKEN);
            command
        })
    }

    /// The log lies beside the folder that is searched for the token: it is the server's own.
    fn start(empty: &Empty, command: impl Fn(u16) -> Command) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let log = empty.path().with_extension(format!("server-{port}.log"));
        let mut process = Process::start("server", &mut command(port), &log).expect("it starts");
        process.until("listening", || TcpStream::connect(("127.0.0.1", port)).is_ok()).expect("it listens");
        std::fs::remove_file(&log).expect("its log is not needed any more");
        Self { process, url: format!("http://127.0.0.1:{port}/mcp") }
    }
}

fn agent(empty: &Empty, provider: &str, key: &str) -> Agent {
    Agent::new(format!("http://127.0.0.1:{}/mcp/{provider}", empty.ports[0]), key)
}

/// Files below a folder that hold these bytes.
fn holding(folder: &Path, wanted: &[u8], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("it has a kind");
        if kind.is_dir() {
            holding(&path, wanted, found);
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(wanted.len()).any(|window| window == wanted) {
                found.push(path.display().to_string());
            }
        }
    }
}

/// Nothing of the folder, nor of the database that belongs to it, holds the token.
fn nothing_holds_the_token(empty: &Empty) {
    let mut found = Vec::new();
    holding(empty.path(), TOKEN.as_bytes(), &mut found);
    let kept = empty.path().join(".counterfoil").canonicalize().expect("a deployment");
    holding(Path::new(&database_elsewhere(&kept)), TOKEN.as_bytes(), &mut found);
    assert!(found.is_empty(), "{found:?}");
    // The search itself finds what is there.
    holding(empty.path(), b"sealed_headers", &mut found);
    assert!(found.iter().any(|file| file.ends_with("counterfoil.toml")), "{found:?}");
}

// Upholds G2, G3: an address is wrapped as a command is.
#[test]
fn a_newcomers_server_behind_http_is_governed() {
    let empty = Empty::new();
    let server = Server::everything(&empty);
    let mut wrap = empty.counterfoil(&["wrap", "--name", "everything", &server.url]);

    let standing = empty.stands(&mut wrap, "first.log");
    let key = key_in(&empty.text("first.log"));
    let http = Http::new().expect("a client");
    let agent = agent(&empty, "everything", &key);
    let read = agent.call(&http, "get-sum", r#"{"a":2,"b":3}"#).expect("an answer");
    let other = agent.call(&http, "echo", r#"{"message":"hello"}"#).expect("an answer");

    assert!(read.says().expect("a text").contains('5'), "{}", read.text());
    assert_eq!(read.receipt().expect("a receipt")["verdict"], "ALLOW");
    assert!(other.says().expect("a text").starts_with("Held, not executed"), "{}", other.text());
    let (same, said) = empty.said(&["registry", "diff"], &[], "");
    assert!(same, "{said}");
    assert!(standing.stop().expect("it stops").success());
    let again = empty.stands(&mut empty.counterfoil(&["wrap", &server.url]), "second.log");
    assert!(empty.text("second.log").contains("known      everything"));
    assert!(again.stop().expect("it stops").success());
    server.process.kill().expect("it ends");
}

// Upholds C5, T9: in no file of the folder, in no log, in no message; and bound to the address it was given for.
#[test]
fn a_header_that_a_server_wants_is_sealed_and_shown_to_nobody_else() {
    let empty = Empty::new();
    let server = Server::guarded(&empty);
    let bearer = format!("Bearer {TOKEN}");
    let (refused, said) = empty.said(&["wrap", &server.url, "--draft-only"], &[], "");
    assert!(!refused && said.contains("wants other credentials"), "{said}");

    let mut wrap = empty.counterfoil(&["wrap", "--name", "guarded", &server.url]);
    wrap.args(["--header-env", "Authorization=GUARDED"]).env("GUARDED", &bearer);
    let standing = empty.stands(&mut wrap, "first.log");
    let key = key_in(&empty.text("first.log"));
    // A client of its own each time: a gateway that was started again has no connections of before.
    let sum = |empty: &Empty| {
        let http = Http::new().expect("a client");
        agent(empty, "guarded", &key).call(&http, "get_sum", r#"{"a":2,"b":3}"#).expect("an answer")
    };

    assert_eq!(sum(&empty).says().expect("a text"), "5");
    nothing_holds_the_token(&empty);
    assert!(standing.stop().expect("it stops").success());
    let (_, listed) = empty.said(&["headers", "list"], &[], "");
    assert!(listed.starts_with("guarded authorization for http://127.0.0.1:"), "{listed}");

    // Another value, from standard input: the server refuses it, and the words do not repeat it.
    let (set, said) =
        empty.said(&["headers", "set", "guarded", "Authorization"], &[], "Bearer wrong-hunter3\n");
    assert!(set && !said.contains("hunter3"), "{said}");
    let standing = empty.stands(&mut empty.counterfoil(&["dev"]), "second.log");
    let away = sum(&empty);
    assert!(
        away.text().contains("wants other credentials") && !away.text().contains("hunter3"),
        "{}",
        away.text()
    );
    assert!(!empty.text("second.log").contains("hunter3"));
    assert!(standing.stop().expect("it stops").success());

    let (set, said) =
        empty.said(&["headers", "set", "guarded", "authorization", "--env", "G"], &[("G", &bearer)], "");
    assert!(set && !said.contains(TOKEN), "{said}");
    nothing_holds_the_token(&empty);
    elsewhere_and_under_another_key_nothing_starts(&empty, &server.url);

    let (removed, said) = empty.said(&["headers", "remove", "guarded", "Authorization"], &[], "");
    assert!(removed && empty.text("counterfoil.toml").contains("sealed_headers = []"), "{said}");
    server.process.kill().expect("it ends");
}

/// The file that says where the provider is, and the key, are each put right again.
fn elsewhere_and_under_another_key_nothing_starts(empty: &Empty, url: &str) {
    let fails = |what: &str| {
        let output = empty.counterfoil(&["dev"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(what) && !said.contains(TOKEN), "{said}");
    };
    let plan = empty.path().join("counterfoil.toml");
    let before = empty.text("counterfoil.toml");
    std::fs::write(&plan, before.replace(url, "http://127.0.0.1:9/mcp")).expect("written");
    fails("is sealed for http://127.0.0.1:");
    std::fs::write(&plan, before).expect("written");

    let sealed = empty.path().join(".counterfoil/gateway-credentials.sealed");
    let good = std::fs::read_to_string(&sealed).expect("it is there");
    std::fs::write(&sealed, good.replace("\"guarded\"", "\"other\"")).expect("written");
    fails("was changed by somebody who does not hold the key-encryption key");
    std::fs::write(&sealed, good).expect("written");

    let kek = empty.path().join(".counterfoil/gateway.kek");
    let right = std::fs::read(&kek).expect("it is there");
    std::fs::write(&kek, "ab".repeat(32)).expect("written");
    fails("is sealed under key-encryption key");
    std::fs::write(&kek, right).expect("written");
}

// Upholds C5, G2, G3: a host's own entry for a server behind HTTP, its credential with it.
#[test]
fn a_hosts_server_behind_http_is_imported_and_its_header_sealed() {
    let empty = Empty::new();
    let server = Server::guarded(&empty);
    let host = empty.path().join("mcp.json");
    let before = json!({ "mcpServers": { "sums": {
        "url": server.url, "headers": { "Authorization": "Bearer ${env:GUARDED}" } } } });
    std::fs::write(&host, before.to_string()).expect("written");
    let gateway = format!("http://127.0.0.1:{}", empty.ports[0]);
    let import = ["import", "cursor", "--gateway", &gateway, "--file", "mcp.json"];

    let (unset, said) = empty.said(&import, &[], "");
    let (imported, told) = empty.said(&import, &[("GUARDED", TOKEN)], "");
    let (again, told_again) = empty.said(&import, &[("GUARDED", TOKEN)], "");

    assert!(!unset && said.contains("mcpServers.sums.headers.Authorization"), "{said}");
    assert!(imported && again && told_again.contains("nothing to import"), "{told}\n{told_again}");
    assert!(told.contains("sealed     sums authorization") && !told.contains(TOKEN), "{told}");
    let kept = empty.path().join("mcp.json.before-counterfoil");
    assert_eq!(std::fs::metadata(kept).expect("it is kept").permissions().mode() & 0o7777, 0o600);
    let standing = empty.stands(&mut empty.counterfoil(&["dev"]), "dev.log");
    let entry: Value = serde_json::from_str(&empty.text("mcp.json")).expect("still JSON");
    let entry = &entry["mcpServers"]["sums"];
    let answer = as_the_host_would(&empty, entry, "get_sum", json!({ "a": 2, "b": 3 }));
    assert_eq!(answer["result"]["content"][0]["text"], "5", "{answer}");
    nothing_holds_the_token(&empty);
    assert!(standing.stop().expect("it stops").success());
    server.process.kill().expect("it ends");
}
