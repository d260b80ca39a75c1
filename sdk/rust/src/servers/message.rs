//! One JSON-RPC message at the door, and its answer on the way out.

use super::LARGEST_MESSAGE;
use crate::capability::{Admitted, EXECUTION, Guard, Params, REFUSED, Refusal, RefusalCode};
use counterfoil_core::json::{self, JsonError, Profile};
use serde_json::{Map, Value, json};

/// What becomes of a message.
pub(super) enum Judged {
    /// No tool call: it passes as it is.
    Other,
    Admitted {
        id: Value,
        call: Admitted,
    },
    Refused(Value),
    /// A tool call that wants no answer: it is neither run nor answered.
    Dropped,
}

pub(super) fn read(bytes: &[u8]) -> Result<Value, Value> {
    json::parse_within(bytes, Profile::Foreign, LARGEST_MESSAGE).map_err(|error| unreadable(&error))
}

fn unreadable(error: &JsonError) -> Value {
    let data = json!({ "path": error.path(), "reason": error.reason().to_string() });
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": error.to_string(), "data": data } })
}

/// `message` came out of [`read`].
pub(super) async fn judge(mut message: Value, guard: &Guard, header: Option<&str>) -> Judged {
    if let Some(batch) = message.as_array() {
        return match batch.iter().any(is_tool_call) {
            true => Judged::Refused(refused(&Value::Null, &guard.refuse(RefusalCode::Batch))),
            false => Judged::Other,
        };
    }
    if !is_tool_call(&message) {
        return Judged::Other;
    }
    let id = message["id"].take();
    if !id.is_string() && !id.is_number() {
        return Judged::Dropped;
    }
    match guard.admit(Params::of(message["params"].take()), header).await {
        Ok(call) => Judged::Admitted { id, call },
        Err(refusal) => Judged::Refused(refused(&id, &refusal)),
    }
}

pub(super) fn is_tool_call(message: &Value) -> bool {
    message.get("method").is_some_and(|method| method == "tools/call")
}

fn refused(id: &Value, refusal: &Refusal) -> Value {
    let data = json!({ "reason": refusal.code().as_str() });
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": REFUSED, "message": refusal.to_string(), "data": data } })
}

/// What a text on the way out is.
pub(super) enum Answered {
    /// No answer to this call.
    NotOurs,
    /// The answer, and it leaves as it came: it cannot carry a statement, or there is none.
    AsItCame,
    With(Vec<u8>),
}

/// Signs for the answer, and puts the statement into it.
pub(super) async fn answered(text: &[u8], id: &Value, call: &Admitted) -> Answered {
    match json::parse(text, Profile::Foreign) {
        Ok(message) if is_answer(&message, id) => with_statement(message, call).await,
        Ok(_) => Answered::NotOurs,
        // Without a single reading it leaves as it came, and its result is compared with nothing.
        Err(_) => match serde_json::from_slice::<Value>(text) {
            Ok(message) if is_answer(&message, id) => {
                call.executed_unbound(&message["result"]).await;
                Answered::AsItCame
            }
            Ok(_) | Err(_) => Answered::NotOurs,
        },
    }
}

fn is_answer(message: &Value, id: &Value) -> bool {
    message.is_object() && message.get("method").is_none() && message.get("id") == Some(id)
}

async fn with_statement(mut message: Value, call: &Admitted) -> Answered {
    let Some(result) = message.get_mut("result").filter(|result| result.is_object()) else {
        let code = message["error"]["code"].as_i64();
        call.failed(&code.map_or_else(|| "error".to_owned(), |code| format!("rpc_{code}"))).await;
        return Answered::AsItCame;
    };
    let Some(statement) = call.executed_value(result).await else { return Answered::AsItCame };
    let statement: Value = serde_json::from_slice(statement.bytes()).unwrap_or_default();
    if !result["_meta"].is_object() {
        result["_meta"] = Value::Object(Map::new());
    }
    result["_meta"][EXECUTION] = statement;
    Answered::With(message.to_string().into_bytes())
}
