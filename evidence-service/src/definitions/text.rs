//! A definition as lines that can be compared and shown.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::looks_like_an_address;
use counterfoil_core::json::{self, Profile};
use counterfoil_policy::pin_of;
use serde_json::Value;

/// In place of a text that looks like an address: what a provider writes about its tool is public, people are not.
const LEFT_OUT: &str = "(left out: looks like an address)";
/// Longer strings are broken at sentence ends and then here, so that a changed word is a changed line.
const WIDTH: usize = 100;

/// The pin of a listed tool, and its members one a line; none if it has no one reading.
pub(super) fn read(text: &str) -> Option<(Digest, String)> {
    let listed = json::parse(text.as_bytes(), Profile::Foreign).ok()?;
    let digest = pin_of(&listed);
    let mut lines = Vec::new();
    flatten("", &listed, &mut lines);
    Some((digest, lines.join("\n")))
}

/// `inputSchema.properties.path.type = string`, in the order of names: an order of members that changed changes nothing.
fn flatten(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let mut names: Vec<&String> =
                members.keys().filter(|name| !(path.is_empty() && *name == "_meta")).collect();
            names.sort();
            for name in names {
                let place = if path.is_empty() { shown(name) } else { format!("{path}.{}", shown(name)) };
                flatten(&place, &members[name.as_str()], lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), item, lines);
            }
        }
        Value::String(text) => {
            lines.extend(wrapped(text).iter().map(|part| format!("{path} = {}", shown(part))))
        }
        other => lines.push(format!("{path} = {other}")),
    }
}

/// Visible characters only, and nothing that reaches a person.
fn shown(text: &str) -> String {
    if looks_like_an_address(text) || text.split(|c: char| !is_of_a_word(c)).any(looks_like_an_address) {
        return LEFT_OUT.to_owned();
    }
    text.chars().map(|c| if c.is_control() || is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || "@.+-_:/%".contains(c)
}

/// Marks that reorder or hide text: a reader must see what a model reads.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn wrapped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in text.split_inclusive([' ', '\n']) {
        let last = parts.last_mut().expect("there is always a last part");
        let ended = last.trim_end().ends_with(['.', '!', '?']) || last.ends_with('\n');
        if !last.is_empty() && (ended || last.chars().count() + word.chars().count() > WIDTH) {
            parts.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    parts.iter().map(|part| part.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G2: the pin is that of the text, and the order of members is no change.
    #[test]
    fn a_definition_is_read_into_sorted_lines_under_its_own_pin() {
        let one = r#"{"name":"read","description":"Reads. Really.","inputSchema":{"type":"object","required":["path"]}}"#;
        let other = r#"{"inputSchema":{"required":["path"],"type":"object"},"description":"Reads. Really.","name":"read","_meta":{"a":1}}"#;

        let (digest, lines) = read(one).expect("a definition");

        assert_eq!(read(other), Some((digest, lines.clone())));
        assert_eq!(
            lines.lines().collect::<Vec<_>>(),
            [
                "description = Reads.",
                "description = Really.",
                "inputSchema.required[0] = path",
                "inputSchema.type = object",
                "name = read",
            ]
        );
    }

    /// T4: whoever describes a tool by a person does not put that person on a page.
    #[test]
    fn a_line_that_looks_like_an_address_is_left_out() {
        let (_, lines) =
            read(r#"{"name":"a","description":"Ask (mallory@example.com), or call."}"#).expect("read");

        assert!(!lines.contains("mallory"), "{lines}");
        assert!(lines.contains(LEFT_OUT), "{lines}");
    }

    #[test]
    fn a_mark_that_hides_text_is_shown_as_a_mark() {
        let (_, lines) =
            read("{\"name\":\"a\",\"description\":\"safe\u{202e}\u{200b}\u{e0041}\"}").expect("read");

        assert!(lines.contains("description = safe\u{fffd}\u{fffd}\u{fffd}"), "{lines}");
    }
}
