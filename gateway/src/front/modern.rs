//! The era without sessions: revision 2026-07-28. Every request says for itself what it is.
//!
//! Promised: the body decides; headers that contradict it, or are missing where the revision wants them, are refused
//! with -32020. On `/stdio`, where the other side of the bridge has no headers, they may be missing.

use super::endpoint::Exchange;
use super::headers::{Said, said};
use super::refusal::{HEADER_MISMATCH, INVALID_PARAMS, Refusal, UNSUPPORTED_REVISION};
use super::reply::{self, Era};
use super::{list, methods, parameters, tasks};
use crate::envelope::Request;
use crate::holds::Manner;
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::id::ToolName;
use counterfoil_core::statement::Origin;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub const REVISION: &str = "2026-07-28";
const META_REVISION: &str = "io.modelcontextprotocol/protocolVersion";
/// The extension by which a held call becomes a task.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// What we say about ourselves may be kept for an hour.
const DISCOVER_TTL_MILLIS: u32 = 3_600_000;

/// Whether a request is of this era: by its own word, or by a method or header that no other era has.
pub fn is_meant(exchange: &Exchange, request: &Request) -> bool {
    let by_header = match said(&exchange.headers, "mcp-protocol-version") {
        // Revisions are dates, so they sort.
        Said::Text(revision) => revision.as_str() >= REVISION && request.method != "initialize",
        Said::Nothing | Said::Garbled => false,
    };
    request.params.meta(META_REVISION).is_some() || request.method == "server/discover" || by_header
}

pub async fn answer(exchange: &Exchange, request: Request) -> Result<Response, Refusal> {
    check(exchange, &request)?;
    match request.method.as_str() {
        "server/discover" => Ok(discover(exchange, &request).await),
        "tools/list" => list::tools(exchange, &request, Era::Modern).await,
        "tools/call" => {
            check_parameters(exchange, &request).await?;
            let given_up = CancellationToken::new();
            let manner = manner(&request);
            methods::call_tool(exchange, request, (Era::Modern, manner), given_up).await
        }
        "tasks/get" | "tasks/update" | "tasks/cancel" => tasks::answer(exchange, &request).await,
        _ => Err(Refusal::method_not_found(StatusCode::NOT_FOUND)),
    }
}

fn check(exchange: &Exchange, request: &Request) -> Result<(), Refusal> {
    let Some(Value::String(revision)) = request.params.meta(META_REVISION) else {
        return Err(missing(META_REVISION));
    };
    agree(exchange, "MCP-Protocol-Version", revision)?;
    agree(exchange, "Mcp-Method", &request.method)?;
    if revision != REVISION {
        return Err(Refusal::bad(UNSUPPORTED_REVISION, "unsupported protocol version")
            .with(json!({"supported": [REVISION], "requested": revision})));
    }
    if !matches!(request.params.meta(META_CAPABILITIES), Some(Value::Object(_))) {
        return Err(missing(META_CAPABILITIES));
    }
    let member = match request.method.as_str() {
        "tools/call" => "name",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    match request.params.value().get(member).and_then(Value::as_str) {
        Some(name) => agree(exchange, "Mcp-Name", name),
        None => Ok(()),
    }
}

/// Only the provider's schema says which arguments have a header. Where it is away the call ends elsewhere.
async fn check_parameters(exchange: &Exchange, request: &Request) -> Result<(), Refusal> {
    if exchange.origin == Origin::Stdio {
        return Ok(());
    }
    let params = request.params.value();
    let (Some(name), Some(arguments)) = (params.get("name").and_then(Value::as_str), params.get("arguments"))
    else {
        return Ok(());
    };
    let Some((provider, name)) = exchange.address.find(name) else {
        return Ok(());
    };
    let Ok(catalogue) = methods::catalogue_of(&exchange.house, exchange.caller.holder(), provider).await
    else {
        return Ok(());
    };
    // What its headers should be would tell that a hidden tool exists.
    let control = exchange.caller.project.control.known();
    let hidden =
        |tool: &ToolName| control.as_ref().is_none_or(|c| c.hides(&provider.id, tool, exchange.caller.agent));
    let disagreement = catalogue
        .tool(name)
        .filter(|tool| !hidden(&tool.name))
        .and_then(|tool| parameters::disagreement(&tool.input_schema, arguments, &exchange.headers));
    match disagreement {
        None => Ok(()),
        Some((header, how)) => Err(mismatch(&header, how)),
    }
}

fn agree(exchange: &Exchange, header: &'static str, body: &str) -> Result<(), Refusal> {
    match said(&exchange.headers, header) {
        Said::Text(text) if text == body => Ok(()),
        Said::Nothing if exchange.origin == Origin::Stdio => Ok(()),
        Said::Text(_) => Err(mismatch(header, "says something else than the body")),
        Said::Nothing => Err(mismatch(header, "is missing")),
        Said::Garbled => Err(mismatch(header, "cannot be read")),
    }
}

fn mismatch(header: &str, how: &str) -> Refusal {
    Refusal::bad(HEADER_MISMATCH, format!("`{header}` {how}"))
}

fn missing(key: &str) -> Refusal {
    Refusal::bad(INVALID_PARAMS, format!("`_meta[\"{key}\"]` is missing or of another type"))
}

async fn discover(exchange: &Exchange, request: &Request) -> Response {
    let instructions = list::instructions(exchange, exchange.caller.holder()).await;
    let text = format!(
        r#"{{"resultType":"complete","supportedVersions":["{REVISION}"],"capabilities":{{"tools":{{}},"extensions":{{"{TASKS}":{{}}}}}}{instructions},"ttlMs":{DISCOVER_TTL_MILLIS},"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
        methods::server_info(exchange)
    );
    reply::result(&request.id, &text)
}

/// How its caller waits for a person, where it takes no task.
fn manner(request: &Request) -> Manner {
    Manner::Rounds { shows_pages: declares(request, &["elicitation", "url"]) }
}

/// Whether this very request declares a capability; what an earlier one declared counts for nothing.
pub fn declares(request: &Request, path: &[&str]) -> bool {
    let capabilities = request.params.meta(META_CAPABILITIES);
    let declared = path.iter().fold(capabilities, |at, name| at.and_then(|at| at.get(name)));
    declared.is_some_and(Value::is_object)
}
