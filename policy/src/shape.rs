//! The public shape of a call's arguments: names that the pinned schema has, JSON types, rough sizes. No content.
//!
//! Size is the number of UTF-8 bytes of a string, of elements of an array, of members of an object, and 1 for
//! everything else (the length of `true` would give it away), rounded up to a power of two:
//!
//!     {"path":"/notes/été.txt","text":"hello"}  →  {"path":{"type":"string","size":16},"text":{"type":"string","size":8}}

use crate::label;
use crate::listed::Listed;
use crate::registry::{Field, Tool};
use counterfoil_core::statement::{JsonType, Shape, ShapeField};
use serde_json::Value;
use std::collections::BTreeSet;

/// More than this many arguments would not fit a decision; the rest stay unmentioned.
const MAX_ARGUMENTS: usize = 64;

/// Left out: what the schema does not name (a caller's word never becomes public), what the registry redacts, and names
/// that are not plain ASCII words.
pub(crate) fn of(arguments: &Value, listed: &Listed, redacted: &[String]) -> Shape {
    of_named(arguments, |name| listed.names(name), redacted)
}

/// Of what a vendor shows, where no schema is listed: names that the registry's own places have.
pub(crate) fn shown(arguments: &Value, tool: &Tool) -> Shape {
    let names = tool.fields().values().map(Field::at);
    let names: BTreeSet<&str> = names.filter_map(|at| at.strip_prefix('/')?.split('/').next()).collect();
    of_named(arguments, |name| names.contains(name), tool.redacted())
}

fn of_named(arguments: &Value, is_named: impl Fn(&str) -> bool, redacted: &[String]) -> Shape {
    let Some(members) = arguments.as_object() else {
        return Shape::new();
    };
    let mut shape: Shape = members
        .iter()
        .filter(|(name, _)| is_named(name) && label::is_argument(name))
        .filter(|(name, _)| !redacted.contains(name))
        .map(|(name, value)| (name.clone(), field(value)))
        .collect();
    while shape.len() > MAX_ARGUMENTS {
        shape.pop_last();
    }
    shape
}

fn field(value: &Value) -> ShapeField {
    let (json_type, size) = match value {
        Value::Null => (JsonType::Null, 1),
        Value::Bool(_) => (JsonType::Boolean, 1),
        Value::Number(_) => (JsonType::Number, 1),
        Value::String(text) => (JsonType::String, text.len()),
        Value::Array(elements) => (JsonType::Array, elements.len()),
        Value::Object(members) => (JsonType::Object, members.len()),
    };
    ShapeField { json_type, size: (size as u64).next_power_of_two() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed() -> Listed {
        let text = json!({ "type": "string" });
        Listed::read(&json!({
            "name": "note_write",
            "inputSchema": { "type": "object", "properties": {
                "path": text, "text": text, "clé": text, "a@example.com": text,
            }},
        }))
    }

    /// The golden decision's own numbers. T4
    #[test]
    fn sizes_are_utf8_bytes_rounded_up_to_a_power_of_two() {
        let arguments = json!({ "path": "/notes/été.txt", "text": "hello", "n": 3, "tags": ["a", "b"] });

        let shape = of(&arguments, &listed(), &[]);

        let expected = json!({
            "path": { "type": "string", "size": 16 },
            "text": { "type": "string", "size": 8 },
        });
        assert_eq!(serde_json::to_value(shape).expect("JSON"), expected);
    }

    /// T4
    #[test]
    fn a_redacted_argument_is_not_mentioned() {
        let arguments = json!({ "path": "/notes/a", "text": "secret" });

        let shape = of(&arguments, &listed(), &["text".to_owned()]);

        assert_eq!(shape.keys().collect::<Vec<_>>(), ["path"]);
    }

    /// T4: a name is public, so it must be a plain word that the schema has.
    #[test]
    fn names_that_are_no_plain_words_are_not_mentioned() {
        let arguments = json!({ "clé": "x", "a@example.com": "x", "unasked": "x" });

        assert!(of(&arguments, &listed(), &[]).is_empty());
    }

    #[test]
    fn the_size_of_a_boolean_does_not_give_it_away() {
        assert_eq!(field(&json!(true)), field(&json!(false)));
        assert_eq!(field(&json!(7)), field(&json!(7_000_000)));
        assert_eq!(field(&json!("")).size, 1);
    }
}
