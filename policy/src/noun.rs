//! Nouns: what a call is about. A noun that cannot be extracted holds the call.
//!
//! Promised: a value is the string as sent, never rewritten. A `path` is absolute and lexically normalised, so that
//! `resource in Gw::Path::"/notes"` cannot be left by `/notes/../etc`; any other spelling is no noun.
//! Not promised: what a provider makes of a path: symbolic links, case folding, percent decoding are its own.

use counterfoil_core::statement::NounType;
use serde_json::Value;
use std::fmt;

/// Longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// Deepest path: one Cedar entity is made for each ancestor.
const MAX_DEPTH: usize = 64;
/// Most nouns of one call.
pub(crate) const MAX_NOUNS: usize = 32;

/// Kinds that would hide a type of the schema.
const RESERVED: &[&str] = &[
    "agent",
    "bool",
    "boolean",
    "data_class",
    "destination",
    "entity",
    "env",
    "extension",
    "long",
    "magnitude",
    "mode",
    "operation",
    "origin",
    "record",
    "reversibility",
    "set",
    "string",
];

/// What sort of thing a noun is; each is an entity type of the rules.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum NounKind {
    /// Hierarchical: a folder contains what is below it.
    Path,
    /// The tool itself, where its reach cannot be told from its arguments.
    Tool,
    /// Any other word, such as `address` or `repository`: values are equal or they are not.
    Other(NounType),
}

impl NounKind {
    pub(crate) fn of(word: NounType) -> Result<Self, String> {
        match word.as_str() {
            "path" => Ok(Self::Path),
            "tool" => Ok(Self::Tool),
            text if RESERVED.contains(&text) => Err(format!("`{text}` is reserved")),
            text if is_kind(text) => Ok(Self::Other(word)),
            text => Err(format!("`{text}` is not a noun type like `mail_address`")),
        }
    }

    pub fn noun_type(&self) -> NounType {
        match self {
            Self::Path => "path".parse().expect("`path` is a noun type"),
            Self::Tool => "tool".parse().expect("`tool` is a noun type"),
            Self::Other(word) => word.clone(),
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Path => "path",
            Self::Tool => "tool",
            Self::Other(word) => word.as_str(),
        }
    }

    /// The entity type in rules, without namespace: `mail_address` is `MailAddress`.
    pub(crate) fn entity_type(&self) -> String {
        self.word().split('_').map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect()
    }
}

/// Words of letters and digits, joined by `_`, each starting with a letter: then no two kinds share an entity type.
fn is_kind(word: &str) -> bool {
    word.split('_').all(|part| part.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Where the registry says that a tool's nouns stand.
#[derive(Clone, Debug)]
pub(crate) struct NounSource {
    kind: NounKind,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Itself,
    At(String),
    Each(String),
}

impl NounSource {
    pub(crate) fn itself() -> Self {
        Self { kind: NounKind::Tool, place: Place::Itself }
    }

    pub(crate) fn at(kind: NounKind, pointer: String) -> Self {
        Self { kind, place: Place::At(pointer) }
    }

    pub(crate) fn each(kind: NounKind, pointer: String) -> Self {
        Self { kind, place: Place::Each(pointer) }
    }

    pub(crate) fn kind(&self) -> &NounKind {
        &self.kind
    }

    /// The nouns of one call, or why there are none. The reason names the pointer, never the value.
    pub(crate) fn extract(&self, tool: &str, arguments: &Value) -> Result<Vec<NounValue>, String> {
        let found = match &self.place {
            Place::Itself => vec![tool],
            Place::At(pointer) => {
                let value = arguments.pointer(pointer);
                vec![value.and_then(Value::as_str).ok_or_else(|| format!("no string at `{pointer}`"))?]
            }
            Place::Each(pointer) => strings_at(pointer, arguments)?,
        };
        found.into_iter().map(|value| NounValue::parse(self.kind.clone(), value)).collect()
    }
}

impl fmt::Display for NounSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Itself => f.write_str("tool"),
            Place::At(pointer) => write!(f, "{} at {pointer}", self.kind.word()),
            Place::Each(pointer) => write!(f, "{} each {pointer}", self.kind.word()),
        }
    }
}

fn strings_at<'a>(pointer: &str, arguments: &'a Value) -> Result<Vec<&'a str>, String> {
    let strings: Option<Vec<&str>> = arguments
        .pointer(pointer)
        .and_then(Value::as_array)
        .and_then(|array| array.iter().map(Value::as_str).collect());
    match strings {
        Some(strings) if (1..=MAX_NOUNS).contains(&strings.len()) => Ok(strings),
        Some(_) | None => Err(format!("no array of 1 to {MAX_NOUNS} strings at `{pointer}`")),
    }
}

/// One noun of one call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NounValue {
    kind: NounKind,
    value: String,
}

impl NounValue {
    pub(crate) fn parse(kind: NounKind, value: &str) -> Result<Self, String> {
        if value.is_empty() || value.len() > MAX_VALUE {
            return Err(format!("a noun is 1 to {MAX_VALUE} bytes long"));
        }
        if kind == NounKind::Path && !is_normal_path(value) {
            return Err("not an absolute, lexically normalised path".to_owned());
        }
        Ok(Self { kind, value: value.to_owned() })
    }

    pub fn kind(&self) -> &NounKind {
        &self.kind
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// The folders around a path, nearest first, `/` last; empty for other kinds.
    pub(crate) fn ancestors(&self) -> Vec<&str> {
        match self.kind {
            NounKind::Path => ancestors(&self.value),
            NounKind::Tool | NounKind::Other(_) => Vec::new(),
        }
    }
}

fn ancestors(path: &str) -> Vec<&str> {
    let mut above = Vec::new();
    let mut rest = path;
    while let Some(slash) = rest.rfind('/') {
        if rest == "/" {
            break;
        }
        rest = if slash == 0 { "/" } else { &rest[..slash] };
        above.push(rest);
    }
    above
}

/// `/` or `/a/b`: no empty, `.` or `..` part, no trailing slash, no backslash (a separator elsewhere), no control
/// character.
pub(crate) fn is_normal_path(text: &str) -> bool {
    let Some(below) = text.strip_prefix('/') else {
        return false;
    };
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return false;
    }
    below.is_empty()
        || (below.split('/').count() <= MAX_DEPTH
            && below.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

#[cfg(test)]
mod tests;
