//! The JSON-RPC envelope, read over raw text.
//!
//! Promised: one reading of every message. What cannot be bound inside `params.arguments` is told apart from an
//! envelope that is wrong, since the first is an answerable call and the second is not.
//! Not promised: knowledge of any method. Unknown members of `params` are kept as they came.
//!
//!     {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"note_read","arguments":{…},"_meta":{…}}}

use crate::raw::{Object, RawError};
use counterfoil_core::json::{self, JsonError, JsonReason, MAX_BOUND, Profile};
use serde_json::Value;

/// One message of an agent host.
#[derive(Debug)]
pub enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to a request that we never send.
    Response,
}

#[derive(Debug)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Params,
}

/// A request id as it was written; a string or a number, never null.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Id(String);

/// The parameters of a request, read strictly except for arguments that have no canonical form.
#[derive(Debug)]
pub struct Params {
    text: String,
    value: Value,
    arguments: Result<(), Unbindable>,
}

/// Arguments that have no single reading, or are too large to bind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unbindable {
    pub path: String,
    pub reason: String,
}

/// Why a text is no message.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    #[error("not JSON")]
    NotJson,
    #[error("not a JSON-RPC 2.0 message: {0}")]
    NotAMessage(&'static str),
    #[error("{0}")]
    NoSingleReading(JsonError),
}

const ARGUMENTS: &str = "$.params.arguments";

impl Id {
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Params {
    /// The text of the whole `params` object, `{}` when there was none.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The strict reading; `arguments` is null in it when they cannot be bound.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.value.get("_meta")?.get(key)
    }

    pub fn arguments(&self) -> Result<(), &Unbindable> {
        self.arguments.as_ref().copied()
    }
}

/// The id and method of a text, as far as they can be read: for answers to messages that are refused.
pub fn glance(text: &str) -> (Option<Id>, Option<String>) {
    let Ok(object) = Object::read(text) else {
        return (None, None);
    };
    // Only an id that every reader reads alike is echoed.
    let id = object
        .value("id")
        .filter(|raw| json::parse(raw.as_bytes(), Profile::Foreign).is_ok())
        .and_then(|raw| read_id(raw).ok());
    let method = object.value("method").and_then(|raw| serde_json::from_str(raw).ok());
    (id, method)
}

/// The parameters of a request again, from their text.
pub fn read_params(text: &str) -> Option<Params> {
    let message = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{text}}}"#);
    match read(&message).ok()? {
        Message::Request(request) => Some(request.params),
        Message::Notification { .. } | Message::Response => None,
    }
}

