//! The demo provider: a small MCP server over standard input and output, in the legacy era.
//!
//! Promised: notes and mail stay inside one folder; every call that is executed stands in the log
//! before it is carried out, and a refused one never does; started with a guard, nothing runs
//! without a fresh capability for exactly this call; given a key, each result carries its own
//! signed statement.
//!
//! Not promised: real mail (letters are files), or anything that a real provider needs.

mod guard;
mod keys;
mod sandbox;
pub mod statement;
mod tools;
mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub use guard::{Guard, Pinned};
pub use keys::KeySource;
pub use sandbox::Sandbox;

use crate::clock;
use guard::Spent;
use statement::{Call, EXECUTION, Witness};
use wire::{Request, error, result};

/// As long as a message of the protocol may be at the gateway.
const LONGEST_LINE: u64 = 4 << 20;

/// JSON-RPC error code of a refusal, outside the range that the protocol reserves.
const REFUSED: i64 = 4030;

pub struct Provider {
    sandbox: Sandbox,
    log: File,
    guard: Option<Guard>,
    witness: Option<Witness>,
}

impl Provider {
    pub fn new(folder: &Path, log: &Path, guard: Option<Guard>) -> io::Result<Self> {
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        Ok(Self { sandbox: Sandbox::new(folder)?, log, guard, witness: None })
    }

    /// From now on every executed call is stated. Without a guard there is no decision to speak of.
    #[must_use]
    pub fn stating(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Answers line by line until the input ends.
    pub async fn serve(
        &mut self,
        mut input: impl AsyncBufRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        loop {
            let mut line = Vec::new();
            let read = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
            if read == 0 {
                return Ok(());
            }
            if let Some(answer) = self.answer(&line).await {
                let mut bytes = answer.to_string().into_bytes();
                bytes.push(b'\n');
                output.write_all(&bytes).await?;
                output.flush().await?;
            }
        }
    }

    /// None for a notification, which has no answer.
    async fn answer(&mut self, line: &[u8]) -> Option<Value> {
        let request = match Request::parse(line) {
            Ok(request) => request,
            Err(refusal) => return Some(refusal),
        };
        let id = request.id?;
        Some(match request.method.as_str() {
            "initialize" => result(&id, wire::initialized(&request.params)),
            "ping" => result(&id, json!({})),
            "tools/list" => result(&id, json!({ "tools": tools::listed() })),
            "tools/call" => self.call(&id, &request.params).await,
            _ => error(&id, -32601, "method not found", Value::Null),
        })
    }

    async fn call(&mut self, id: &Value, params: &Value) -> Value {
        let Some(name) = params["name"].as_str().filter(|name| tools::is_listed(name)) else {
            return error(id, -32602, "unknown tool", Value::Null);
        };
        let absent = json!({});
        let arguments = params.get("arguments").unwrap_or(&absent);

        if let Some(witness) = &mut self.witness
            && let Err(error) = witness.keep_accepted(params)
        {
            tracing::error!(%error, "acceptances not kept");
        }
        let spent = match &mut self.guard {
            None => None,
            Some(guard) => match guard.spend(params, name, arguments, clock::now()).await {
                Ok(spent) => Some(spent),
                Err(refusal) => {
                    let reason = json!({ "reason": refusal.code() });
                    return error(id, REFUSED, &format!("not executed: {refusal}"), reason);
                }
            },
        };
        // Written first: what stands here was seen, whatever happens to this process next.
        if self.write_down(name, arguments, spent.as_ref()).is_err() {
            return error(id, -32603, "not executed: the log cannot be written", Value::Null);
        }
        let started_at = clock::now();
        let mut answer = tools::call(name, arguments, &self.sandbox);
        if let (Some(witness), Some(spent)) = (&self.witness, &spent) {
            match witness.state(&Call { spent, tool: name, arguments, started_at }, &answer) {
                Ok(statement) => answer["_meta"] = json!({ EXECUTION: statement }),
                // It ran all the same; that nothing was stated shows in the record.
                Err(error) => tracing::error!(%error, "nothing stated"),
            }
        }
        result(id, answer)
    }

    fn write_down(&mut self, tool: &str, arguments: &Value, spent: Option<&Spent>) -> io::Result<()> {
        let line = json!({
            "at": clock::now(),
            "tool": tool,
            "arguments": arguments,
            "capability": spent.map(|spent| &spent.jti),
            "action": spent.map(|spent| &spent.action),
            "decision": spent.map(|spent| &spent.decision),
        });
        self.log.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests;
