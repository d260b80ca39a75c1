//! A provider that does nothing as fast as it can: an MCP server over standard input and output whose one tool,
//! `echo`, returns what it was told. What is measured around it is everything else.

use serde_json::{Value, json};
use std::io::{BufRead, Write};

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        // Notifications have no id and get no answer.
        let Some(id) = request.get("id") else { continue };
        let answer = match request["method"].as_str() {
            Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }}),
            Some("tools/list") => json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [{
                "name": "echo",
                "description": "Returns what it was told",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            }]}}),
            Some("tools/call") => {
                let text = &request["params"]["arguments"]["text"];
                json!({"jsonrpc": "2.0", "id": id, "result": {
                    "content": [{"type": "text", "text": text}], "isError": false,
                }})
            }
            Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
