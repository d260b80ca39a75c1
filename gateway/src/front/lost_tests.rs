//! docs/mcp.md against the gateway: what the page says is not there is not there, in both eras.

use crate::testing::{World, read};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Methods in the rows of the page's table that say -32601.
fn refused_by_the_page() -> BTreeSet<String> {
    let page = include_str!("../../../docs/mcp.md");
    let (_, section) = page.split_once("## What gets lost, per feature").expect("the section is there");
    let (section, _) = section.split_once("\n## ").expect("another one follows");
    let rows = section.lines().filter(|line| line.starts_with('|') && line.contains("-32601"));
    let words = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let is_method =
        |word: &&str| word.contains('/') && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'/');
    words.filter(is_method).map(str::to_owned).collect()
}

#[tokio::test]
async fn what_the_page_says_gets_lost_is_refused_in_both_eras() {
    let world = World::new().await;
    let legacy = world.host.initialize().await;
    let methods = refused_by_the_page();
    assert!(methods.len() >= 14 && methods.contains("resources/read"), "{methods:?}");

    for method in &methods {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {} });
        let modern = json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": { "_meta": meta } });
        let request = world.host.post("/mcp/notes", modern.to_string());
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method.as_str())];
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let modern = read(request).await;
        let old = legacy.say(json!({ "jsonrpc": "2.0", "id": 5, "method": method }).to_string()).await;

        assert_eq!((modern.status.as_u16(), &modern.error()["code"]), (404, &json!(-32601)), "{method}");
        assert_eq!((old.status.as_u16(), &old.error()["code"]), (200, &json!(-32601)), "{method}");
    }
}

#[tokio::test]
async fn no_capability_is_announced_that_gets_lost() {
    let world = World::new().await;

    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
    let legacy = world.host.say(hello).await.result();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } });
    let request = world.host.post("/mcp/notes", ask.to_string());
    let request =
        request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "server/discover");
    let modern: Value = read(request).await.result();

    assert_eq!(legacy["capabilities"], json!({ "tools": {} }), "{legacy}");
    // Held calls are tasks of ours; a provider's are lost.
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    assert_eq!(modern["capabilities"], json!({ "tools": {}, "extensions": tasks }), "{modern}");
}
