//! One line of the host, with the few members that the bridge has to know.

use super::receipts::{Asked, asking};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Present on every request of the revisions that need no session.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

pub struct Message {
    pub line: Vec<u8>,
    /// The id as its bytes were, `null` where there is none to answer to.
    pub id: String,
    pub method: String,
    pub era: Era,
    pub asked: Asked,
    answered: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Sessions that begin with `initialize`.
    Legacy,
    /// Every request says its revision.
    Modern,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Message {
    /// A line that does not read goes to the gateway as it is: refusing it, and writing that
    /// down, is the gateway's part.
    pub fn read(line: Vec<u8>) -> Self {
        let head: Option<Head<'_>> = serde_json::from_slice(&line).ok();
        let Some(head) = head else {
            let (id, method) = ("null".to_owned(), String::new());
            return Self { line, id, method, era: Era::Legacy, asked: Asked::Nobody, answered: true };
        };
        let meta = head.params.and_then(|params| params.meta);
        let modern = meta.is_some_and(|meta| meta.contains_key(REVISION));
        let id = head.id.map(|id| id.get().to_owned());
        let answered = id.is_some();
        let id = id.unwrap_or_else(|| "null".to_owned());
        let method = head.method.unwrap_or_default();
        let era = if modern { Era::Modern } else { Era::Legacy };
        Self { line, id, method, era, asked: Asked::Nobody, answered }
    }

    /// Adds to a tool call that its whole receipt is wanted.
    pub fn ask_for_receipt(&mut self) {
        if self.method == "tools/call"
            && let Some((line, asked)) = asking(&self.line)
        {
            (self.line, self.asked) = (line, asked);
        }
    }

    /// Whether the host waits for an answer.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// `initialize` brings the session that what follows needs, and notifications must not
    /// overtake one another.
    pub fn must_keep_its_place(&self) -> bool {
        self.method == "initialize" || !self.answered
    }

    /// A tool call that went wrong is a result that a model can read.
    pub fn failed(&self, text: &str) -> Vec<u8> {
        let id = &self.id;
        let text = serde_json::Value::from(text);
        let answer = match (self.method.as_str(), self.era) {
            ("tools/call", Era::Legacy) => {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}],"isError":true}}}}"#
                )
            }
            ("tools/call", Era::Modern) => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":{text}}}],"isError":true}}}}"#
            ),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":{text}}}}}"#),
        };
        answer.into_bytes()
    }
}
