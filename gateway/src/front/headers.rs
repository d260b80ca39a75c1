//! Values of `Mcp-*` headers (2026-07-28).
//!
//! Values that a header cannot carry travel as `=?base64?<base64 of UTF-8>?=`; they are decoded before they are
//! compared with the body. The body decides; a header that says otherwise is an error (-32020), never an instruction.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a header says.
#[derive(Debug, Eq, PartialEq)]
pub enum Said {
    Nothing,
    Text(String),
    /// Twice, not readable, or a sentinel around something that is not base64 of UTF-8.
    Garbled,
}

pub fn said(headers: &HeaderMap, name: &str) -> Said {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Said::Nothing;
    };
    if values.next().is_some() {
        return Said::Garbled;
    }
    let Ok(text) = value.to_str() else {
        return Said::Garbled;
    };
    match decode(text) {
        Some(text) => Said::Text(text),
        None => Said::Garbled,
    }
}

fn decode(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(values: &[&'static str]) -> Said {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("mcp-name", HeaderValue::from_static(value));
        }
        said(&headers, "Mcp-Name")
    }

    #[test]
    fn the_sentinel_is_decoded_before_comparing() {
        assert_eq!(read(&[]), Said::Nothing);
        assert_eq!(read(&["note_read"]), Said::Text("note_read".into()));
        assert_eq!(read(&["=?base64?w6kgdG9vbA==?="]), Said::Text("é tool".into()));
        for garbled in ["=?base64?w6?=", "=?base64?/w==?=", "=?base64?*?="] {
            assert_eq!(read(&[garbled]), Said::Garbled, "{garbled}");
        }
        assert_eq!(read(&["a", "a"]), Said::Garbled);
    }
}
