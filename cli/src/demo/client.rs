//! A small MCP client over HTTP, in the legacy era, as many hosts are.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

const REVISION: &str = "2025-11-25";

pub struct Client {
    http: reqwest::Client,
    address: String,
    session: Option<HeaderValue>,
    next_id: u64,
}

/// An HTTP client that sends this API key and goes nowhere but where it is told.
pub fn http(key: &str) -> anyhow::Result<reqwest::Client> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))?;
    value.set_sensitive(true);
    let headers = HeaderMap::from_iter([
        (AUTHORIZATION, value),
        (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
    ]);
    let builder = reqwest::Client::builder().default_headers(headers).no_proxy();
    let builder = builder.redirect(reqwest::redirect::Policy::none()).timeout(Duration::from_secs(60));
    Ok(builder.build()?)
}

impl Client {
    pub async fn connect(address: &str, key: &str) -> anyhow::Result<Self> {
        let mut client = Self { http: http(key)?, address: address.to_owned(), session: None, next_id: 0 };
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "counterfoil-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = client.request("initialize", hello).await?;
        if answer["protocolVersion"] != REVISION {
            bail!("the gateway agreed on revision {}", answer["protocolVersion"]);
        }
        client.notify("notifications/initialized").await?;
        Ok(client)
    }

    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.post(&message).await?;
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = Some(session.clone());
        }
        let status = answer.status();
        let text = answer.text().await?;
        let mut answer: Value =
            serde_json::from_str(&text).with_context(|| format!("HTTP {status} without JSON: {text}"))?;
        if let Some(error) = answer.get("error") {
            bail!("{method}: {error}");
        }
        if answer["id"] != json!(id) {
            bail!("{method}: an answer with another id: {text}");
        }
        Ok(answer["result"].take())
    }

    async fn notify(&self, method: &str) -> anyhow::Result<()> {
        let answer = self.post(&json!({ "jsonrpc": "2.0", "method": method })).await?;
        match answer.status().is_success() {
            true => Ok(()),
            false => bail!("{method}: HTTP {}", answer.status()),
        }
    }

    async fn post(&self, message: &Value) -> anyhow::Result<reqwest::Response> {
        let mut request = self.http.post(&self.address).json(message);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", REVISION);
        }
        Ok(request.send().await?)
    }
}
