//! The servers, unmodified, each with one tool that the rules allow. Two of them are reached over HTTP, one in each era;
//! one more column is the address of them all.

use counterfoil_tests::deployment::{Deployment, Plan, Provider, Reach};
use counterfoil_tests::foreign::{filesystem_provider, folder};
use counterfoil_tests::process::Process;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// How many servers there are; the column after them is `/mcp`.
pub const COLUMNS: [&str; 10] =
    ["everything", "files", "memory", "git", "time", "fetch", "sums", "httpold", "httpnew", "all"];

pub struct Servers {
    pub deployment: Deployment,
    /// Those with an address; they end with this.
    _listening: [Process; 2],
    sandbox: TempDir,
}

struct Server {
    id: &'static str,
    reach: Reach,
    tool: &'static str,
    noun: &'static str,
}

impl Servers {
    pub fn start() -> Self {
        let sandbox = tempfile::Builder::new().prefix("counterfoil-sandbox-").tempdir().expect("a sandbox");
        std::fs::write(sandbox.path().join("hello.txt"), "hello\n").expect("a file");
        let made = Command::new("git").arg("init").arg("-q").arg(sandbox.path()).status().expect("git runs");
        assert!(made.success());
        let (old, old_url) = listening("httpold", sandbox.path(), |port| {
            let port = format!("PORT={port}");
            [vec!["env".to_owned(), port], npm("server-everything"), vec!["streamableHttp".to_owned()]]
                .concat()
        });
        let (new, new_url) =
            listening("httpnew", sandbox.path(), |port| python(&[&sums(), port.to_string().as_str()]));
        let mut servers = servers(sandbox.path());
        servers.push(Server { id: "httpold", reach: Reach::Url(old_url), tool: "get-sum", noun: "" });
        servers.push(Server { id: "httpnew", reach: Reach::Url(new_url), tool: "add", noun: "" });
        let deployment = Deployment::start(&plan(servers, sandbox.path())).expect("a deployment starts");
        Self { deployment, _listening: [old, new], sandbox }
    }

    pub fn place(&self) -> &Path {
        self.sandbox.path()
    }

    /// One call for each column.
    pub fn cells(&self) -> Vec<Value> {
        let place = self.sandbox.path();
        let page = format!("{}{}/jwks.json", self.deployment.evidence_url(), self.deployment.page());
        let calls = [
            ("echo", json!({ "message": "hello" })),
            ("read_text_file", json!({ "path": place.join("hello.txt") })),
            ("read_graph", json!({})),
            ("git_status", json!({ "repo_path": place })),
            ("get_current_time", json!({ "timezone": "Europe/Zurich" })),
            ("fetch", json!({ "url": page })),
            ("add", json!({ "a": 2, "b": 3 })),
            ("get-sum", json!({ "a": 2, "b": 3 })),
            ("add", json!({ "a": 2, "b": 3 })),
            ("sums__add", json!({ "a": 4, "b": 5 })),
        ];
        let cell = |(column, (tool, arguments)): (&str, (&str, Value))| {
            let url = match column {
                "all" => format!("{}/mcp", self.deployment.gateway_url()),
                provider => self.deployment.mcp_url(provider),
            };
            json!({ "provider": column, "url": url, "tool": tool, "arguments": arguments })
        };
        COLUMNS.into_iter().zip(calls).map(cell).collect()
    }
}

fn plan(servers: Vec<Server>, sandbox: &Path) -> Plan {
    let mut rules = String::new();
    for Server { id, tool, noun, .. } in &servers {
        let resource = match *noun {
            "" => format!("== Gw::Tool::\"{id}/{tool}\""),
            _ => format!("in Gw::Path::\"{}\"", sandbox.display()),
        };
        write!(
            rules,
            "@id(\"{id}-read\")\npermit (principal, action == Gw::Action::\"{id}.read\", resource {resource})\n\
             when {{ context.now < datetime(\"DEADLINE\") }};\n\n"
        )
        .expect("a string takes text");
    }
    Plan { providers: servers.into_iter().map(Server::provider).collect(), rules }
}

impl Server {
    fn provider(self) -> Provider {
        let Self { id, reach, tool, noun } = self;
        let noun = match noun {
            "" => "{ type = \"tool\" }".to_owned(),
            at => format!("{{ type = \"path\", at = \"{at}\" }}"),
        };
        let registry =
            format!("[provider.{id}.tool.{tool}]\nservice = \"{id}\"\nverb = \"read\"\nnouns = [{noun}]\n");
        Provider { id, reach, registry }
    }
}

/// A server on a port that was free, and its address.
fn listening(name: &str, sandbox: &Path, command: impl FnOnce(u16) -> Vec<String>) -> (Process, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let words = command(port);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let log = sandbox.join(format!("{name}.log"));
    let mut process = Process::start(name, &mut command, &log).expect("it starts");
    process.until("listening", || TcpStream::connect(("127.0.0.1", port)).is_ok()).expect("it listens");
    (process, format!("http://127.0.0.1:{port}/mcp"))
}

fn servers(sandbox: &Path) -> Vec<Server> {
    let memory = format!("MEMORY_FILE_PATH={}", sandbox.join("memory.jsonl").display());
    let memory = [vec!["env".to_owned(), memory], npm("server-memory")].concat();
    vec![
        Server { id: "everything", reach: npm("server-everything").into(), tool: "echo", noun: "" },
        Server {
            id: "files",
            reach: filesystem_provider(sandbox).into(),
            tool: "read_text_file",
            noun: "/path",
        },
        Server { id: "memory", reach: memory.into(), tool: "read_graph", noun: "" },
        Server {
            id: "git",
            reach: python(&["-m", "mcp_server_git"]).into(),
            tool: "git_status",
            noun: "/repo_path",
        },
        Server {
            id: "time",
            reach: python(&["-m", "mcp_server_time"]).into(),
            tool: "get_current_time",
            noun: "",
        },
        // What it fetches is the project's own page, so that nothing leaves this machine.
        Server {
            id: "fetch",
            reach: python(&["-m", "mcp_server_fetch", "--allow-private-ips"]).into(),
            tool: "fetch",
            noun: "",
        },
        Server { id: "sums", reach: python(&[&sums()]).into(), tool: "add", noun: "" },
    ]
}

fn sums() -> String {
    folder().join("python/sums.py").display().to_string()
}

fn npm(name: &str) -> Vec<String> {
    let script = folder().join("node/node_modules/@modelcontextprotocol").join(name).join("dist/index.js");
    vec!["node".to_owned(), script.display().to_string()]
}

fn python(arguments: &[&str]) -> Vec<String> {
    let interpreter = folder().join("python/.venv/bin/python").display().to_string();
    std::iter::once(interpreter).chain(arguments.iter().map(|a| (*a).to_owned())).collect()
}
