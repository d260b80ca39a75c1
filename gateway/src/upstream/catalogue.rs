//! The tools a provider lists, as it wrote them.
//!
//! Promised: a tool stands here once and has one reading; its definition can be pinned. What has none, or shares its
//! name with another as hosts write it, is left out, so a call of it is refused like that of any tool that does not exist.
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
    tools: Vec<ListedTool>,
    places: BTreeMap<ToolName, usize>,
}

#[derive(Debug)]
pub struct ListedTool {
    pub name: ToolName,
    /// As it came.
    pub text: String,
    pub listed: Listed,
    pub input_schema: Value,
}

impl Catalogue {
    /// In the provider's order.
    pub fn tools(&self) -> &[ListedTool] {
        &self.tools
    }

    pub fn tool(&self, name: &str) -> Option<&ListedTool> {
        self.tools.get(*self.places.get(&name.parse().ok()?)?)
    }

    /// Without the tools that are not usable for a reason outside their definition's text.
    pub(super) fn only(self, usable: impl Fn(&ListedTool) -> bool) -> Self {
        let tools: Vec<ListedTool> = self.tools.into_iter().filter(usable).collect();
        let places = tools.iter().enumerate().map(|(place, tool)| (tool.name.clone(), place)).collect();
        Self { tools, places }
    }

    pub(crate) fn of(texts: Vec<String>) -> Self {
        let mut tools: Vec<ListedTool> = texts.into_iter().filter_map(read_tool).collect();
        let mut seen = BTreeSet::new();
        let twice: BTreeSet<String> = tools
            .iter()
            .map(|tool| as_hosts_write(&tool.name))
            .filter(|name| !seen.insert(name.clone()))
            .collect();
        tools.retain(|tool| !twice.contains(&as_hosts_write(&tool.name)));
        let places = tools.iter().enumerate().map(|(place, tool)| (tool.name.clone(), place)).collect();
        Self { tools, places }
    }
}

/// Hosts put an underscore for whatever their model's interface does not take. Two names that come out the same cannot
/// be told apart, so neither is listed.
fn as_hosts_write(name: &ToolName) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.as_str().chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn read_tool(text: String) -> Option<ListedTool> {
    let value = json::parse(text.as_bytes(), Profile::Foreign).ok()?;
    let name = value.get("name")?.as_str()?.parse().ok()?;
    let input_schema = value.get("inputSchema").cloned().unwrap_or(Value::Null);
    Some(ListedTool { name, listed: Listed::read(&value), input_schema, text })
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
            r#"{"name":"same.name"}"#,
            r#"{"name":"same_name"}"#,
        ];

        let catalogue = Catalogue::of(texts.map(str::to_owned).to_vec());

        let kept: Vec<&str> = catalogue.tools().iter().map(|tool| tool.text.as_str()).collect();
        assert_eq!(kept, [texts[0]]);
        assert!(catalogue.tool("good").is_some());
        assert!(catalogue.tool("twice").is_none());
        assert!(catalogue.tool("big").is_none());
    }
}