pub fn read(text: &str) -> Result<Message, EnvelopeError> {
    let (value, arguments) = read_strictly(text)?;
    let object = Object::read(text).map_err(not_an_object)?;
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(EnvelopeError::NotAMessage("`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = value.get("method") else {
        let answers = value.get("result").is_some() || value.get("error").is_some();
        return match answers && value.get("id").is_some() {
            true => Ok(Message::Response),
            false => Err(EnvelopeError::NotAMessage("`method` is missing")),
        };
    };
    let Some(method) = method.as_str() else {
        return Err(EnvelopeError::NotAMessage("`method` must be a string"));
    };
    let method = method.to_owned();
    let params = value.get("params").cloned().unwrap_or_else(empty);
    if !params.is_object() {
        return Err(EnvelopeError::NotAMessage("`params` must be an object"));
    }
    let Some(id) = object.value("id") else {
        return Ok(Message::Notification { method, params });
    };
    Ok(Message::Request(Request {
        id: read_id(id)?,
        method,
        params: Params { text: object.value("params").unwrap_or("{}").to_owned(), value: params, arguments },
    }))
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Strings and numbers, as written. Null is refused, and so is what cannot be an id at all.
fn read_id(raw: &str) -> Result<Id, EnvelopeError> {
    match raw.as_bytes().first() {
        Some(b'"' | b'-' | b'0'..=b'9') => Ok(Id(raw.to_owned())),
        _ => Err(EnvelopeError::NotAMessage("`id` must be a string or a number")),
    }
}

fn not_an_object(error: RawError) -> EnvelopeError {
    match error {
        RawError::NotAnObject => EnvelopeError::NotAMessage("a message is one object"),
        // The strict reading comes first and refuses these with their path.
        RawError::Duplicate(_) => EnvelopeError::NotAMessage("a member stands twice"),
    }
}

type Reading = (Value, Result<(), Unbindable>);

fn read_strictly(text: &str) -> Result<Reading, EnvelopeError> {
    let refusal = match json::parse(text.as_bytes(), Profile::Foreign) {
        Ok(value) => {
            let bound = bound_by_size(text.len(), &value);
            return Ok((value, bound));
        }
        Err(refusal) => refusal,
    };
    if matches!(refusal.reason(), JsonReason::Syntax(_) | JsonReason::NotUtf8) {
        return Err(EnvelopeError::NotJson);
    }
    // Some place has no single reading. Read again with the arguments cut out: if that holds, they are to blame.
    let Some(rest) = without_arguments(text) else {
        return Err(EnvelopeError::NoSingleReading(refusal));
    };
    let value = json::parse(rest.as_bytes(), Profile::Foreign).map_err(EnvelopeError::NoSingleReading)?;
    let unbindable = Unbindable { path: refusal.path().to_owned(), reason: refusal.reason().to_string() };
    Ok((value, Err(unbindable)))
}

fn without_arguments(text: &str) -> Option<String> {
    let message = Object::read(text).ok()?;
    let params = Object::read(message.value("params")?).ok()?;
    params.value("arguments")?;
    Some(message.with("params", &params.with("arguments", "null")))
}

fn bound_by_size(length: usize, message: &Value) -> Result<(), Unbindable> {
    let Some(arguments) = message.get("params").and_then(|p| p.get("arguments")) else {
        return Ok(());
    };
    match arguments {
        Value::Null | Value::Object(_) => {}
        _ => {
            return Err(Unbindable { path: ARGUMENTS.into(), reason: "arguments are one object".into() });
        }
    }
    // The canonical form is at most eight times the text (`1e20` becomes 21 digits), so most calls skip this.
    if length * 8 > MAX_BOUND && json::canonical(arguments).len() > MAX_BOUND {
        return Err(Unbindable { path: ARGUMENTS.into(), reason: format!("larger than {MAX_BOUND} bytes") });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        match read(text).expect("a message") {
            Message::Request(request) => request,
            other => panic!("{other:?} is no request"),
        }
    }

    #[test]
    fn ids_and_parameters_are_kept_as_written() {
        let text = r#"{"params":{"name":"a", "x" : 1e2},"id":2.0,"method":"tools/call","jsonrpc":"2.0"}"#;

        let request = request(text);

        assert_eq!(request.id.text(), "2.0");
        assert_eq!(request.params.text(), r#"{"name":"a", "x" : 1e2}"#);
        assert!(request.params.arguments().is_ok());
    }

    #[test]
    fn arguments_that_cannot_be_bound_leave_the_envelope_readable() {
        for (arguments, path, reason) in [
            (
                r#"{"a":{"n":123456789012345678901234567890}}"#,
                "$.params.arguments.a.n",
                "integer beyond ±(2^53−1)",
            ),
            (r#"{"a":1,"a":2}"#, "$.params.arguments.a", "duplicate key"),
            (r#"{"a":1e999}"#, "$.params.arguments.a", "number is not a finite double"),
            (r#"[1]"#, "$.params.arguments", "arguments are one object"),
        ] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            );

            let request = request(&text);

            let refused = request.params.arguments().expect_err(arguments);
            assert_eq!(refused.path, path);
            assert_eq!(refused.reason, reason);
            assert_eq!(request.params.value()["name"], "t");
        }
    }

    #[test]
    fn an_envelope_without_a_single_reading_is_refused_with_its_path() {
        for (text, path) in [
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "$.id"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b","arguments":{}}}"#,
                "$.params.name",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"\ud800"}}}"#,
                "$.params._meta.x",
            ),
        ] {
            match read(text) {
                Err(EnvelopeError::NoSingleReading(error)) => assert_eq!(error.path(), path),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for text in [
            "[]",
            "1",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        ] {
            assert!(matches!(read(text), Err(EnvelopeError::NotAMessage(_))), "{text}");
        }
        assert!(matches!(read("{"), Err(EnvelopeError::NotJson)));
    }
}
