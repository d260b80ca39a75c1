//! A provider over HTTP that executes nothing without a fresh capability: axum, and the guard as a tower layer.
//!
//!     cargo run --example http_provider -- 8000
//!
//!     COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT   as `counterfoil init` printed them
//!     COUNTERFOIL_GATEWAY                       where the gateway is reached
//!     NOTES_FOLDER                              where notes, used capabilities and our own statements are kept
//!     NOTES_KEY                                 our execution key, 32 bytes; without one nothing is signed

use axum::extract::{Extension, State};
use axum::routing::post;
use axum::{Json, Router};
use counterfoil_sdk::capability::{Admitted, Environment, FileStore, Guard, Place};
use counterfoil_sdk::execution::SigningKey;
use counterfoil_sdk::servers::GuardLayer;
use serde_json::{Value, json};
use std::env::var;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(var("NOTES_FOLDER")?);
    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());

    let place =
        Place::parse(&var("COUNTERFOIL_ISSUER")?, &var("COUNTERFOIL_PROJECT")?, "notes", Environment::Live)?;
    let mut guard = Guard::builder(place, FileStore::open(folder.join("used"))?);
    if let Ok(gateway) = var("COUNTERFOIL_GATEWAY") {
        guard = guard.gateway(&gateway);
    }
    if var("NOTES_KEY").is_ok() {
        guard = guard.signer(SigningKey::from_environment("NOTES_KEY")?);
    }
    let app =
        Router::new().route("/mcp", post(mcp)).with_state(folder).layer(GuardLayer::new(guard.build()?));

    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

/// As much of MCP as one tool needs. `call` is there for tool calls alone: the guard left it.
async fn mcp(
    State(folder): State<PathBuf>,
    call: Option<Extension<Admitted>>,
    Json(message): Json<Value>,
) -> Json<Value> {
    let result = match (message["method"].as_str(), call) {
        (Some("initialize"), _) => Ok(json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "notes", "version": "1.0.0" },
        })),
        (Some("tools/list"), _) => {
            let members = json!({ "path": { "type": "string" }, "text": { "type": "string" } });
            let schema = json!({ "type": "object", "properties": members, "required": ["path", "text"] });
            Ok(
                json!({ "tools": [{ "name": "note_write", "description": "Writes a note", "inputSchema": schema }] }),
            )
        }
        (Some("tools/call"), Some(Extension(call))) => {
            write_note(&folder, &call).map_err(|error| (-32603, error))
        }
        (Some(_) | None, _) => Err((-32601, "no such method".to_owned())),
    };
    let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
    match result {
        Ok(result) => answer["result"] = result,
        Err((code, message)) => answer["error"] = json!({ "code": code, "message": message }),
    }
    Json(answer)
}

fn write_note(folder: &Path, call: &Admitted) -> Result<Value, String> {
    let arguments = call.arguments();
    let note = json!({ "path": arguments["path"], "text": arguments["text"], "action": call.claims().txn });
    let file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("notes.jsonl"));
    let written = file.and_then(|mut file| file.write_all(format!("{note}\n").as_bytes()));
    written.map_err(|error| error.to_string())?;
    let path = arguments["path"].as_str().unwrap_or("a note");
    Ok(json!({ "content": [{ "type": "text", "text": format!("wrote {path}") }] }))
}
