//! An agent that speaks raw MCP (2026-07-28) and sees the very bytes that come back.

use anyhow::Context;
use serde_json::{Value, json};
use std::time::Duration;

const REVISION: &str = "2026-07-28";

/// HTTP without a runtime of the caller's, for tests that are plain functions.
pub struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("{}: {}", self.status, self.text()))
    }

    /// The text that the agent's model reads.
    pub fn says(&self) -> anyhow::Result<String> {
        let body = self.json()?;
        let text = body["result"]["content"][0]["text"].as_str();
        Ok(text.with_context(|| format!("no text in {body}"))?.to_owned())
    }

    pub fn is_error(&self) -> anyhow::Result<bool> {
        Ok(self.json()?["result"]["isError"] == true)
    }

    /// What `_meta["dev.counterfoil/receipt"]` holds, on results and on errors.
    pub fn receipt(&self) -> anyhow::Result<Value> {
        let body = self.json()?;
        let on_result = &body["result"]["_meta"]["dev.counterfoil/receipt"];
        let on_error = &body["error"]["data"]["dev.counterfoil/receipt"];
        Ok(if on_result.is_null() { on_error.clone() } else { on_result.clone() })
    }
}

impl Http {
    pub fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // The services hang up on what was idle for a minute, and nobody here looks between two requests.
        let idle = Duration::from_secs(20);
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60));
        Ok(Self { runtime, client: client.pool_idle_timeout(idle).build()? })
    }

    pub fn get(&self, url: &str, key: Option<&str>) -> anyhow::Result<Answer> {
        let request = self.client.get(url);
        self.send(match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        })
    }

    pub fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Answer> {
        self.runtime.block_on(async {
            let answer = request.send().await?;
            let status = answer.status().as_u16();
            Ok(Answer { status, body: answer.bytes().await?.to_vec() })
        })
    }
}

/// One API key at one provider.
#[derive(Clone)]
pub struct Agent {
    url: String,
    key: String,
}

impl Agent {
    pub fn new(url: String, key: &str) -> Self {
        Self { url, key: key.to_owned() }
    }

    /// The request for one call. `arguments` is JSON text, sent as it stands.
    pub fn request(&self, http: &Http, tool: &str, arguments: &str, want: Want) -> reqwest::RequestBuilder {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if want == Want::Full {
            meta["dev.counterfoil/want"] = json!("full");
        }
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":{},"arguments":{arguments},"_meta":{meta}}}}}"#,
            json!(tool)
        );
        http.client
            .post(&self.url)
            .bearer_auth(&self.key)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", REVISION)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .body(body)
    }

    /// What it is shown.
    pub fn list(&self, http: &Http) -> anyhow::Result<Answer> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": { "_meta": meta } });
        let request = http.client.post(&self.url).bearer_auth(&self.key);
        http.send(
            request
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", REVISION)
                .header("mcp-method", "tools/list")
                .body(body.to_string()),
        )
    }

    pub fn call(&self, http: &Http, tool: &str, arguments: &str) -> anyhow::Result<Answer> {
        http.send(self.request(http, tool, arguments, Want::Reference))
    }

    pub fn call_for_receipt(&self, http: &Http, tool: &str, arguments: &str) -> anyhow::Result<Answer> {
        http.send(self.request(http, tool, arguments, Want::Full))
    }
}

/// How much of a receipt an agent asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Want {
    Reference,
    Full,
}
