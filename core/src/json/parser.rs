//! The reader behind [`super::parse`]: recursive descent over text, keeping the path for refusals.
//!
//! It is our own because serde_json turns a 30-digit integer into a double before anybody can object, and keeps the
//! last of two equal keys. Strings with
//! escapes are decoded by serde_json, which refuses lone surrogates.

use super::{JsonError, JsonReason, MAX_DEPTH, MAX_INTEGER, Profile};
use serde_json::{Map, Number, Value};

pub(super) fn read(text: &str, profile: Profile) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, profile, path: Vec::new() };
    reader.skip_space();
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at == text.len() {
        Ok(value)
    } else {
        Err(reader.refuse(JsonReason::Syntax("text after the end")))
    }
}

/// A place on the way down. A key is kept as its token and decoded only for a refusal.
#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    profile: Profile,
    path: Vec<Step<'t>>,
}

impl<'t> Reader<'t> {
    fn refuse(&self, reason: JsonReason) -> JsonError {
        let mut path = String::from("$");
        for step in &self.path {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(token) => match serde_json::from_str::<String>(token).unwrap_or_default() {
                    key if is_plain(&key) => path.push_str(&format!(".{key}")),
                    key => path.push_str(&format!("[{}]", Value::String(key))),
                },
            }
        }
        JsonError::at(path, reason)
    }

    fn syntax<T>(&self, what: &'static str) -> Result<T, JsonError> {
        Err(self.refuse(JsonReason::Syntax(what)))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'{') => self.deeper(depth, Self::object),
            Some(b'[') => self.deeper(depth, Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => self.syntax("unexpected character"),
            None => self.syntax("unexpected end"),
        }
    }

    fn deeper(
        &mut self,
        depth: usize,
        read: fn(&mut Self, usize) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        if depth == MAX_DEPTH {
            return Err(self.refuse(JsonReason::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        read(self, depth + 1)
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut members = Map::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.syntax("expected a key");
            }
            let from = self.at;
            let key = self.string()?;
            self.path.push(Step::Key(&self.text[from..self.at]));
            if self.profile == Profile::Strict && !key.is_ascii() {
                return Err(self.refuse(JsonReason::KeyNotAscii));
            }
            if members.contains_key(&key) {
                return Err(self.refuse(JsonReason::DuplicateKey));
            }
            self.skip_space();
            if !self.take(b':') {
                return self.syntax("expected `:`");
            }
            self.skip_space();
            let value = self.value(depth)?;
            members.insert(key, value);
            self.path.pop();
            self.skip_space();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return self.syntax("expected `,` or `}`");
            }
            self.skip_space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(Step::Index(items.len()));
            let value = self.value(depth)?;
            items.push(value);
            self.path.pop();
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return self.syntax("expected `,` or `]`");
            }
            self.skip_space();
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            self.syntax("unexpected word")
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        let mut plain = true;
        loop {
            match bytes.get(self.at) {
                None => return self.syntax("unterminated string"),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    self.at += 2;
                }
                Some(byte) => {
                    plain &= (b' '..=b'~').contains(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        // Printable ASCII without an escape stands for itself, and nothing in it is unsignable.
        if plain {
            return Ok(self.text[start + 1..self.at - 1].to_owned());
        }
        let token = bytes.get(start..self.at).unwrap_or_default();
        let decoded: String =
            serde_json::from_slice(token).map_err(|_| self.refuse(JsonReason::BadString))?;
        if self.profile == Profile::Strict && decoded.chars().any(is_unsignable) {
            return Err(self.refuse(JsonReason::ControlCharacter));
        }
        Ok(decoded)
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && !self.digits() {
            return self.syntax("malformed number");
        }
        let integer_end = self.at;
        if self.take(b'.') && !self.digits() {
            return self.syntax("malformed number");
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            if !self.digits() {
                return self.syntax("malformed number");
            }
        }
        let token = &self.text[start..self.at];
        if self.at == integer_end { self.integer(token) } else { self.double(token) }
    }

    fn integer(&self, token: &str) -> Result<Value, JsonError> {
        // Zero has one spelling in what we sign: some readers, serde_json among them, take `-0` for a fraction.
        if self.profile == Profile::Strict && token == "-0" {
            return Err(self.refuse(JsonReason::MinusZero));
        }
        match token.parse::<i64>() {
            Ok(number) if (-MAX_INTEGER..=MAX_INTEGER).contains(&number) => Ok(Value::Number(number.into())),
            _ => Err(self.refuse(JsonReason::BigInteger)),
        }
    }

    fn double(&self, token: &str) -> Result<Value, JsonError> {
        if self.profile == Profile::Strict {
            return Err(self.refuse(JsonReason::Fraction));
        }
        // `from_f64` is None for infinities, which is what an overflowing text parses to.
        token
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| self.refuse(JsonReason::NotFinite))
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn is_unsignable(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}')
}
