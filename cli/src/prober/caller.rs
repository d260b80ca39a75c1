//! An MCP client as small as a probe needs it: Streamable HTTP, introduced in a legacy revision where the server wants that.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::remote;

const REVISION: &str = "2025-06-18";
/// A refusal is quick, and no longer than this many bytes.
const WITHIN: Duration = Duration::from_secs(20);
const LARGEST: usize = 1 << 20;
const SESSION: &str = "mcp-session-id";

pub enum Answer {
    /// The tool was called, whatever it said.
    Result,
    Error(Value),
    /// Nothing that can be read, and why.
    Nothing(String),
}

pub struct Caller {
    client: Client,
    url: String,
    session: Option<HeaderValue>,
    last_id: u64,
}

impl Caller {
    /// Introduces itself. A server that knows no introductions is asked without one.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        let mut caller =
            Self { client: remote::client(None)?, url: remote::address(url)?, session: None, last_id: 0 };
        let params = json!({
            "protocolVersion": REVISION, "capabilities": {},
            "clientInfo": { "name": "counterfoil-provider-check", "version": env!("CARGO_PKG_VERSION") },
        });
        let (_, session) = caller.exchange("initialize", Some(&params)).await?;
        caller.session = session;
        caller.exchange("notifications/initialized", None).await?;
        Ok(caller)
    }

    /// One `tools/call`.
    pub async fn call(&mut self, params: &Value) -> Answer {
        match self.exchange("tools/call", Some(params)).await {
            Ok((Some(answer), _)) => match (answer.get("result"), answer.get("error")) {
                (None, Some(error)) => Answer::Error(error.clone()),
                (Some(_), None) => Answer::Result,
                _ => Answer::Nothing("no answer of JSON-RPC".to_owned()),
            },
            Ok((None, _)) => Answer::Nothing("no answer of JSON-RPC".to_owned()),
            Err(error) => Answer::Nothing(format!("{error:#}")),
        }
    }

    async fn exchange(
        &mut self,
        method: &str,
        params: Option<&Value>,
    ) -> anyhow::Result<(Option<Value>, Option<HeaderValue>)> {
        self.last_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = params {
            message["id"] = json!(self.last_id);
            message["params"] = params.clone();
        }
        let mut request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .timeout(WITHIN)
            .body(message.to_string());
        if method != "initialize" {
            request = request.header("mcp-protocol-version", REVISION);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        let mut answer = request.send().await?;
        let session = answer.headers().get(SESSION).cloned();
        if answer.status() == StatusCode::ACCEPTED || params.is_none() {
            return Ok((None, session));
        }
        let is_stream = answer
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            bytes.extend_from_slice(&chunk);
            anyhow::ensure!(bytes.len() <= LARGEST, "an answer of more than {LARGEST} bytes");
            if let Some(found) = read(&bytes, is_stream, self.last_id) {
                return Ok((Some(found), session));
            }
        }
        Ok((None, session))
    }
}

/// The answer to this request, once it is there.
fn read(bytes: &[u8], is_stream: bool, id: u64) -> Option<Value> {
    let ours =
        |text: &[u8]| serde_json::from_slice::<Value>(text).ok().filter(|answer| answer["id"] == json!(id));
    if !is_stream {
        return ours(bytes);
    }
    let mut events = bytes.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    events.find_map(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_out_of_a_document_or_a_stream() {
        assert!(read(br#"{"id":2,"result":{}}"#, false, 2).is_some());
        assert!(read(br#"{"id":3,"result":{}}"#, false, 2).is_none());
        let stream = b"event: message\r\ndata: {\"method\":\"notifications/message\"}\r\n\r\ndata: {\"id\":2,\"error\":{\"code\":1}}\r\n\r\n";
        assert_eq!(read(stream, true, 2).map(|answer| answer["error"]["code"].clone()), Some(json!(1)));
        assert!(read(&stream[..60], true, 2).is_none());
    }
}
