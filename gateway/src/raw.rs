//! Surgery on JSON text: reads the members of one object and replaces or drops some, leaving every other byte alone.
//!
//! Promised: what is not named is copied byte for byte, so 30-digit numbers, `1.0` and members nobody knows survive
//! the gateway. Two members of one name are refused.
//! Not promised: anything about the values; they are only known to be JSON.
//!
//!     {"a": 1e2, "b" :[]}   with("b", "{}")   →   {"a": 1e2, "b" :{}}

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// The members of one object, as places in its text.
#[derive(Debug)]
pub struct Object<'a> {
    text: &'a str,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    key: String,
    key_at: usize,
    value: Range<usize>,
}

#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum RawError {
    #[error("not a JSON object")]
    NotAnObject,
    #[error("two members are called `{0}`")]
    Duplicate(String),
}

impl<'a> Object<'a> {
    pub fn read(text: &'a str) -> Result<Self, RawError> {
        let object = Self::read_loosely(text)?;
        // A set, since half a million members fit into one message.
        let mut seen = HashSet::with_capacity(object.members.len());
        if let Some(twice) = object.members.iter().find(|member| !seen.insert(member.key.as_str())) {
            return Err(RawError::Duplicate(twice.key.clone()));
        }
        Ok(object)
    }

    /// For results, which are never refused: of two members of one name the last counts, as most readers have it.
    pub fn read_loosely(text: &'a str) -> Result<Self, RawError> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let mut reader = serde_json::Deserializer::from_str(text);
        let spans = reader
            .deserialize_map(Members)
            .and_then(|spans| reader.end().map(|()| spans))
            .map_err(|_| RawError::NotAnObject)?;
        let mut members: Vec<Member> = Vec::with_capacity(spans.len());
        for (key, value) in spans {
            // A key with a lone surrogate has no reading at all.
            let name: String = serde_json::from_str(key.get()).map_err(|_| RawError::NotAnObject)?;
            members.push(Member {
                key: name,
                key_at: offset(text, key.get()),
                value: span(text, value.get()),
            });
        }
        Ok(Self { text, members })
    }

    /// The text of a member's value.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.members.iter().rfind(|m| m.key == key).map(|m| &self.text[m.value.clone()])
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The text with one member's value replaced, or the member added in front when there is none.
    pub fn with(&self, key: &str, value: &str) -> String {
        let mut named = self.members.iter().filter(|m| m.key == key);
        if let Some(member) = named.next() {
            if named.next().is_some() {
                let rest = self.without(|other| other == key);
                return add_in_front(&rest, key, value);
            }
            let (before, after) = (&self.text[..member.value.start], &self.text[member.value.end..]);
            return format!("{before}{value}{after}");
        }
        add_in_front(self.text, key, value)
    }

    /// The text without the members that `dropped` names; the text itself when it names none.
    pub fn without(&self, dropped: impl Fn(&str) -> bool) -> String {
        if !self.members.iter().any(|m| dropped(&m.key)) {
            return self.text.to_owned();
        }
        let kept: Vec<&str> = self
            .members
            .iter()
            .filter(|m| !dropped(&m.key))
            .map(|m| &self.text[m.key_at..m.value.end])
            .collect();
        format!("{{{}}}", kept.join(","))
    }
}

/// Adds a member to the text of an object, which begins with its brace.
fn add_in_front(object: &str, key: &str, value: &str) -> String {
    let rest = object[1..].trim_start_matches([' ', '\t', '\r', '\n']);
    let separator = if rest.starts_with('}') { "" } else { "," };
    format!("{{{}:{value}{separator}{}", quoted(key), &object[1..])
}

/// A string as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string always has a JSON form")
}

/// The same document without line breaks. Inside strings JSON has no raw ones, so only white space changes.
pub fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<&RawValue>()? {
            members.push((key, map.next_value::<&RawValue>()?));
        }
        Ok(members)
    }
}

/// Where `part`, which the reader cut out of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

fn span(text: &str, part: &str) -> Range<usize> {
    let start = offset(text, part);
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#" { "n" : 123456789012345678901234567890, "x": 1.0 ,"_meta":{"a" : 1e2}, "\u0062":"é" } "#;

    #[test]
    fn untouched_members_keep_every_byte() {
        let object = Object::read(TEXT).expect("an object");

        assert_eq!(
            object.with("_meta", r#"{"r":1}"#),
            r#"{ "n" : 123456789012345678901234567890, "x": 1.0 ,"_meta":{"r":1}, "\u0062":"é" }"#
        );
        assert_eq!(
            object.with("new", "[]"),
            r#"{"new":[], "n" : 123456789012345678901234567890, "x": 1.0 ,"_meta":{"a" : 1e2}, "\u0062":"é" }"#
        );
        assert_eq!(
            object.without(|key| key == "_meta"),
            r#"{"n" : 123456789012345678901234567890,"x": 1.0,"\u0062":"é"}"#
        );
        assert_eq!(object.without(|_| false), TEXT.trim());
        assert_eq!(object.value("b"), Some("\"é\""));
        assert_eq!(Object::read("{}").expect("empty").with("a", "1"), r#"{"a":1}"#);
    }

    #[test]
    fn two_members_of_one_name_are_refused_however_they_are_spelled() {
        assert_eq!(
            Object::read(r#"{"b":1,"\u0062":2}"#).expect_err("duplicate"),
            RawError::Duplicate("b".into())
        );
        for text in ["[]", "1", "{", "{} {}", r#"{"a":}"#, r#"{"\ud800":1}"#] {
            assert_eq!(Object::read(text).expect_err(text), RawError::NotAnObject, "{text}");
        }
    }

    // T8: comparing each with each would take minutes.
    #[test]
    fn half_a_million_members_are_read_in_a_moment() {
        let members: Vec<String> = (0..500_000).map(|n| format!("\"{n}\":0")).collect();
        let good = format!("{{{}}}", members.join(","));
        let bad = format!("{{{},\"0\":0}}", members.join(","));
        let began = std::time::Instant::now();

        assert!(Object::read(&good).is_ok());
        assert_eq!(Object::read(&bad).expect_err("duplicate"), RawError::Duplicate("0".into()));

        assert!(began.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn a_result_with_two_members_of_one_name_is_still_handed_on() {
        let text = r#"{"_meta":1,"a":2,"_meta":3}"#;
        let object = Object::read_loosely(text).expect("an object");

        assert_eq!(object.value("_meta"), Some("3"));
        assert_eq!(object.with("_meta", "{}"), r#"{"_meta":{},"a":2}"#);
    }

    #[test]
    fn a_line_break_between_values_becomes_a_space() {
        assert_eq!(on_one_line("{\n \"a\":\r\n\"\\n\"}"), "{  \"a\":  \"\\n\"}");
    }
}
