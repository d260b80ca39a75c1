//! An agent host, as far as the wire goes.

use super::world::KEY;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone)]
pub struct Host {
    client: Client,
    base: String,
    key: String,
    session: Option<String>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub session: Option<String>,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub fn result(&self) -> Value {
        self.json()["result"].clone()
    }

    pub fn error(&self) -> Value {
        self.json()["error"].clone()
    }

    pub fn receipt(&self) -> Value {
        self.result()["_meta"]["dev.counterfoil/receipt"].clone()
    }

    /// The words that the agent reads.
    pub fn words(&self) -> String {
        self.result()["content"][0]["text"].as_str().unwrap_or("").to_owned()
    }
}

impl Host {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            client: Client::builder().no_proxy().build().expect("a client"),
            base: format!("http://{address}"),
            key: KEY.into(),
            session: None,
        }
    }

    pub fn with_key(&self, key: &str) -> Self {
        Self { key: key.into(), session: None, ..self.clone() }
    }

    pub fn with_session(&self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..self.clone() }
    }

    pub async fn wait_until_ready(&self) {
        for _ in 0..500 {
            if self.get("/readyz").await.status == StatusCode::OK {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the gateway did not get ready");
    }

    pub async fn get(&self, path: &str) -> Reply {
        read(self.client.get(format!("{}{path}", self.base))).await
    }

    /// A bare request under our key, by any method.
    pub fn ask(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }

    /// A request to be changed before it is sent.
    pub fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(&self.key)
            .body(body);
        match &self.session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    pub async fn delete(&self, path: &str) -> Reply {
        let request = self.client.delete(format!("{}{path}", self.base)).bearer_auth(&self.key);
        read(request.header("mcp-session-id", self.session.clone().unwrap_or_default())).await
    }

    pub async fn say(&self, body: impl Into<String>) -> Reply {
        read(self.post("/mcp/notes", body.into())).await
    }

    /// `initialize`, and the host that goes on in the session it opened.
    pub async fn initialize(&self) -> Self {
        let reply = self
            .say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#)
            .await;
        self.with_session(&reply.session.expect("a session"))
    }

    /// A legacy call with these arguments.
    pub async fn call(&self, tool: &str, arguments: &str) -> Reply {
        self.say(call(tool, arguments)).await
    }
}

pub fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

pub async fn read(request: RequestBuilder) -> Reply {
    let response: Response = request.send().await.expect("an answer");
    let session = response.headers().get("mcp-session-id");
    Reply {
        status: response.status(),
        session: session.map(|value| value.to_str().expect("text").to_owned()),
        text: response.text().await.expect("a body"),
    }
}
