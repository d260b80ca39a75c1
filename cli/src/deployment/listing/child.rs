//! A provider's process, started once to be asked for its list.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use counterfoil_core::json::{self, Profile};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::deployment::providers::ProviderPlan;

/// What a child of the gateway sees of our environment.
const INHERITED: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];

/// No provider lists this often.
const MOST_PAGES: usize = 100;

/// Starts it, asks in the legacy era, and stops it.
pub async fn ask(provider: &ProviderPlan) -> anyhow::Result<Vec<Value>> {
    let mut conversation = Conversation::begin(provider)?;
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "counterfoil", "version": env!("CARGO_PKG_VERSION") },
    });
    conversation.request("initialize", hello).await?;
    conversation.notify("notifications/initialized").await?;

    let mut tools = Vec::new();
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let mut page = conversation.request("tools/list", params).await?;
        match page["tools"].take() {
            Value::Array(listed) => tools.extend(listed),
            _ => bail!("the provider's list of tools is no list"),
        }
        match page["nextCursor"].take() {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => {
                conversation.end().await;
                return Ok(tools);
            }
        }
    }
    bail!("the provider's list of tools has no end")
}

struct Conversation {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<tokio::io::Take<ChildStdout>>>,
    next_id: u64,
}

impl Conversation {
    fn begin(provider: &ProviderPlan) -> anyhow::Result<Self> {
        let (program, arguments) = provider.command.split_first().context("the provider has no command")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&provider.env);
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name).filter(|_| !provider.env.contains_key(name)) {
                command.env(name, value);
            }
        }
        command.current_dir(provider.folder.as_deref().unwrap_or(Path::new(".")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("`{program}` did not start"))?;
        let input = child.stdin.take().context("the provider has no standard input")?;
        let output = child.stdout.take().context("the provider has no standard output")?;
        // 64 MiB is more than any list of tools, and keeps a provider that never stops out of our memory.
        let output = BufReader::new(output.take(64 << 20)).lines();
        Ok(Self { child, input, output, next_id: 0 })
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        while let Some(line) = self.output.next_line().await? {
            let Ok(mut message) = json::parse(line.as_bytes(), Profile::Foreign) else { continue };
            // The provider may notify us, or ask something of its own, in between.
            if message["id"] != json!(id) || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("the provider refused `{method}`: {}", error["message"]);
            }
            return Ok(message["result"].take());
        }
        bail!("the provider ended before it answered `{method}`")
    }

    async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method })).await
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// A well-behaved provider ends when its input does; another is killed when the value is dropped.
    async fn end(mut self) {
        drop(self.input);
        drop(tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await);
    }
}
