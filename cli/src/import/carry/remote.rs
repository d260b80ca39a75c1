//! A server that a host reaches over HTTP: address and headers, as each host spells them.
//!
//!     {"type": "http", "url": "https://mcp.linear.app/mcp", "headers": {"Authorization": "Bearer ${LINEAR}"}}
//!
//!     url = "https://mcp.linear.app/mcp"                  # Codex
//!     bearer_token_env_var = "LINEAR"
//!     http_headers = { X-Team = "7" }
//!     env_http_headers = { X-Key = "LINEAR_KEY" }

use counterfoil_gateway::Site;
use counterfoil_jwks::Credential;
use counterfoil_jwks::credentials::HeaderName;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::{Reading, Remote};
use crate::deployment::providers::HeaderValues;
use crate::import::Entry;
use crate::import::host::Host;

/// What a host calls the transport that we speak.
const STREAMABLE: [&str; 4] = ["http", "streamable-http", "streamableHttp", "streamable_http"];

/// Members that say by themselves that a server has an address; the last two are other hosts' words.
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

pub fn speaks_http(entry: &Entry) -> bool {
    let kinds = ["type", "transport"].into_iter().filter_map(|name| entry.members.get(name));
    ADDRESSES.iter().any(|name| entry.members.contains_key(*name))
        || kinds.filter_map(Value::as_str).any(|kind| kind != "stdio")
}

/// Members that are read here.
pub fn members(host: Host) -> &'static [&'static str] {
    match host {
        Host::Codex => &["url", "bearer_token_env_var", "http_headers", "env_http_headers"],
        Host::ClaudeCode | Host::ClaudeDesktop | Host::VsCode | Host::Cursor => {
            &["type", "transport", "url", "headers"]
        }
    }
}

impl Reading<'_> {
    pub fn remote(&mut self, host: Host) -> Remote {
        for member in ["type", "transport"] {
            match self.entry.members.get(member).map(|kind| kind.as_str().unwrap_or_default()) {
                Some("sse") => self.refuse(member, "the HTTP+SSE transport of 2024-11-05 is not spoken here"),
                Some(kind) if !STREAMABLE.contains(&kind) => {
                    self.refuse(member, "is not known here, or at odds with the address");
                }
                Some(_) | None => {}
            }
        }
        let url = self.url();
        let headers = match host {
            Host::Codex => self.codex_headers(),
            Host::ClaudeCode | Host::ClaudeDesktop | Host::VsCode | Host::Cursor => {
                self.headers("headers", Self::text)
            }
        };
        Remote { url, headers }
    }

    fn url(&mut self) -> String {
        let Some(value) = self.entry.members.get("url") else {
            self.refuse("url", "is missing");
            return String::new();
        };
        let url = self.text("url", value);
        if let Err(error) = Site::new(&url) {
            self.refuse("url", &error.to_string());
        }
        url
    }

    fn codex_headers(&mut self) -> HeaderValues {
        let mut headers = self.headers("http_headers", Self::text);
        headers.extend(self.headers("env_http_headers", Self::variable));
        if let Some(name) = self.entry.members.get("bearer_token_env_var") {
            let token = Zeroizing::new(self.variable("bearer_token_env_var", name));
            let value = Zeroizing::new(format!("Bearer {}", *token));
            let header = self.header("bearer_token_env_var", "authorization", &value);
            headers.extend(header.filter(|_| !token.is_empty()));
        }
        headers
    }

    /// A table of names, and of values as `read` reads them.
    fn headers(&mut self, member: &str, read: fn(&mut Self, &str, &Value) -> String) -> HeaderValues {
        let table: Map<String, Value> = match self.entry.members.get(member) {
            None => return HeaderValues::new(),
            Some(Value::Object(table)) => table.clone(),
            Some(_) => {
                self.refuse(member, "is no table");
                return HeaderValues::new();
            }
        };
        let mut headers = HeaderValues::new();
        for (name, value) in &table {
            let place = format!("{member}.{name}");
            let refused = self.refusals.len();
            let text = Zeroizing::new(read(self, &place, value));
            if self.refusals.len() == refused {
                headers.extend(self.header(&place, name, &text));
            }
        }
        headers
    }

    /// What of it is wrong is said without the value.
    fn header(&mut self, place: &str, name: &str, value: &str) -> Option<(HeaderName, Credential)> {
        if let Err(error) = Site::settable(name) {
            self.refuse(place, &format!("{error}: the gateway sets its own"));
            return None;
        }
        match (name.parse(), Credential::parse(value)) {
            (Ok(name), Ok(value)) => Some((name, value)),
            (Err(error), _) => {
                self.refuse(place, &error.to_string());
                None
            }
            (_, Err(error)) => {
                self.refuse(place, &error.to_string());
                None
            }
        }
    }

    fn variable(&mut self, place: &str, name: &Value) -> String {
        let value = name.as_str().map(|name| (name, (self.around.environment)(name)));
        match value {
            Some((_, Some(value))) => return value,
            Some((name, None)) => {
                self.refuse(
                    place,
                    &format!("the variable `{name}` is not set here: set it and run this again"),
                );
            }
            None => self.refuse(place, "is no name of a variable"),
        }
        String::new()
    }
}
