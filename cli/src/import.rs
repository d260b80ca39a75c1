//! An agent host's own MCP configuration: read, carried over to ours, and pointed at the gateway.
//!
//! Promised: whatever an entry says is carried over, kept, or refused with the place where it stands; the rest of the
//! file stays as it is, comments included. Nothing here prints or returns a value of a variable but to the caller that
//! writes it into a file of its owner.
//!
//! Not promised: that a host reads the file again while it runs.
//!
//!     {"mcpServers": {"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}
//!     {"mcpServers": {"memory": {"command": "/…/counterfoil", "args": ["stdio", "memory", "--gateway", …]}}}
//!
//! A server behind HTTP becomes an entry of the same kind: the bridge is started, and the gateway goes there.

mod carry;
mod host;
mod json;
mod variables;

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use toml_edit::DocumentMut;

pub use carry::{Carried, Child, Fate, Refusal, Remote, carry};
pub use host::Host;
pub use variables::Surroundings;

use json::Json;

/// One server of a host's file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The keys that lead to it, its name last.
    pub keys: Vec<String>,
    pub members: Map<String, Value>,
}

impl Entry {
    pub fn name(&self) -> &str {
        self.keys.last().map_or("", String::as_str)
    }

    /// Such as `mcpServers.memory`.
    pub fn place(&self) -> String {
        self.keys.join(".")
    }
}

/// A host's file as it was read.
pub struct HostFile {
    host: Host,
    document: Document,
}

enum Document {
    Json(Json),
    Toml(Box<DocumentMut>),
}

impl HostFile {
    pub fn parse(host: Host, text: &str) -> anyhow::Result<Self> {
        let document = match host {
            Host::Codex => Document::Toml(Box::new(text.parse().context("not TOML")?)),
            Host::ClaudeCode | Host::ClaudeDesktop | Host::VsCode | Host::Cursor => {
                Document::Json(Json::parse(text)?)
            }
        };
        Ok(Self { host, document })
    }

    /// Every server, wherever the host keeps them.
    pub fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let whole = match &self.document {
            Document::Json(json) => json.value().clone(),
            Document::Toml(document) => {
                let table: toml::Table = toml::from_str(&document.to_string()).context("not TOML")?;
                serde_json::to_value(table)?
            }
        };
        let mut entries = Vec::new();
        for keys in self.host.server_maps(&whole) {
            let Some(map) = keys.iter().try_fold(&whole, |value, key| value.get(key)) else { continue };
            let Value::Object(servers) = map else { bail!("`{}` is no object", keys.join(".")) };
            for (name, entry) in servers {
                let keys: Vec<String> = keys.iter().cloned().chain([name.clone()]).collect();
                let Value::Object(members) = entry else { bail!("`{}` is no object", keys.join(".")) };
                entries.push(Entry { keys, members: members.clone() });
            }
        }
        Ok(entries)
    }

    /// Puts another way of starting in an entry's place; members that are the host's own business stay.
    pub fn replace(&mut self, entry: &Entry, program: &Path, arguments: &[String]) -> anyhow::Result<()> {
        let program = program.to_str().context("this program's path is no text")?;
        match &mut self.document {
            Document::Json(json) => {
                let mut members = Map::new();
                for (name, value) in entry.members.iter().filter(|(name, _)| self.host.keeps(name)) {
                    // Where the host wants to know how it speaks to a server: it starts one now.
                    let value = if name == "type" { &Value::from("stdio") } else { value };
                    members.insert(name.clone(), value.clone());
                }
                members.insert("command".to_owned(), program.into());
                members.insert("args".to_owned(), arguments.into());
                json.replace(&entry.keys, &Value::Object(members))
            }
            Document::Toml(document) => {
                let mut item = document.as_item_mut();
                for key in &entry.keys {
                    let table = item.as_table_like_mut().context("no table")?;
                    item = table.get_mut(key).with_context(|| format!("`{}` is gone", entry.place()))?;
                }
                let table = item.as_table_like_mut().with_context(|| format!("`{}`", entry.place()))?;
                for name in entry.members.keys().filter(|name| !self.host.keeps(name)) {
                    table.remove(name);
                }
                table.insert("command", toml_edit::value(program));
                table.insert("args", toml_edit::value(toml_edit::Array::from_iter(arguments)));
                Ok(())
            }
        }
    }

    pub fn text(&self) -> String {
        match &self.document {
            Document::Json(json) => json.text().to_owned(),
            Document::Toml(document) => document.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
