//! The servers, unmodified, each with one tool that the rules allow. One more column is the address of them all.

use counterfoil_tests::deployment::{Deployment, Plan, Provider};
use counterfoil_tests::foreign::{filesystem_provider, folder};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// How many servers there are; the column after them is `/mcp`.
pub const COLUMNS: [&str; 8] = ["everything", "files", "memory", "git", "time", "fetch", "sums", "all"];

pub struct Servers {
    pub deployment: Deployment,
    sandbox: TempDir,
}

struct Server {
    id: &'static str,
    command: Vec<String>,
    tool: &'static str,
    noun: &'static str,
}

impl Servers {
    pub fn start() -> Self {
        let sandbox = tempfile::Builder::new().prefix("counterfoil-sandbox-").tempdir().expect("a sandbox");
        std::fs::write(sandbox.path().join("hello.txt"), "hello\n").expect("a file");
        let made = Command::new("git").arg("init").arg("-q").arg(sandbox.path()).status().expect("git runs");
        assert!(made.success());
        let deployment = Deployment::start(&plan(sandbox.path())).expect("a deployment starts");
        Self { deployment, sandbox }
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

fn plan(sandbox: &Path) -> Plan {
    let servers = servers(sandbox);
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
        let Self { id, command, tool, noun } = self;
        let noun = match noun {
            "" => "{ type = \"tool\" }".to_owned(),
            at => format!("{{ type = \"path\", at = \"{at}\" }}"),
        };
        let registry =
            format!("[provider.{id}.tool.{tool}]\nservice = \"{id}\"\nverb = \"read\"\nnouns = [{noun}]\n");
        Provider { id, command, registry }
    }
}

fn servers(sandbox: &Path) -> Vec<Server> {
    let memory = format!("MEMORY_FILE_PATH={}", sandbox.join("memory.jsonl").display());
    let memory = [vec!["env".to_owned(), memory], npm("server-memory")].concat();
    let sums = folder().join("python/sums.py").display().to_string();
    vec![
        Server { id: "everything", command: npm("server-everything"), tool: "echo", noun: "" },
        Server { id: "files", command: filesystem_provider(sandbox), tool: "read_text_file", noun: "/path" },
        Server { id: "memory", command: memory, tool: "read_graph", noun: "" },
        Server {
            id: "git",
            command: python(&["-m", "mcp_server_git"]),
            tool: "git_status",
            noun: "/repo_path",
        },
        Server {
            id: "time",
            command: python(&["-m", "mcp_server_time"]),
            tool: "get_current_time",
            noun: "",
        },
        // What it fetches is the project's own page, so that nothing leaves this machine.
        Server {
            id: "fetch",
            command: python(&["-m", "mcp_server_fetch", "--allow-private-ips"]),
            tool: "fetch",
            noun: "",
        },
        Server { id: "sums", command: python(&[&sums]), tool: "add", noun: "" },
    ]
}

fn npm(name: &str) -> Vec<String> {
    let script = folder().join("node/node_modules/@modelcontextprotocol").join(name).join("dist/index.js");
    vec!["node".to_owned(), script.display().to_string()]
}

fn python(arguments: &[&str]) -> Vec<String> {
    let interpreter = folder().join("python/.venv/bin/python").display().to_string();
    std::iter::once(interpreter).chain(arguments.iter().map(|a| (*a).to_owned())).collect()
}
