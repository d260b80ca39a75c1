//! An rmcp server behind the guard, over standard input and output.
//!
//!     COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT   as `counterfoil init` printed them
//!     COUNTERFOIL_KEYS                          the gateway's key set, a file
//!     NOTES_FOLDER, NOTES_KEY                   where used capabilities are kept; our execution key, 32 bytes
//!
//! rmcp decodes arguments into types of the server's own: what the capability is for is read before that.

use counterfoil_sdk::capability::{Environment, FileStore, Following, Guard, KeySource, Place};
use counterfoil_sdk::execution::SigningKey;
use counterfoil_sdk::servers::guarded;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use std::env::var;
use std::sync::Arc;

#[derive(Clone)]
struct Notes;

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new("note_write", "Writes a note", Arc::default())]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let path = request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("path"))
            .and_then(|path| path.as_str());
        let text = format!("wrote {}", path.unwrap_or("a note"));
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place =
        Place::parse(&var("COUNTERFOIL_ISSUER")?, &var("COUNTERFOIL_PROJECT")?, "notes", Environment::Live)?;
    let guard = Guard::builder(place, FileStore::open(var("NOTES_FOLDER")?)?)
        .keys(KeySource::File(var("COUNTERFOIL_KEYS")?.into()))
        .generation(Following::Seen)
        .signer(SigningKey::from_environment("NOTES_KEY")?)
        .build()?;
    let streams = guarded(tokio::io::stdin(), tokio::io::stdout(), guard);
    Notes.serve(streams).await?.waiting().await?;
    Ok(())
}
