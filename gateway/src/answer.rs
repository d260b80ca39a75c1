//! What a call is answered with, before it is put into a JSON-RPC envelope.

use crate::raw::quoted;

/// `_meta` and `error.data` keys that are ours.
pub const OURS: &str = "dev.counterfoil/";
pub const RECEIPT: &str = "dev.counterfoil/receipt";
pub const WANT: &str = "dev.counterfoil/want";
pub const CAPABILITY: &str = "dev.counterfoil/capability";
pub const EXECUTION: &str = "dev.counterfoil/execution";
pub const ACCEPTED: &str = "dev.counterfoil/accepted";

/// What the agent reads when there is no record, and therefore no call.
pub const NOT_RECORDED: &str =
    "Not executed. The decision could not be recorded, so nothing was sent to the tool. Try again later.";

/// The code of an error that a vendor reads as a status.
pub const CONFLICT: i64 = 409;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    pub body: Body,
    /// The JSON that goes under [`RECEIPT`]; none when nothing was recorded.
    pub receipt: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// A `result` object, as the provider wrote it or one of our own.
    Result(String),
    Error {
        code: i64,
        message: String,
        /// JSON text.
        data: Option<String>,
        fault: Fault,
    },
}

/// What an error is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The message itself: HTTP 400.
    Message,
    /// What it asked for, or whoever was asked: HTTP 200, since some hosts read no body of any other status.
    Call,
}

impl Body {
    /// A result that tells the agent, in words, why it has none.
    pub fn refusing(text: &str) -> Self {
        Self::Result(format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(text)))
    }
}

impl Answer {
    pub fn unrecorded() -> Self {
        Self { body: Body::refusing(NOT_RECORDED), receipt: None }
    }

    /// The place in the session, or the key, is another question's.
    pub fn conflict() -> Self {
        let message = "the key or the place in the session is taken by another action".to_owned();
        Self { body: Body::Error { code: CONFLICT, message, data: None, fault: Fault::Call }, receipt: None }
    }

    /// The ledger did not take the decision because its hold is not there for it any more.
    pub fn hold_gone() -> Self {
        Self { body: Body::refusing(&crate::holds::elsewhere()), receipt: None }
    }
}
