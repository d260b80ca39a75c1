//! A first registry and first rules for a provider that nobody has classified yet.
//!
//! Promised: what is drafted allows reads alone, on the tool itself or below folders that the command names, and for a
//! day; everything else is held. A tool's annotations can take an allow away and never give one. The draft carries a
//! mark that stays until a person publishes it.
//!
//! Not promised: that a name tells the truth. `read_file` is drafted as a read because it is called so; whoever
//! publishes the draft says that they looked.
//!
//!     # DRAFT memory: …
//!     [provider.memory.tool.read_graph]
//!     service = "memory"
//!     verb = "read"
//!     nouns = [{ type = "tool" }]
//!     pin = "sha256:…"

mod arguments;
mod files;
mod mark;
mod naming;
mod text;
mod words;

use std::collections::BTreeMap;
use std::path::Path;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProviderId, ToolName};
use counterfoil_core::statement::Verb;
use counterfoil_core::time::Timestamp;
use counterfoil_policy::pin_of;
use serde_json::Value;

pub use arguments::Noun;
pub use files::{Added, PLAN, Place};
pub use mark::{is_marked, without_marks};
pub use naming::{provider_id, provider_id_at};

/// How long a drafted allow lasts: a day to try, and then somebody must have read it.
const HOURS: i64 = 24;

/// A rules file holds 500 rules; the rest of a draft is left to its reader.
const MOST_ALLOWS: usize = 300;

/// What one provider's tools look like at first sight.
pub struct Draft {
    pub provider: ProviderId,
    pub tools: Vec<DraftedTool>,
    /// Names that no registry can hold, or that were listed twice. Calls of them are held as unknown.
    pub left_out: Vec<String>,
    pub written_at: Timestamp,
    pub until: Timestamp,
    /// A folder that no drafted allow may reach: it holds keys.
    pub kept: String,
}

pub struct DraftedTool {
    pub name: ToolName,
    pub verb: Verb,
    pub nouns: Vec<Noun>,
    pub pin: Digest,
    /// What the provider says of it, such as `readOnlyHint=true`.
    pub hints: Vec<String>,
    pub fate: Fate,
}

/// What the drafted rules do with a tool.
#[derive(Debug, Eq, PartialEq)]
pub enum Fate {
    /// Allowed on the tool itself.
    AllowedItself,
    /// Allowed below these folders.
    AllowedBelow(Vec<String>),
    Held(String),
}

/// What is known beside the list: who, when, and where.
pub struct Circumstances<'a> {
    pub provider: ProviderId,
    pub now: Timestamp,
    /// Folders that the provider's command names.
    pub folders: Vec<String>,
    /// The deployment's folder.
    pub kept: &'a Path,
}

/// Drafts from a provider's list of tools.
#[must_use]
pub fn draft(listed: &[Value], circumstances: Circumstances<'_>) -> Draft {
    let (named, left_out) = once_each(listed);
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let prefix = words::shared_prefix(&names);
    let kept = circumstances.kept.display().to_string();
    let folders: Vec<String> =
        circumstances.folders.into_iter().filter(|folder| !Path::new(folder).starts_with(&kept)).collect();
    let mut allows = 0;
    let tools = named.into_iter().map(|(name, tool)| {
        let mut drafted = one(name, tool, prefix.as_deref(), &folders);
        allows += drafted.fate.rules();
        if allows > MOST_ALLOWS {
            drafted.fate = Fate::Held(format!("{MOST_ALLOWS} rules are drafted, and no more"));
        }
        drafted
    });
    Draft {
        provider: circumstances.provider,
        tools: tools.collect(),
        left_out,
        written_at: circumstances.now,
        until: circumstances.now.plus_millis(HOURS * 3_600_000),
        kept,
    }
}

/// Tools that a registry can name, and the names of those that it cannot.
fn once_each(listed: &[Value]) -> (Vec<(ToolName, &Value)>, Vec<String>) {
    let mut count = BTreeMap::<&str, usize>::new();
    for name in listed.iter().filter_map(|tool| tool["name"].as_str()) {
        *count.entry(name).or_default() += 1;
    }
    let (mut named, mut left_out) = (Vec::new(), Vec::new());
    for tool in listed {
        let Some(name) = tool["name"].as_str() else { continue };
        match name.parse::<ToolName>() {
            Ok(label) if count[name] == 1 => named.push((label, tool)),
            Ok(_) | Err(_) => left_out.push(name.escape_debug().to_string()),
        }
    }
    left_out.dedup();
    (named, left_out)
}

fn one(name: ToolName, tool: &Value, prefix: Option<&str>, folders: &[String]) -> DraftedTool {
    let verb = words::verb_of(name.as_str(), prefix);
    let nouns = arguments::nouns(tool);
    let fate = match words::secret(name.as_str()).filter(|_| words::reads(verb)) {
        Some(word) => Fate::Held(format!("a read whose name says `{word}`: it may show a secret")),
        None => fate(verb, tool, &nouns, folders),
    };
    DraftedTool { pin: pin_of(tool), hints: hints(tool), name, verb, nouns, fate }
}

fn fate(verb: Verb, tool: &Value, nouns: &[Noun], folders: &[String]) -> Fate {
    if !words::reads(verb) {
        return Fate::Held(format!("`{verb}` is no read"));
    }
    let says = |hint: &str, what: bool| tool["annotations"][hint] == what;
    if says("readOnlyHint", false) {
        return Fate::Held("called a read, and annotated as none".to_owned());
    }
    if says("destructiveHint", true) {
        return Fate::Held("called a read, and annotated as destructive".to_owned());
    }
    if says("openWorldHint", true) {
        return Fate::Held("reaches the outside, where a question can carry something away".to_owned());
    }
    if let Some(reach) = arguments::reach(tool) {
        return Fate::Held(reach);
    }
    match (nouns.iter().any(Noun::is_path), folders.is_empty()) {
        (false, _) => Fate::AllowedItself,
        (true, false) => Fate::AllowedBelow(folders.to_vec()),
        (true, true) => Fate::Held("takes a path, and the command names no folder".to_owned()),
    }
}

impl Fate {
    fn rules(&self) -> usize {
        match self {
            Self::AllowedItself => 1,
            Self::AllowedBelow(folders) => folders.len(),
            Self::Held(_) => 0,
        }
    }
}

fn hints(tool: &Value) -> Vec<String> {
    let known = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let said = |name: &str| tool["annotations"][name].as_bool().map(|value| format!("{name}={value}"));
    known.into_iter().filter_map(said).collect()
}

/// Folders that a command names as whole words, absolute and normalised; never `/`.
#[must_use]
pub fn folders_of(command: &[String], at: &Path) -> Vec<String> {
    let mut folders: Vec<String> = command
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .filter_map(|word| std::fs::canonicalize(at.join(word)).ok())
        .filter(|path| path.is_dir() && path.parent().is_some())
        .filter_map(|path| path.to_str().map(str::to_owned))
        .filter(|path| !path.chars().any(|c| c.is_control() || c == '\\'))
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests;
