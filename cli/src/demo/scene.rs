//! The demo's scene: a running deployment, a client, and what it has seen so far.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use counterfoil_core::id::ProjectId;
use counterfoil_core::receipt::ReceiptRef;
use counterfoil_core::statement::Verdict;
use serde_json::{Value, json};

use super::Shown;
use super::client::Client;
use super::governed::{SOMEBODY, letter};
use crate::deployment::Folder;
use crate::deployment::source::{DEMO_PROVIDER, demo_log, demo_sandbox};
use crate::deployment::standing::Standing;

const RECEIPT: &str = "dev.counterfoil/receipt";

/// A note that the demo's rules let everybody read.
pub(super) const WELCOME: &str = "/notes/welcome.txt";

pub struct Scene {
    pub(super) folder: Folder,
    pub(super) project: ProjectId,
    pub(super) client: Client,
    pub(super) http: reqwest::Client,
    pub(super) evidence_url: String,
    pub(super) gateway_url: String,
    pub(super) page_path: String,
    pub(super) provider: Vec<String>,
    pub(super) seen: Vec<ReceiptRef>,
}

impl Scene {
    pub async fn open(standing: &Standing, folder: &Folder) -> anyhow::Result<Self> {
        let key = standing.api_key.as_ref().context("the demo needs a deployment of its own")?;
        let gateway_url = standing.ports.gateway_url();
        let id = DEMO_PROVIDER.parse()?;
        let plan = standing.providers.get(&id).context("the demo's provider is not configured")?;
        Ok(Self {
            folder: folder.clone(),
            project: standing.record.id,
            client: Client::connect(&format!("{gateway_url}/mcp/{DEMO_PROVIDER}"), key).await?,
            http: super::client::http(key)?,
            evidence_url: standing.ports.evidence_url(),
            gateway_url,
            page_path: standing.record.issuer.page_path(),
            provider: plan.command.clone(),
            seen: Vec::new(),
        })
    }

    pub async fn list_tools(&mut self) -> Shown {
        let listed = self.client.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().context("no list of tools")?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        ensure!(names.contains(&"note_read") && names.contains(&"mail_send"), "listed: {names:?}");
        Ok(names.join(" "))
    }

    pub async fn allowed_call(&mut self) -> Shown {
        let written = fs::read_to_string(demo_sandbox(&self.folder).join("notes/welcome.txt"))?;
        let (result, reference) = self.call("note_read", json!({ "path": WELCOME })).await?;
        ensure!(reference.verdict == Verdict::Allow, "verdict {}", reference.verdict);
        ensure!(result["isError"] != true, "the tool failed: {}", text(&result));
        ensure!(text(&result) == written, "another text came back: {}", text(&result));
        Ok(format!("note_read {WELCOME}: {}", place(&reference)))
    }

    pub async fn denied_call(&mut self) -> Shown {
        let (result, reference) = self.call("note_delete", json!({ "path": WELCOME })).await?;
        ensure!(reference.verdict == Verdict::Deny, "verdict {}", reference.verdict);
        ensure!(result["isError"] == true, "a denied call looked like a success");
        ensure!(demo_sandbox(&self.folder).join("notes/welcome.txt").exists(), "the note is gone");
        Ok(format!("note_delete {WELCOME}: {}: {}", place(&reference), text(&result)))
    }

    pub async fn held_call(&mut self) -> Shown {
        let (result, reference) = self.call("mail_send", letter(SOMEBODY, "hello")).await?;
        ensure!(reference.verdict == Verdict::StepUp, "verdict {}", reference.verdict);
        ensure!(result["isError"] == true, "a held call looked like a success");
        let sent = fs::read_dir(demo_sandbox(&self.folder).join("outbox"))?.count();
        ensure!(sent == 0, "a letter was sent");
        Ok(format!("mail_send: {}: {}", place(&reference), text(&result)))
    }

    pub fn only_the_allowed_call_reached_the_provider(&self) -> Shown {
        let log = demo_log(&self.folder);
        let lines = fs::read_to_string(&log)?;
        let lines: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let allowed = self.seen.iter().find(|reference| reference.verdict == Verdict::Allow);
        let allowed = allowed.context("nothing was allowed")?;
        match lines.as_slice() {
            [line] if line["decision"] == json!(allowed.digest) => {
                Ok(format!("one call, under the decision that allowed it ({})", log.display()))
            }
            lines => bail!("the provider executed {} calls: {lines:?}", lines.len()),
        }
    }

    /// One call, and the reference to its receipt.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<(Value, ReceiptRef)> {
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.client.request("tools/call", params).await?;
        let reference = result["_meta"].get(RECEIPT).context("no receipt came with the result")?;
        let reference: ReceiptRef = serde_json::from_value(reference.clone())?;
        self.seen.push(reference.clone());
        Ok((result, reference))
    }

    /// Where receipts and pinned keys of this demo are kept.
    pub fn kept(&self) -> PathBuf {
        self.folder.path().join("receipts")
    }
}

pub(super) fn place(reference: &ReceiptRef) -> String {
    format!("{}, entry {}", reference.verdict, reference.seq)
}

pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
