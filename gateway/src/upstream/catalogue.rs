//! The tools a provider lists, as it wrote them.
//!
//! Promised: a tool stands here once and has one reading; its definition can be pinned. What has none, or shares its
//! name with another, is left out, so a call of it is refused like that of any tool that does not exist.
//!
//!     {"name":"note_read","description":"…","inputSchema":{…}}

use super::Away;
use super::connection::{Connection, Outcome};
use crate::raw::Object;
use counterfoil_core::id::ToolName;
use counterfoil_core::json::{self, Profile};
use counterfoil_policy::Listed;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A list that takes longer than this is no list.
const WITHIN: Duration = Duration::from_secs(30);
/// Bounds on what a provider can make us keep: pages, tools, and bytes of all definitions.
const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 2_000;
const MOST_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct Catalogue {
    texts: Vec<String>,
    tools: BTreeMap<ToolName, ListedTool>,
}

#[derive(Debug)]
pub struct ListedTool {
    pub name: ToolName,
    pub listed: Listed,
    pub input_schema: Value,
}

impl Catalogue {
    /// The listed tools as they came, in the provider's order.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    pub fn tool(&self, name: &str) -> Option<&ListedTool> {
        self.tools.get(&name.parse().ok()?)
    }

    fn of(texts: Vec<String>) -> Self {
        let mut seen = BTreeSet::new();
        let mut twice = BTreeSet::new();
        let mut read = Vec::with_capacity(texts.len());
        for text in texts {
            let Some(tool) = read_tool(&text) else {
                continue;
            };
            if !seen.insert(tool.name.clone()) {
                twice.insert(tool.name.clone());
            }
            read.push((text, tool));
        }
        read.retain(|(_, tool)| !twice.contains(&tool.name));
        let (texts, tools): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        Self { texts, tools: tools.into_iter().map(|t| (t.name.clone(), t)).collect() }
    }
}

fn read_tool(text: &str) -> Option<ListedTool> {
    let value = json::parse(text.as_bytes(), Profile::Foreign).ok()?;
    let name = value.get("name")?.as_str()?.parse().ok()?;
    let input_schema = value.get("inputSchema").cloned().unwrap_or(Value::Null);
    Some(ListedTool { name, listed: Listed::read(&value), input_schema })
}

/// Reads every page of the list.
pub(super) async fn read(connection: &Connection) -> Result<Catalogue, Away> {
    tokio::time::timeout(WITHIN, pages(connection)).await.map_err(|_| Away::NoList)?
}

async fn pages(connection: &Connection) -> Result<Catalogue, Away> {
    let mut texts = Vec::new();
    let mut bytes = 0;
    let mut params = "{}".to_owned();
    for _ in 0..MOST_PAGES {
        let outcome = connection.ask("tools/list", &params, WITHIN, &CancellationToken::new()).await;
        let page = match outcome {
            Outcome::Returned(page) => page,
            Outcome::Gone | Outcome::Unsent => return Err(Away::Gone),
            Outcome::Failed(_) | Outcome::TimedOut | Outcome::Cancelled | Outcome::Oversized => {
                return Err(Away::NoList);
            }
        };
        let page = Object::read(&page).map_err(|_| Away::NoList)?;
        let tools: Vec<&RawValue> =
            page.value("tools").and_then(|raw| serde_json::from_str(raw).ok()).ok_or(Away::NoList)?;
        bytes += tools.iter().map(|tool| tool.get().len()).sum::<usize>();
        texts.extend(tools.into_iter().map(|tool| tool.get().to_owned()));
        if texts.len() > MOST_TOOLS || bytes > MOST_BYTES {
            return Err(Away::NoList);
        }
        match page.value("nextCursor") {
            None | Some("null") => return Ok(Catalogue::of(texts)),
            Some(cursor) => params = format!(r#"{{"cursor":{cursor}}}"#),
        }
    }
    Err(Away::NoList)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_without_a_single_reading_are_left_out() {
        let texts = [
            r#"{"name":"good","inputSchema":{"n":1.0}}"#,
            r#"{"name":"twice","inputSchema":{}}"#,
            r#"{"name":"twice","inputSchema":{"a":1}}"#,
            r#"{"name":"big","inputSchema":{"maximum":123456789012345678901234567890}}"#,
            r#"{"name":"dup","name":"dup"}"#,
            r#"{"title":"nameless"}"#,
        ];

        let catalogue = Catalogue::of(texts.map(str::to_owned).to_vec());

        assert_eq!(catalogue.texts(), &[texts[0].to_owned()]);
        assert!(catalogue.tool("good").is_some());
        assert!(catalogue.tool("twice").is_none());
        assert!(catalogue.tool("big").is_none());
    }
}
