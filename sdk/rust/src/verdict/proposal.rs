//! What is asked.

use counterfoil_core::commitment::document_value;
use counterfoil_core::json::{self, JsonError, Profile};
use serde::Serialize;
use serde_json::{Map, Value};

/// One run of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    pub external_id: String,
    pub agent: Agent,
    pub principal: Principal,
    pub original_request: OriginalRequest,
}

#[derive(Clone, Debug, Serialize)]
pub struct Agent {
    pub external_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// For whom. `reference` is opaque: an e-mail address is refused.
#[derive(Clone, Debug, Serialize)]
pub struct Principal {
    /// `human` or `service`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "ref")]
    pub reference: String,
}

/// What a person asked for, as its digest and the words that anchor it.
#[derive(Clone, Debug, Serialize)]
pub struct OriginalRequest {
    pub hash: String,
    pub anchors: Vec<String>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Tool {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Tool {
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), provider: None, server: None }
    }

    #[must_use]
    pub fn of(mut self, provider: &str) -> Self {
        self.provider = Some(provider.to_owned());
        self
    }
}

/// One call that an agent wants to make.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub(super) session: String,
    pub(super) seq: u64,
    pub(super) tool: Tool,
    pub(super) args_hash: String,
    pub(super) arguments: Value,
    pub(super) shown: Map<String, Value>,
    pub(super) discloses: bool,
    pub(super) signals: Map<String, Value>,
}

impl Proposal {
    /// `seq` is unique in its session. Fails for arguments that have no canonical form, naming the place: an integer beyond
    /// ±(2^53−1), nesting deeper than 64.
    pub fn new(session: &str, seq: u64, tool: Tool, arguments: &Value) -> Result<Self, JsonError> {
        // Read as the wire would read it: a value in memory may hold numbers that no two languages share.
        let arguments = json::parse(arguments.to_string().as_bytes(), Profile::Foreign)?;
        let args_hash = document_value(&arguments);
        Ok(Self {
            session: session.to_owned(),
            seq,
            tool,
            args_hash,
            arguments,
            shown: Map::new(),
            discloses: false,
            signals: Map::new(),
        })
    }

    /// What the gateway sees of the arguments, nothing by default; it reads nouns and declared fields from it.
    #[must_use]
    pub fn showing(mut self, shown: Map<String, Value>) -> Self {
        self.shown = shown;
        self
    }

    /// Sends the arguments themselves. A capability can be bound to nothing less: without, an ALLOW comes without one.
    #[must_use]
    pub fn disclosed(mut self) -> Self {
        self.discloses = true;
        self
    }

    /// What the vendor knows besides.
    #[must_use]
    pub fn with_signals(mut self, signals: Map<String, Value>) -> Self {
        self.signals = signals;
        self
    }
}
