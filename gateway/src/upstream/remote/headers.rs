//! The headers that a request of 2026-07-28 repeats its body in. They are made anew from what goes out, never handed on.

use crate::upstream::catalogue::ListedTool;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::collections::BTreeSet;

const MARK: &str = "x-mcp-header";
/// Deeper than this nobody marks an argument.
const DEEPEST: usize = 16;

/// `Mcp-Method`, and for a call `Mcp-Name` and the arguments that the tool's schema marks.
pub fn of(method: &str, params: &Value, tool: Option<&ListedTool>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    put(&mut headers, "mcp-method", method);
    if method != "tools/call" {
        return headers;
    }
    if let Some(name) = params.get("name").and_then(Value::as_str) {
        put(&mut headers, "mcp-name", name);
    }
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let marked = tool.and_then(|tool| marked(&tool.input_schema));
    for (header, path) in marked.unwrap_or_default() {
        let value = path.iter().try_fold(arguments, |value, name| value.get(name));
        if let Some(text) = value.and_then(text_of) {
            put(&mut headers, &format!("mcp-param-{header}"), &text);
        }
    }
    headers
}

/// Whether a tool can be called at all: one whose marks are wrong may not be.
pub fn is_usable(tool: &ListedTool) -> bool {
    marked(&tool.input_schema).is_some()
}

type Marked = (String, Vec<String>);

/// Header names, and where their arguments are. None when a mark is not a token, stands twice, marks what has no one
/// text, or stands where `properties` alone do not lead.
fn marked(schema: &Value) -> Option<Vec<Marked>> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    (names.len() == found.len() && found.len() == marks_in(schema)).then_some(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Marked>) -> Option<()> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Some(());
    };
    if path.len() == DEEPEST {
        return Some(());
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(mark) = property.get(MARK) {
            let mark = mark.as_str()?.to_ascii_lowercase();
            let kind = property.get("type").and_then(Value::as_str);
            let token = HeaderName::from_bytes(mark.as_bytes()).is_ok();
            if !token || !matches!(kind, Some("string" | "integer" | "boolean")) {
                return None;
            }
            found.push((mark, path.clone()));
        }
        collect(property, path, found)?;
        path.pop();
    }
    Some(())
}

fn marks_in(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            usize::from(members.contains_key(MARK)) + members.values().map(marks_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn put(headers: &mut HeaderMap, name: &str, text: &str) {
    let plain =
        text.bytes().all(|b| (0x20..0x7f).contains(&b)) && text.trim() == text && !text.starts_with("=?");
    let encoded = match plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    };
    // Both are visible ASCII by now.
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&encoded))
    {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::Catalogue;
    use serde_json::json;

    fn tool(properties: Value) -> Catalogue {
        let text =
            json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}}).to_string();
        Catalogue::of(vec![text])
    }

    #[test]
    fn marked_arguments_and_awkward_names_become_headers() {
        let tool = tool(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "absent": {"type": "boolean", "x-mcp-header": "Absent"},
        }));
        let params = json!({"name": "é tool", "arguments": {"region": " eu", "deep": {"n": 7}}});

        let headers = of("tools/call", &params, Some(&tool.tools()[0]));

        assert_eq!(headers["mcp-method"], "tools/call");
        assert_eq!(headers["mcp-name"], "=?base64?w6kgdG9vbA==?=");
        assert_eq!(headers["mcp-param-region"], "=?base64?IGV1?=");
        assert_eq!(headers["mcp-param-n"], "7");
        assert_eq!(headers.len(), 4);
    }

    #[test]
    fn tools_with_marks_that_cannot_be_honoured_are_not_usable() {
        assert!(is_usable(&tool(json!({"a": {"type": "string"}})).tools()[0]));
        for bad in [
            json!({"a": {"type": "string", "x-mcp-header": ""}}),
            json!({"a": {"type": "string", "x-mcp-header": "a b"}}),
            json!({"a": {"type": "number", "x-mcp-header": "A"}}),
            json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
            json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}),
        ] {
            assert!(!is_usable(&tool(bad.clone()).tools()[0]), "{bad}");
        }
    }
}
