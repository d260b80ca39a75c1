//! One entry of a host: what starts the server, where it is, or the places that cannot be carried over.

mod remote;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::Entry;
use super::host::{Host, Spelling};
use super::variables::{Surroundings, expand};
use crate::deployment::providers::HeaderValues;

/// How the server of an entry is reached. Both hold secrets, and have no `Debug`.
pub enum Carried {
    Child(Child),
    Remote(Remote),
}

/// A server that somebody has to start.
pub struct Child {
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub folder: Option<PathBuf>,
}

/// A server with an address, and the headers that it wants to see.
pub struct Remote {
    pub url: String,
    pub headers: HeaderValues,
}

/// Where something stands that we cannot do.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Refusal {
    pub place: String,
    pub reason: String,
}

pub enum Fate {
    Carried(Carried),
    /// It starts our own bridge, or goes to our own gateway.
    Ours,
    /// The host does not start it.
    SwitchedOff,
    Refused(Vec<Refusal>),
}

/// What becomes of an entry. Every member is carried, kept with the host, or named in a refusal.
pub fn carry(host: Host, entry: &Entry, around: &Surroundings<'_>) -> Fate {
    let members = &entry.members;
    if is_ours(entry, around) {
        return Fate::Ours;
    }
    if members.get("enabled") == Some(&Value::Bool(false))
        || members.get("disabled") == Some(&Value::Bool(true))
    {
        return Fate::SwitchedOff;
    }
    let mut reading = Reading { entry, spelling: host.spelling(), around, refusals: Vec::new() };
    let (carried, read) = match remote::speaks_http(entry) {
        true => (Carried::Remote(reading.remote(host)), remote::members(host)),
        false => (Carried::Child(reading.child()), &["command", "args", "env", "env_vars", "cwd"][..]),
    };
    for name in members.keys() {
        let known = name == "disabled" || read.contains(&name.as_str());
        if !known && !host.keeps(name) {
            reading.refuse(name, "is not known here, and what it does would be lost");
        }
    }
    match reading.refusals.is_empty() {
        true => Fate::Carried(carried),
        false => Fate::Refused(reading.refusals),
    }
}

/// `…/counterfoil stdio <provider> …`, as we write it, or the gateway's own address.
fn is_ours(entry: &Entry, around: &Surroundings<'_>) -> bool {
    let url = entry.members.get("url").and_then(Value::as_str).unwrap_or_default();
    let path = url.strip_prefix(around.gateway.trim_end_matches('/'));
    if path.is_some_and(|path| path == "/mcp" || path.starts_with("/mcp/")) {
        return true;
    }
    let program = entry.members.get("command").and_then(Value::as_str).unwrap_or_default();
    let is_counterfoil =
        program.rsplit(['/', '\\']).next().is_some_and(|name| name.starts_with("counterfoil"));
    is_counterfoil && entry.members.get("args").is_some_and(|arguments| arguments[0] == "stdio")
}

struct Reading<'a> {
    entry: &'a Entry,
    spelling: Spelling,
    around: &'a Surroundings<'a>,
    refusals: Vec<Refusal>,
}

impl Reading<'_> {
    fn refuse(&mut self, member: &str, reason: &str) {
        let place = format!("{}.{member}", self.entry.place());
        self.refusals.push(Refusal { place, reason: reason.to_owned() });
    }

    fn text(&mut self, member: &str, value: &Value) -> String {
        let Some(text) = value.as_str() else {
            self.refuse(member, "is no text");
            return String::new();
        };
        expand(text, self.spelling, self.around).unwrap_or_else(|reason| {
            self.refuse(member, &reason);
            String::new()
        })
    }

    fn child(&mut self) -> Child {
        let command = self.command();
        let mut env = self.env();
        env.extend(self.forwarded());
        let folder = self.folder().or_else(|| self.around.workspace.clone());
        Child { command, env, folder }
    }

    fn command(&mut self) -> Vec<String> {
        let members = &self.entry.members;
        let Some(program) = members.get("command") else {
            self.refuse("command", "is missing");
            return Vec::new();
        };
        let mut command = vec![self.text("command", program)];
        match members.get("args") {
            None => {}
            Some(Value::Array(arguments)) => {
                for (place, argument) in arguments.iter().enumerate() {
                    command.push(self.text(&format!("args[{place}]"), argument));
                }
            }
            Some(_) => self.refuse("args", "is no list"),
        }
        command
    }

    fn env(&mut self) -> BTreeMap<String, String> {
        match self.entry.members.get("env") {
            None => BTreeMap::new(),
            Some(Value::Object(variables)) => variables
                .iter()
                .map(|(name, value)| (name.clone(), self.text(&format!("env.{name}"), value)))
                .collect(),
            Some(_) => {
                self.refuse("env", "is no object");
                BTreeMap::new()
            }
        }
    }

    /// Codex: names of variables that it hands on.
    fn forwarded(&mut self) -> BTreeMap<String, String> {
        let names = match self.entry.members.get("env_vars") {
            None => return BTreeMap::new(),
            Some(Value::Array(names)) => names.clone(),
            Some(other) => vec![other.clone()],
        };
        let mut forwarded = BTreeMap::new();
        for (place, name) in names.iter().enumerate() {
            let member = format!("env_vars[{place}]");
            match name.as_str().map(|name| (name, (self.around.environment)(name))) {
                Some((name, Some(value))) => {
                    forwarded.insert(name.to_owned(), value);
                }
                Some((name, None)) => self.refuse(&member, &format!("the variable `{name}` is not set here")),
                None => self.refuse(&member, "is no name"),
            }
        }
        forwarded
    }

    fn folder(&mut self) -> Option<PathBuf> {
        let folder = PathBuf::from(match self.entry.members.get("cwd") {
            None => return None,
            Some(value) => self.text("cwd", value),
        });
        match (&self.around.workspace, folder.is_absolute()) {
            (_, true) => Some(folder),
            (Some(workspace), false) => Some(workspace.join(folder)),
            (None, false) => {
                self.refuse("cwd", "is relative, and to what is not known here");
                None
            }
        }
    }
}
