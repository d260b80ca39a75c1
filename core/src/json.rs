//! One strict JSON parser and one canonical form (RFC 8785).
//!
//! Promised: a text that parses has one reading. Duplicate keys, lone surrogates, invalid UTF-8, numbers that are no
//! finite double, integers beyond ±(2^53−1) and nesting deeper than 64 are refused, and the refusal names the place:
//!
//!     `$.items[2].price`: integer beyond ±(2^53−1)
//!
//! Not promised: that the received bytes were canonical. Canonicalise once and keep the bytes.

mod parser;
mod serializer;
mod writer;

use serde::Serialize;
use serde_json::Value;

/// Deepest nesting that is read; an array or object at the top is level 1.
pub const MAX_DEPTH: usize = 64;
/// Largest integer that every JSON reader understands alike (RFC 7493, section 2.2).
pub const MAX_INTEGER: i64 = (1 << 53) - 1;
/// Largest text of the strict profile, in bytes.
pub const MAX_STRICT: usize = 64 * 1024;
/// Largest canonical document of the foreign profile that can be bound, in bytes.
pub const MAX_BOUND: usize = 1024 * 1024;

/// Which texts are acceptable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Profile {
    /// What we sign: besides the rules of all, no floats, ASCII keys, no U+0000–001F, U+2028 or U+2029 in strings.
    Strict,
    /// Arguments, results, other people's statements: I-JSON with IEEE doubles.
    Foreign,
}

/// Why a text has no single reading.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JsonReason {
    #[error("not UTF-8")]
    NotUtf8,
    #[error("not JSON ({0})")]
    Syntax(&'static str),
    #[error("duplicate key")]
    DuplicateKey,
    #[error("lone surrogate or malformed string")]
    BadString,
    #[error("integer beyond ±(2^53−1)")]
    BigInteger,
    #[error("number is not a finite double")]
    NotFinite,
    #[error("nesting deeper than 64")]
    TooDeep,
    #[error("minus zero in a signed document")]
    MinusZero,
    #[error("fractional number in a signed document")]
    Fraction,
    #[error("key is not ASCII")]
    KeyNotAscii,
    #[error("control or line separator character in a signed document")]
    ControlCharacter,
    #[error("larger than {0} bytes")]
    TooLarge(usize),
}

/// A refusal with the JSON path of the place, such as `$.a[0].b`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{path}`: {reason}")]
pub struct JsonError {
    path: String,
    reason: JsonReason,
}

impl JsonError {
    pub(crate) fn at(path: String, reason: JsonReason) -> Self {
        Self { path, reason }
    }

    /// The place, such as `$.a[0].b`; `$` is the whole text.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn reason(&self) -> &JsonReason {
        &self.reason
    }
}

/// Reads one JSON text. The strict profile takes at most [`MAX_STRICT`] bytes.
pub fn parse(text: &[u8], profile: Profile) -> Result<Value, JsonError> {
    match profile {
        Profile::Strict => parse_within(text, profile, MAX_STRICT),
        Profile::Foreign => parse_within(text, profile, usize::MAX),
    }
}

/// Reads one JSON text of at most `limit` bytes.
pub fn parse_within(text: &[u8], profile: Profile, limit: usize) -> Result<Value, JsonError> {
    if text.len() > limit {
        return Err(JsonError::at("$".into(), JsonReason::TooLarge(limit)));
    }
    let text = std::str::from_utf8(text).map_err(|_| JsonError::at("$".into(), JsonReason::NotUtf8))?;
    parser::read(text, profile)
}

/// The RFC 8785 bytes of a value that came out of [`parse`] or is built from strings, integers, booleans and null.
pub fn canonical<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    serializer::write(value, &mut text).expect("documents of this crate have string keys and finite numbers");
    text
}

/// As [`canonical`], for a value that was read.
pub fn canonical_value(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    writer::write(value, &mut text);
    text
}

/// As [`canonical`], as text.
pub fn canonical_text<T: Serialize + ?Sized>(value: &T) -> String {
    String::from_utf8(canonical(value)).expect("a JSON text is UTF-8")
}

#[cfg(test)]
mod tests;
