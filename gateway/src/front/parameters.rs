//! `Mcp-Param-*` headers (2026-07-28): arguments that a tool's schema wants repeated in headers.
//!
//! A schema marks them with `x-mcp-header`, at any depth that is reached through `properties` alone. We read the body
//! anyway, so a header that says otherwise, or is missing, is an error, and one that no schema asks for is ignored.
//!
//!     {"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}   →   Mcp-Param-Region: eu-west-1

use super::headers::{Said, said};
use axum::http::HeaderMap;
use serde_json::Value;

/// Deeper than this nobody marks an argument.
const DEEPEST: usize = 16;

/// The first header that does not agree, with how.
pub fn disagreement(
    schema: &Value,
    arguments: &Value,
    headers: &HeaderMap,
) -> Option<(String, &'static str)> {
    below(schema, Some(arguments), headers, DEEPEST)
}

fn below(
    schema: &Value,
    value: Option<&Value>,
    headers: &HeaderMap,
    depth: usize,
) -> Option<(String, &'static str)> {
    let properties = schema.get("properties")?.as_object()?;
    let depth = depth.checked_sub(1)?;
    properties.iter().find_map(|(name, property)| {
        let value = value.and_then(|value| value.get(name));
        let here = property.get("x-mcp-header").and_then(Value::as_str).and_then(|marked| {
            let header = format!("mcp-param-{}", marked.to_ascii_lowercase());
            let how = disagrees(value, &said(headers, &header))?;
            Some((header, how))
        });
        here.or_else(|| below(property, value, headers, depth))
    })
}

fn disagrees(value: Option<&Value>, said: &Said) -> Option<&'static str> {
    match (value, said) {
        (_, Said::Garbled) => Some("cannot be read"),
        (None | Some(Value::Null), Said::Nothing) => None,
        (None | Some(Value::Null), Said::Text(_)) => Some("says something that the body does not"),
        (Some(_), Said::Nothing) => Some("is missing"),
        (Some(value), Said::Text(text)) => match same(value, text) {
            true => None,
            false => Some("says something else than the body"),
        },
    }
}

fn same(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string == text,
        Value::Bool(truth) => text == if *truth { "true" } else { "false" },
        // Numbers are compared as numbers: `1.0` in a body and `1` in a header are the same integer.
        Value::Number(number) => text.parse::<f64>().ok() == number.as_f64(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    fn check(arguments: Value, headers: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "deep": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "plain": {"type": "string"},
        }});
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        disagreement(&schema, &arguments, &map).map(|(_, how)| how)
    }

    #[test]
    fn marked_arguments_are_repeated_in_headers() {
        let all = json!({"region": "é", "count": 1.0, "deep": {"flag": true}, "plain": "x"});
        let headers = [
            ("mcp-param-region", "=?base64?w6k=?="),
            ("mcp-param-count", "1"),
            ("mcp-param-flag", "true"),
            ("mcp-param-other", "ignored"),
        ];
        assert_eq!(check(all.clone(), &headers), None);
        assert_eq!(check(json!({"plain": "x"}), &[]), None);
        assert_eq!(check(json!({"region": null}), &[]), None);

        assert_eq!(check(all.clone(), &headers[1..]), Some("is missing"));
        assert_eq!(check(all.clone(), &headers[..2]), Some("is missing"));
        assert_eq!(check(json!({}), &[headers[1]]), Some("says something that the body does not"));
        assert_eq!(
            check(json!({"region": "a"}), &[("mcp-param-region", "A")]),
            Some("says something else than the body")
        );
        assert_eq!(
            check(json!({"region": "a"}), &[("mcp-param-region", "=?base64?*?=")]),
            Some("cannot be read")
        );
    }
}
