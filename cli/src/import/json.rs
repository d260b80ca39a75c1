//! JSON as hosts write it, comments and trailing commas included, changed in one place without touching the rest.

use anyhow::{Context, bail};
use counterfoil_core::json::{Profile, parse_within};
use serde_json::Value;

/// Claude Code keeps a history beside its servers.
const LARGEST: usize = 64 << 20;

pub struct Json {
    text: String,
    value: Value,
}

impl Json {
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let value = parse_within(plain(text).as_bytes(), Profile::Foreign, LARGEST)?;
        Ok(Self { text: text.to_owned(), value })
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts `with` in the place of the value that these keys lead to.
    pub fn replace(&mut self, keys: &[String], with: &Value) -> anyhow::Result<()> {
        let bare = plain(&self.text);
        let (from, to) =
            Scanner(&bare).find(keys).with_context(|| format!("`{}` is gone", keys.join(".")))?;
        // As deep as the line on which the value starts.
        let line = bare[..from].rfind('\n').map_or(0, |newline| newline + 1);
        let indent: String = bare[line..].chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        let pretty = format!("{with:#}").replace('\n', &format!("\n{indent}"));
        let text = format!("{}{pretty}{}", &self.text[..from], &self.text[to..]);
        let changed = Self::parse(&text)?;
        let found = keys.iter().try_fold(&changed.value, |value, key| value.get(key));
        if found != Some(with) {
            bail!("`{}` could not be replaced", keys.join("."));
        }
        *self = changed;
        Ok(())
    }
}

/// The same length, with spaces where comments and trailing commas were.
fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                at = string_end(&bytes, at);
                comma = None;
                continue;
            }
            (b'/', Some(b'/')) => at = blank_until(&mut bytes, at, |rest| rest.starts_with(b"\n")),
            (b'/', Some(b'*')) => {
                at = blank_until(&mut bytes, at, |rest| rest.starts_with(b"*/"));
                let end = bytes.len().min(at + 2);
                bytes[at..end].fill(b' ');
            }
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            (other, _) if other.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8(bytes).expect("only whole comments and commas became spaces")
}

fn blank_until(bytes: &mut [u8], mut at: usize, ends: impl Fn(&[u8]) -> bool) -> usize {
    // The two characters that open a comment cannot close it.
    let open = at + 2;
    while at < bytes.len() && (at < open || !ends(&bytes[at..])) {
        if bytes[at] != b'\n' {
            bytes[at] = b' ';
        }
        at += 1;
    }
    at
}

/// Behind the closing quote.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    bytes.len().min(at + 1)
}

/// Finds values in JSON that has been parsed before, so that its shape is not in doubt.
struct Scanner<'a>(&'a str);

impl Scanner<'_> {
    fn find(&self, keys: &[String]) -> Option<(usize, usize)> {
        let start = self.skip_space(0);
        keys.iter().try_fold((start, self.value_end(start)), |(at, _), key| self.member(at, key))
    }

    fn member(&self, object: usize, key: &str) -> Option<(usize, usize)> {
        if self.0.as_bytes().get(object) != Some(&b'{') {
            return None;
        }
        let mut at = self.skip_space(object + 1);
        while self.0.as_bytes().get(at) == Some(&b'"') {
            let name_end = string_end(self.0.as_bytes(), at);
            let name: String = serde_json::from_str(&self.0[at..name_end]).ok()?;
            // Over the colon.
            let value = self.skip_space(self.skip_space(name_end) + 1);
            let end = self.value_end(value);
            if name == key {
                return Some((value, end));
            }
            // Over the comma.
            at = self.skip_space(self.skip_space(end) + 1);
        }
        None
    }

    fn value_end(&self, start: usize) -> usize {
        let bytes = self.0.as_bytes();
        let (mut at, mut depth) = (start, 0usize);
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    at = string_end(bytes, at);
                    if depth == 0 {
                        return at;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return at,
                b'}' | b']' if depth == 1 => return at + 1,
                b'}' | b']' => depth -= 1,
                b',' if depth == 0 => return at,
                other if depth == 0 && other.is_ascii_whitespace() => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while self.0.as_bytes().get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_value_changes_and_comments_stay() {
        let text = "{\n  // mine, \"a\": {\n  \"a\": { \"b\": [1, 2, ], /* é */ \"c\": \"x // y\", },\n  \"d\": 1,\n}\n";

        let mut json = Json::parse(text).unwrap();
        assert_eq!(json.value()["a"]["c"], "x // y");
        json.replace(&["a".to_owned(), "b".to_owned()], &json!({ "n": 1 })).unwrap();

        assert_eq!(json.text(), text.replace("[1, 2, ]", "{\n    \"n\": 1\n  }"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{\"a\":1,\"a\":2}", "{\"a\" 1}", "/* {}", "{} x", "// {}"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
