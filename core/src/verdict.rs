//! The body of `POST /v1/actions`: a vendor asks about a call that it makes itself.
//!
//!     {"session_external_id":"run-7","seq":0,"tool":{"name":"send","provider":"mail"},"args_redacted":{},
//!      "args_hash":"sha256:…","signals":{"op":"send"},"requested_at":"2026-11-30T11:20:00.123Z",
//!      "chain":{"prev_hash":"sha256:…"}}
//!
//! Promised: what reads has every member that it must have, no unknown one, and nothing that looks like an address where an
//! opaque name belongs; what does not names the place. Not promised: that any of it is true. These are a vendor's claims.

mod signals;

pub use signals::{Answer, Claims, Dimension, Signals};

use crate::declared::{AskedAction, AskedTool};
use crate::digest::Digest;
use crate::id::looks_like_an_address;
use crate::json::{self, Profile};
use crate::time::Timestamp;
use serde_json::{Map, Value};
use std::fmt::Display;

/// Longest text of a member, in bytes.
pub const MAX_TEXT: usize = 256;
/// A call's number in its session is a signed integer of 32 bits on the wire.
const MAX_SEQ: u64 = i32::MAX as u64;

/// Why a body is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{path}`: {reason}")]
pub struct Rejected {
    pub path: String,
    pub reason: String,
}

impl Rejected {
    pub(super) fn at(path: impl Into<String>, reason: impl Display) -> Self {
        Self { path: path.into(), reason: reason.to_string() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ActionRequest {
    /// The session by the vendor's own name.
    pub session: String,
    pub seq: u64,
    pub tool: AskedTool,
    /// What the vendor shows of the arguments; the nouns are read from it.
    pub args_redacted: Map<String, Value>,
    pub args_hash: Digest,
    /// The arguments themselves, where the vendor sends them: then a capability can be bound to them.
    pub arguments: Option<Value>,
    pub signals: Signals,
    pub resource: Option<String>,
    pub requested_at: Timestamp,
    pub prev: Option<Digest>,
}

impl ActionRequest {
    /// Reads a body of the foreign profile.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn parse(text: &[u8]) -> Result<Self, Rejected> {
        let body = json::parse_within(text, Profile::Foreign, json::MAX_BOUND)
            .map_err(|error| Rejected::at(error.path(), error.reason()))?;
        let body = Members::of(&body, "$")?;
        body.only(&[
            "session_external_id",
            "seq",
            "tool",
            "args_redacted",
            "args_hash",
            "arguments",
            "signals",
            "resource_ref",
            "requested_at",
            "chain",
        ])?;
        let args_hash = body.digest("args_hash")?;
        Ok(Self {
            session: body.name("session_external_id")?,
            seq: body.seq()?,
            tool: body.tool()?,
            args_redacted: match body.present("args_redacted") {
                Some(_) => body.object("args_redacted")?.members.clone(),
                None => return Err(body.wrong("args_redacted", "an object is missing")),
            },
            args_hash,
            arguments: body.arguments(args_hash)?,
            signals: match body.present("signals") {
                Some(signals) => Signals::read(signals, "$.signals")?,
                None => Signals::default(),
            },
            resource: body.optional_name("resource_ref")?,
            requested_at: body.time("requested_at")?,
            prev: match body.present("chain") {
                Some(_) => {
                    let chain = body.object("chain")?;
                    chain.only(&["prev_hash"])?;
                    chain.optional_digest("prev_hash")?
                }
                None => None,
            },
        })
    }

    /// What makes two requests one: a retry has the same, another question another.
    pub fn asked(&self) -> AskedAction {
        let text = |name: &str| self.signals.text(name).map(str::to_owned);
        AskedAction {
            seq: self.seq,
            tool: self.tool.clone(),
            args_hash: self.args_hash,
            resolves_action: text("resolves_action"),
            human_decision: text("human_decision"),
        }
    }

    /// What nouns and declared fields are read from.
    pub fn shown(&self) -> Value {
        self.arguments.clone().unwrap_or_else(|| Value::Object(self.args_redacted.clone()))
    }
}

/// The members of one object, and where it stands.
pub(super) struct Members<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Members<'a> {
    pub(super) fn of(value: &'a Value, path: &str) -> Result<Self, Rejected> {
        let members = value.as_object().ok_or_else(|| Rejected::at(path, "not an object"))?;
        Ok(Self { members, path: path.to_owned() })
    }

    fn wrong(&self, name: &str, reason: impl Display) -> Rejected {
        Rejected::at(format!("{}.{name}", self.path), reason)
    }

    fn only(&self, known: &[&str]) -> Result<(), Rejected> {
        match self.members.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(self.wrong(name, "no such member")),
            None => Ok(()),
        }
    }

