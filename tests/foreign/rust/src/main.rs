//! Clients of crates.io rmcp, one after another, each at every provider of a plan.
//!
//! Reads `{key, cells: [{provider, url, tool, arguments}]}` and prints `{client: {provider: {revision, tools, result} or
//! {error}}}`.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};
use std::error::Error;

type Said = Result<Value, Box<dyn Error>>;

fn ways() -> [(&'static str, ClientLifecycleMode); 3] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ("rust rmcp legacy", ClientLifecycleMode::Initialize),
        (
            "rust rmcp modern",
            ClientLifecycleMode::Discover { preferred_versions: preferred_versions.clone() },
        ),
        ("rust rmcp auto", ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let plan: Value = serde_json::from_reader(std::io::stdin())?;
    let key = plan["key"].as_str().ok_or("no key")?;
    let mut said = Map::new();
    for (name, way) in ways() {
        let mut cells = Map::new();
        for cell in plan["cells"].as_array().into_iter().flatten() {
            let done = reach(way.clone(), cell, key).await;
            let done = done.unwrap_or_else(|error| json!({ "error": error.to_string() }));
            cells.insert(cell["provider"].as_str().unwrap_or_default().to_owned(), done);
        }
        said.insert(name.to_owned(), cells.into());
    }
    println!("{}", Value::Object(said));
    Ok(())
}

async fn reach(way: ClientLifecycleMode, cell: &Value, key: &str) -> Said {
    let url = cell["url"].as_str().ok_or("no url")?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(key);
    let transport = StreamableHttpClientTransport::from_config(config);
    let client = serve_client_with_lifecycle((), transport, way).await?;
    let tools = client.list_all_tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    let tool = cell["tool"].as_str().ok_or("no tool")?.to_owned();
    let arguments = cell["arguments"].as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?;
    let revision = client.peer_info().map(|info| info.protocol_version.to_string());
    let said = json!({ "revision": revision, "tools": names, "result": result });
    client.cancel().await?;
    Ok(said)
}
