//! Providers that speak over HTTP, one of each era, that write down what they were sent.

use super::provider;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// 2026-07-28, in JSON; wants its headers.
    Modern,
    /// 2025-11-25, in streams, with a session; asks for sampling before it answers a call.
    Legacy,
    /// 2025-03-26, in JSON, without a session.
    Oldest,
    /// As `Legacy`, and its streams end in the middle of calls.
    Breaking,
    /// Sends everybody somewhere else.
    Redirecting,
    /// Knows nobody: 401.
    Closed,
    /// Takes everything and says nothing.
    Silent,
}

pub struct Remote {
    kind: Kind,
    pub url: String,
    seen: Mutex<Vec<(HeaderMap, Value)>>,
    /// Set to make it forget its sessions.
    pub forgetful: std::sync::atomic::AtomicBool,
}

impl Remote {
    pub async fn start(kind: Kind) -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let remote = Arc::new(Self { kind, url, seen: Mutex::default(), forgetful: false.into() });
        let router = Router::new().route("/{*all}", any(answer)).with_state(remote.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        remote
    }

    /// Headers and messages, in order; a DELETE is a message `null`.
    pub fn seen(&self) -> Vec<(HeaderMap, Value)> {
        self.seen.lock().expect("no holder panics").clone()
    }

    pub fn calls(&self) -> Vec<(HeaderMap, Value)> {
        self.seen().into_iter().filter(|(_, message)| message["method"] == "tools/call").collect()
    }
}

async fn answer(
    State(remote): State<Arc<Remote>>,
    method: Method,
    headers: HeaderMap,
    body: String,
) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    remote.seen.lock().expect("no holder panics").push((headers.clone(), message.clone()));
    if method == Method::DELETE {
        return StatusCode::NO_CONTENT.into_response();
    }
    match remote.kind {
        Kind::Redirecting => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/elsewhere")]).into_response()
        }
        Kind::Closed => StatusCode::UNAUTHORIZED.into_response(),
        Kind::Silent => std::future::pending().await,
        Kind::Modern => modern(&headers, &message),
        Kind::Legacy | Kind::Breaking | Kind::Oldest => legacy(&remote, &headers, &message).await,
    }
}

fn said<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn modern(headers: &HeaderMap, message: &Value) -> Response {
    let method = message["method"].as_str().unwrap_or_default();
    let meta = &message["params"]["_meta"];
    let agrees = said(headers, "mcp-protocol-version") == "2026-07-28"
        && said(headers, "mcp-method") == method
        && meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        && meta["io.modelcontextprotocol/clientCapabilities"].is_object();
    if !agrees || headers.contains_key("mcp-session-id") {
        let error =
            json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32020, "message": "headers"}});
        return json_text(StatusCode::BAD_REQUEST, &error.to_string());
    }
    let result = match method {
        "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "instructions": "be modern", "ttlMs": 0, "cacheScope": "private"})
        .to_string(),
        "tools/list" => listed(),
        "tools/call" if said(headers, "mcp-name") == message["params"]["name"] => called(),
        _ => return json_text(StatusCode::NOT_FOUND, &unknown(message)),
    };
    json_text(StatusCode::OK, &result_of(message, &result))
}

async fn legacy(remote: &Remote, headers: &HeaderMap, message: &Value) -> Response {
    let oldest = remote.kind == Kind::Oldest;
    let (session, revision) = match oldest {
        true => ("", ""),
        false => ("a-session", "2025-11-25"),
    };
    let method = message["method"].as_str().unwrap_or_default();
    if method == "initialize" {
        let revision = if oldest { "2025-03-26" } else { "2025-11-25" };
        let result = json!({"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"},
            "instructions": "be old"});
        let text = result_of(message, &result.to_string());
        let response = if oldest { json_text(StatusCode::OK, &text) } else { stream(vec![text]) };
        return match oldest {
            true => response,
            false => ([("mcp-session-id", session)], response).into_response(),
        };
    }
    let forgot = remote.forgetful.load(std::sync::atomic::Ordering::Relaxed);
    if said(headers, "mcp-session-id") != session
        || said(headers, "mcp-protocol-version") != revision
        || forgot
    {
        // As the TypeScript SDK answers whatever it has no session for.
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
        return json_text(StatusCode::BAD_REQUEST, error);
    }
    match method {
        "tools/list" => in_its_way(oldest, result_of(message, &listed())),
        "tools/call" if remote.kind == Kind::Breaking => stream(vec![]),
        "tools/call" if message["params"]["name"] == "slow" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            StatusCode::OK.into_response()
        }
        "tools/call" if oldest => in_its_way(oldest, result_of(message, &called())),
        "tools/call" => stream(vec![
            r#"{"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage","params":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#.to_owned(),
            result_of(message, &called()),
        ]),
        _ if message.get("id").is_none() || message.get("method").is_none() => {
            StatusCode::ACCEPTED.into_response()
        }
        _ => json_text(StatusCode::OK, &unknown(message)),
    }
}

fn in_its_way(oldest: bool, text: String) -> Response {
    if oldest { json_text(StatusCode::OK, &text) } else { stream(vec![text]) }
}

fn result_of(message: &Value, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, message["id"])
}

fn unknown(message: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        .to_string()
}

fn listed() -> String {
    json!({"tools": provider::tools()}).to_string()
}

fn called() -> String {
    provider::RESULT.to_owned()
}

fn json_text(status: StatusCode, text: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text.to_owned()).into_response()
}

fn stream(messages: Vec<String>) -> Response {
    let text: String = messages.iter().map(|m| format!("event: message\ndata: {m}\n\n")).collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], format!(": begin\n\n{text}")).into_response()
}
