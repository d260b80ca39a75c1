//! A provider over standard input and output that executes nothing without a fresh capability.
//!
//! Environment as in http_provider.rs. The server is a few lines of its own; with rmcp it is
//! `service.serve(guarded(stdin(), stdout(), guard))`.

use counterfoil_sdk::capability::{Environment, FileStore, Guard, Place};
use counterfoil_sdk::execution::{Envelope, SigningKey};
use counterfoil_sdk::servers::guarded;
use serde_json::{Value, json};
use std::env::var;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(var("NOTES_FOLDER")?);
    let place =
        Place::parse(&var("COUNTERFOIL_ISSUER")?, &var("COUNTERFOIL_PROJECT")?, "notes", Environment::Live)?;
    let statements = folder.clone();
    let mut guard = Guard::builder(place, FileStore::open(folder.join("used"))?)
        .on_execution(move |statement: &Envelope| keep(&statements, "executions.jsonl", statement.bytes()));
    if let Ok(gateway) = var("COUNTERFOIL_GATEWAY") {
        guard = guard.gateway(&gateway);
    }
    if var("NOTES_KEY").is_ok() {
        guard = guard.signer(SigningKey::from_environment("NOTES_KEY")?);
    }

    let (input, mut output) = guarded(tokio::io::stdin(), tokio::io::stdout(), guard.build()?);
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(answer) = answer(&folder, &serde_json::from_str(&line)?) {
            output.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    }
    output.shutdown().await?;
    Ok(())
}

fn answer(folder: &Path, message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "notes", "version": "1.0.0" },
        }),
        "ping" => json!({}),
        "tools/list" => {
            let members = json!({ "path": { "type": "string" }, "text": { "type": "string" } });
            let schema = json!({ "type": "object", "properties": members, "required": ["path", "text"] });
            json!({ "tools": [{ "name": "note_write", "description": "Writes a note", "inputSchema": schema }] })
        }
        "tools/call" => {
            let arguments = &message["params"]["arguments"];
            keep(folder, "notes.jsonl", arguments.to_string().as_bytes());
            let path = arguments["path"].as_str().unwrap_or("a note");
            json!({ "content": [{ "type": "text", "text": format!("wrote {path}") }] })
        }
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn keep(folder: &Path, name: &str, line: &[u8]) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join(name));
    let kept = file.and_then(|mut file| file.write_all(&[line, b"\n"].concat()));
    if let Err(error) = kept {
        eprintln!("notes: {name}: {error}");
    }
}