    /// Null is absent.
    fn present(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn object(&self, name: &str) -> Result<Self, Rejected> {
        let value = self.present(name).ok_or_else(|| self.wrong(name, "an object is missing"))?;
        Self::of(value, &format!("{}.{name}", self.path))
    }

    fn name(&self, name: &str) -> Result<String, Rejected> {
        self.optional_name(name)?.ok_or_else(|| self.wrong(name, "a text is missing"))
    }

    /// A text that is kept or published by its commitment only; an address has no business in it all the same.
    fn optional_name(&self, name: &str) -> Result<Option<String>, Rejected> {
        let Some(value) = self.present(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.wrong(name, "not a text"))?;
        checked(text).map(Some).map_err(|reason| self.wrong(name, reason))
    }

    fn digest(&self, name: &str) -> Result<Digest, Rejected> {
        self.optional_digest(name)?.ok_or_else(|| self.wrong(name, "a digest is missing"))
    }

    fn optional_digest(&self, name: &str) -> Result<Option<Digest>, Rejected> {
        let Some(value) = self.present(name) else { return Ok(None) };
        let digest = value.as_str().and_then(|text| text.parse().ok());
        digest.map(Some).ok_or_else(|| self.wrong(name, "not `sha256:` and 64 hexadecimal digits"))
    }

    fn time(&self, name: &str) -> Result<Timestamp, Rejected> {
        let text = self.present(name).and_then(Value::as_str);
        let text = text.ok_or_else(|| self.wrong(name, "a time is missing"))?;
        Timestamp::parse(text)
            .map_err(|_| self.wrong(name, "not a UTC time such as 2026-11-30T11:20:00.123Z"))
    }

    fn seq(&self) -> Result<u64, Rejected> {
        let seq = self.present("seq").and_then(whole).filter(|seq| *seq <= MAX_SEQ);
        seq.ok_or_else(|| self.wrong("seq", "not a whole number from 0 to 2147483647"))
    }

    fn tool(&self) -> Result<AskedTool, Rejected> {
        let tool = self.object("tool")?;
        tool.only(&["name", "provider", "server"])?;
        Ok(AskedTool {
            name: tool.name("name")?,
            provider: tool.optional_name("provider")?,
            server: tool.optional_name("server")?,
        })
    }

    fn arguments(&self, hash: Digest) -> Result<Option<Value>, Rejected> {
        let Some(arguments) = self.present("arguments") else { return Ok(None) };
        if !arguments.is_object() {
            return Err(self.wrong("arguments", "not an object"));
        }
        match Digest::of(&json::canonical_value(arguments)) == hash {
            true => Ok(Some(arguments.clone())),
            false => Err(self.wrong("arguments", "not what `args_hash` is the hash of")),
        }
    }
}

/// `3.0` is 3 to every reader of the foreign profile.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        (number <= MAX_SEQ as f64).then_some(number as u64)
    })
}

/// A text that may be kept: short, printable, nobody's address.
fn checked(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || text.len() > MAX_TEXT {
        return Err("not a text of 1 to 256 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("holds a control character");
    }
    match looks_like_an_address(text) {
        true => Err("looks like an address; send an opaque name"),
        false => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests;
