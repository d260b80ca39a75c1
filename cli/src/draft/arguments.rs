//! What a tool's input schema says that its calls are about. The schema is the provider's word: a noun that it hides is
//! not found here, and a call that lacks a drafted noun is held.

use serde_json::Value;

use super::words;

/// Where a noun stands; the tool itself where its schema names no path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Noun {
    Itself,
    /// A JSON pointer to a path.
    PathAt(String),
    /// A JSON pointer to an array of paths.
    PathEach(String),
}

/// As many as a registry admits.
const MOST_NOUNS: usize = 16;

/// Arguments by which a tool reaches what no noun names.
const REACHING: &[&str] = &[
    "url",
    "urls",
    "uri",
    "uris",
    "link",
    "endpoint",
    "host",
    "hostname",
    "webhook",
    "command",
    "cmd",
    "script",
    "code",
    "sql",
    "expression",
    "query_string",
];

impl Noun {
    pub fn is_path(&self) -> bool {
        match self {
            Self::Itself => false,
            Self::PathAt(_) | Self::PathEach(_) => true,
        }
    }
}

/// Strings and lists of strings at the top level whose names are those of paths.
pub fn nouns(tool: &Value) -> Vec<Noun> {
    let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    let mut nouns: Vec<Noun> = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_path_name(name))
        .filter_map(|(name, schema)| noun(name, schema))
        .collect();
    nouns.truncate(MOST_NOUNS);
    if nouns.is_empty() {
        nouns.push(Noun::Itself);
    }
    nouns
}

/// Why a read is not drafted as allowed although its name says read.
pub fn reach(tool: &Value) -> Option<String> {
    let mut names = Vec::new();
    if property_names(&tool["inputSchema"], &mut names, 0).is_err() {
        return Some("its arguments are nested too deeply to be read here".to_owned());
    }
    if let Some(name) = names.iter().find(|name| REACHING.contains(&name.to_ascii_lowercase().as_str())) {
        return Some(format!("its argument `{}` can reach what no noun names", name.escape_debug()));
    }
    let paths = names.iter().filter(|name| is_path_name(name)).count();
    let drafted = nouns(tool).iter().filter(|noun| noun.is_path()).count();
    (paths != drafted).then(|| "takes a path where no noun can be drafted".to_owned())
}

const DEEPEST: usize = 32;

struct TooDeep;

/// Every name below a `properties`, wherever it stands.
fn property_names<'a>(value: &'a Value, names: &mut Vec<&'a str>, depth: usize) -> Result<(), TooDeep> {
    if depth > DEEPEST {
        return Err(TooDeep);
    }
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            if key == "properties"
                && let Value::Object(properties) = member
            {
                names.extend(properties.keys().map(String::as_str));
            }
            property_names(member, names, depth + 1)
        }),
        Value::Array(items) => items.iter().try_for_each(|item| property_names(item, names, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn is_path_name(name: &str) -> bool {
    let words = words::split(name);
    let last = words.last().map_or("", String::as_str);
    matches!(
        last,
        "path"
            | "paths"
            | "file"
            | "files"
            | "filename"
            | "filepath"
            | "dir"
            | "directory"
            | "directories"
            | "folder"
            | "folders"
    )
}

fn noun(name: &str, schema: &Value) -> Option<Noun> {
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    if pointer.len() > 256 || pointer.chars().any(char::is_control) {
        return None;
    }
    if is_of(schema, "string") {
        Some(Noun::PathAt(pointer))
    } else if is_of(schema, "array") && is_of(&schema["items"], "string") {
        Some(Noun::PathEach(pointer))
    } else {
        None
    }
}

fn is_of(schema: &Value, wanted: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == wanted,
        Value::Array(several) => several.iter().any(|one| one == wanted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(properties: Value) -> Value {
        json!({ "name": "read", "inputSchema": { "type": "object", "properties": properties } })
    }

    #[test]
    fn a_path_is_a_noun_by_its_pointer_and_anything_else_is_the_tool_itself() {
        let text = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": { "type": "string" } });

        assert_eq!(nouns(&tool(json!({ "filePath": text }))), [Noun::PathAt("/filePath".to_owned())]);
        assert_eq!(nouns(&tool(json!({ "paths": list }))), [Noun::PathEach("/paths".to_owned())]);
        assert_eq!(nouns(&tool(json!({ "a/path": text }))), [Noun::PathAt("/a~1path".to_owned())]);
        assert_eq!(nouns(&tool(json!({ "query": text, "profile": text }))), [Noun::Itself]);
        assert_eq!(nouns(&json!({ "name": "read" })), [Noun::Itself]);
    }

    /// G3: a read whose arguments reach further than its nouns is not drafted as allowed.
    #[test]
    fn an_argument_that_no_noun_covers_is_noticed_at_any_depth() {
        let text = json!({ "type": "string" });
        let nested =
            json!({ "type": "array", "items": { "type": "object", "properties": { "path": text } } });

        assert!(reach(&tool(json!({ "url": text }))).is_some());
        assert!(reach(&tool(json!({ "edits": nested }))).is_some());
        assert!(reach(&tool(json!({ "path": { "type": "number" } }))).is_some());
        assert!(reach(&tool(json!({ "path": text, "head": { "type": "number" } }))).is_none());
        assert!(reach(&tool(json!({ "query": text }))).is_none());
    }
}
