//! JSON-RPC as far as this provider needs it.

use counterfoil_core::json::{self, Profile};
use serde_json::{Value, json};

/// Legacy revisions that the provider speaks, oldest first.
const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

pub struct Request {
    /// None for a notification.
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

impl Request {
    /// A line that is no request comes back as the error to answer with.
    pub fn parse(line: &[u8]) -> Result<Self, Value> {
        let message = json::parse(line, Profile::Foreign)
            .map_err(|refusal| error(&Value::Null, -32700, &refusal.to_string(), Value::Null))?;
        let method = message["method"].as_str();
        let method = method.ok_or_else(|| error(&message["id"], -32600, "no method", Value::Null))?;
        Ok(Self {
            id: message.get("id").filter(|id| id.is_string() || id.is_number()).cloned(),
            method: method.to_owned(),
            params: message.get("params").cloned().unwrap_or(Value::Null),
        })
    }
}

/// The answer to `initialize`: the revision asked for, or else our newest.
pub fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let [.., newest] = REVISIONS;
    let agreed = REVISIONS.into_iter().find(|revision| *revision == asked).unwrap_or(newest);
    json!({
        "protocolVersion": agreed,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "counterfoil-demo-provider", "version": env!("CARGO_PKG_VERSION") },
    })
}

pub fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub fn error(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
