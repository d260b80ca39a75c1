//! `params` of a `tools/call`, as they stood in the bytes of the message.

use counterfoil_core::json::{self, JsonError, Profile};
use serde_json::{Map, Value};
use std::fmt;

/// Parameters that were read strictly, out of bytes that came on the wire.
///
/// There is no other way to make one: what a framework decoded may have lost a name, gained a default, or changed the
/// spelling of a number, and a capability is for what was sent.
#[derive(Clone)]
pub struct Params(Map<String, Value>);

impl Params {
    /// Reads the text of `params`. Anything but an object counts as an empty one, and then nothing passes.
    ///
    /// Fails, naming the place, for a text with two readings: a name twice, a lone surrogate, an integer beyond 2^53−1.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        json::parse(text, Profile::Foreign).map(Self::of)
    }

    /// The value must come out of the strict parser.
    pub(crate) fn of(value: Value) -> Self {
        match value {
            Value::Object(members) => Self(members),
            _ => Self(Map::new()),
        }
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.get("name").and_then(Value::as_str)
    }

    pub(crate) fn meta(&self, name: &str) -> Option<&Value> {
        self.0.get("_meta").and_then(|meta| meta.get(name)).filter(|value| !value.is_null())
    }

    pub(crate) fn input_responses(&self) -> Option<&Value> {
        self.0.get("inputResponses")
    }

    /// Takes the arguments out; absent ones are {}.
    pub(crate) fn arguments(&mut self) -> Value {
        self.0.remove("arguments").unwrap_or_else(|| Value::Object(Map::new()))
    }
}

/// The name alone: the rest holds a slip, and somebody's arguments.
impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({:?})", self.name())
    }
}
