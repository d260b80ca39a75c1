//! The five tools: their definitions, and what they do.

use serde_json::{Value, json};

use super::sandbox::{Sandbox, SandboxError};

const NAMES: [&str; 5] = ["note_list", "note_read", "note_write", "note_delete", "mail_send"];

pub fn is_listed(name: &str) -> bool {
    NAMES.contains(&name)
}

/// As in `tools/list`.
pub fn listed() -> Value {
    let path = json!({ "type": "string", "description": "absolute path under /notes" });
    let text = json!({ "type": "string" });
    json!([
        tool("note_list", "List the notes in a folder", &[("path", &path)]),
        tool("note_read", "Read one note", &[("path", &path)]),
        tool("note_write", "Write one note, replacing what was there", &[("path", &path), ("text", &text)]),
        tool("note_delete", "Delete one note", &[("path", &path)]),
        tool("mail_send", "Send a letter", &[("to", &text), ("subject", &text), ("text", &text)]),
    ])
}

/// Every argument is a string and required.
fn tool(name: &str, description: &str, arguments: &[(&str, &Value)]) -> Value {
    let properties: serde_json::Map<String, Value> =
        arguments.iter().map(|(name, schema)| ((*name).to_owned(), (*schema).clone())).collect();
    let required: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
    })
}

/// The result of `tools/call`: what went wrong inside a tool is a result with `isError`.
pub fn call(name: &str, arguments: &Value, sandbox: &Sandbox) -> Value {
    let (text, is_error) = match carry_out(name, arguments, sandbox) {
        Ok(text) => (text, false),
        Err(error) => (error.to_string(), true),
    };
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("argument `{0}` is missing or no string")]
    Argument(&'static str),
    #[error("there is no tool `{0}`")]
    NoSuchTool(String),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

fn carry_out(name: &str, arguments: &Value, sandbox: &Sandbox) -> Result<String, CallError> {
    let text = |name: &'static str| arguments[name].as_str().ok_or(CallError::Argument(name));
    match name {
        "note_list" => Ok(sandbox.list(text("path")?)?),
        "note_read" => Ok(sandbox.read(text("path")?)?),
        "note_write" => {
            let (path, content) = (text("path")?, text("text")?);
            sandbox.write(path, content)?;
            Ok(format!("wrote {} bytes to {path}", content.len()))
        }
        "note_delete" => {
            let path = text("path")?;
            sandbox.delete(path)?;
            Ok(format!("deleted {path}"))
        }
        "mail_send" => {
            let letter = sandbox.send(text("to")?, text("subject")?, text("text")?)?;
            Ok(format!("sent as {letter}"))
        }
        other => Err(CallError::NoSuchTool(other.to_owned())),
    }
}
