//! The gateway, as the bridge sees it.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;

use super::message::{Era, Message};

const NOT_EXECUTED: &str =
    "Not executed. The gateway could not be reached, so nothing was sent to the tool. Try again later.";
const UNKNOWN: &str = "The answer of the gateway was lost. Whether the tool ran is not known here; the project's record says it.";

/// Larger than any result that the gateway passes on.
const LARGEST_ANSWER: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("`{0}` is not the address of a gateway, such as http://127.0.0.1:8787")]
    Address(String),
    #[error("an API key looks like cfk_ and 43 characters")]
    NotAKey,
    #[error("no HTTP client: {0}")]
    Client(reqwest::Error),
}

/// An API key, as a header value. Not Clone; Debug prints nothing of it.
pub struct Credential(HeaderValue);

impl Credential {
    pub fn new(key: &str) -> Result<Self, BridgeError> {
        let secret = key.strip_prefix("cfk_").ok_or(BridgeError::NotAKey)?;
        if secret.len() != 43 || !secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        {
            return Err(BridgeError::NotAKey);
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| BridgeError::NotAKey)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credential(cfk_…)")
    }
}

pub struct Upstream {
    client: Client,
    address: String,
    session: Mutex<Session>,
}

#[derive(Clone, Default)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
}

/// What an answer to `initialize` agrees on.
#[derive(Deserialize)]
struct Initialized {
    result: Agreed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Agreed {
    protocol_version: String,
}

enum Lost {
    /// No connection came about, so the message never left.
    NeverSent,
    InDoubt,
}

impl Upstream {
    pub fn new(address: &str, credential: &Credential) -> Result<Self, BridgeError> {
        let is_http = address.starts_with("http://") || address.starts_with("https://");
        if !is_http || reqwest::Url::parse(address).is_err() {
            return Err(BridgeError::Address(address.to_owned()));
        }
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, credential.0.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let client = Client::builder()
            .default_headers(headers)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            // A connection that the gateway closed meanwhile would make a fresh call look in doubt.
            .pool_idle_timeout(Duration::from_secs(10))
            .build()
            .map_err(BridgeError::Client)?;
        Ok(Self { client, address: address.to_owned(), session: Mutex::new(Session::default()) })
    }

    /// The line to write, or None where the message has no answer.
    pub async fn send(&self, message: &Message) -> Option<Vec<u8>> {
        let answer = match self.post(message).await {
            Ok((status, body)) => self.read(message, status, body),
            Err(Lost::NeverSent) => Some(message.failed(NOT_EXECUTED)),
            Err(Lost::InDoubt) => Some(message.failed(UNKNOWN)),
        };
        // A notification is answered by nobody, not even with an error.
        answer.filter(|_| message.is_answered())
    }

    /// Tells the gateway that the session is over. Nothing hangs on it: sessions end by themselves.
    pub async fn end_session(&self) {
        let session = self.session();
        if let Some(id) = session.id {
            let request = self.client.delete(&self.address).header("mcp-session-id", id);
            drop(request.timeout(Duration::from_secs(2)).send().await);
        }
    }

    async fn post(&self, message: &Message) -> Result<(StatusCode, Vec<u8>), Lost> {
        let mut request = self.client.post(&self.address).body(message.line.clone());
        if message.era == Era::Legacy && message.method != "initialize" {
            let session = self.session();
            if let Some(id) = session.id {
                request = request.header("mcp-session-id", id);
            }
            if let Some(revision) = session.revision {
                request = request.header("mcp-protocol-version", revision);
            }
        }
        let answer = request.send().await.map_err(|error| match error {
            error if error.is_connect() => Lost::NeverSent,
            _ => Lost::InDoubt,
        })?;
        let id = answer.headers().get("mcp-session-id").cloned();
        let status = answer.status();
        let body = read_body(answer).await.ok_or(Lost::InDoubt)?;
        if message.method == "initialize" && status.is_success() {
            self.begin_session(id, &body);
        }
        Ok((status, body))
    }

    fn read(&self, message: &Message, status: StatusCode, body: Vec<u8>) -> Option<Vec<u8>> {
        if status == StatusCode::ACCEPTED {
            return None;
        }
        let is_message = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body)
            .is_ok_and(|answer| answer.contains_key("jsonrpc"));
        if is_message {
            return Some(body);
        }
        let text = match status {
            StatusCode::UNAUTHORIZED => "Not executed. The gateway does not know this API key.".to_owned(),
            StatusCode::NOT_FOUND => "Not executed. The gateway knows no such provider.".to_owned(),
            StatusCode::TOO_MANY_REQUESTS => "Not executed. Too many calls; try again later.".to_owned(),
            refused if refused.is_client_error() => {
                format!("Not executed. The gateway refused with HTTP {refused}.")
            }
            _ => UNKNOWN.to_owned(),
        };
        Some(message.failed(&text))
    }

    fn begin_session(&self, id: Option<HeaderValue>, body: &[u8]) {
        let agreed: Option<Initialized> = serde_json::from_slice(body).ok();
        let revision = agreed.and_then(|agreed| HeaderValue::from_str(&agreed.result.protocol_version).ok());
        *self.session.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Session { id, revision };
    }

    fn session(&self) -> Session {
        self.session.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

async fn read_body(mut answer: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST_ANSWER {
            return None;
        }
    }
    Some(body)
}
