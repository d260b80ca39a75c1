//! Messages that are answered without being done.
//!
//! One value says what the caller reads; whether it is also recorded is the endpoint's business.

use crate::envelope::EnvelopeError;
use axum::http::StatusCode;
use serde_json::{Value, json};

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
pub const HEADER_MISMATCH: i64 = -32020;
pub const UNSUPPORTED_REVISION: i64 = -32022;

/// What the caller reads instead of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    pub fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    pub fn bad(code: i64, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The same words whether the provider does not exist or is somebody else's.
    pub fn no_such_provider() -> Self {
        Self::new(StatusCode::NOT_FOUND, INVALID_REQUEST, "no such provider")
    }

    pub fn method_not_found(status: StatusCode) -> Self {
        Self::new(status, METHOD_NOT_FOUND, "Method not found")
    }

    /// A method that only an operator may ask for, and not here.
    pub fn control_verb() -> Self {
        Self::new(StatusCode::OK, METHOD_NOT_FOUND, "nothing that decides can be changed from here")
    }

    pub fn internal() -> Self {
        Self::new(StatusCode::OK, INTERNAL_ERROR, "internal error")
    }

    /// A parameter that is missing or of the wrong kind, by its JSON path.
    pub fn bad_parameter(path: &str, reason: &str) -> Self {
        Self::bad(INVALID_PARAMS, format!("`{path}`: {reason}")).with(json!({"path": path, "reason": reason}))
    }
}

impl From<EnvelopeError> for Refusal {
    fn from(error: EnvelopeError) -> Self {
        match error {
            EnvelopeError::NotJson => Self::bad(PARSE_ERROR, "not JSON"),
            EnvelopeError::NotAMessage(_) => Self::bad(INVALID_REQUEST, error.to_string()),
            EnvelopeError::NoSingleReading(error) => {
                Self::bad_parameter(error.path(), &error.reason().to_string())
            }
        }
    }
}
