//! A provider with an address: MCP over Streamable HTTP, 2025-03-26 to 2026-07-28.
//!
//! Promised: what it speaks is found out before anything else is sent, and remembered. A request is sent once: where
//! its answer breaks off it may have run, and is not sent again. Nothing of the host's own request goes with it but
//! the message: headers are made anew, and the host's key stays here.
//! Not promised: anything that a provider says between messages. No stream of its own is opened, progress and log
//! messages are dropped, its requests are refused.

mod events;
mod headers;
mod introduction;
mod site;

pub use site::{Site, SiteError};

use super::catalogue::Catalogue;
use super::connection::Outcome;
use super::wire::{self, Line};
use crate::raw::{Object, quoted};
use events::Events;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Largest body, as for the line of a child.
const LARGEST: usize = 16 * 1024 * 1024;
/// A courtesy to the other side, that nobody waits for longer.
const COURTESY: Duration = Duration::from_secs(2);
const REVISION: &str = "2026-07-28";
const SESSION: &str = "mcp-session-id";

/// Which way a provider speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    Modern,
    Legacy,
}

enum Speech {
    Modern,
    /// Revision and session are known after the introduction.
    Legacy {
        revision: Option<HeaderValue>,
        session: Option<HeaderValue>,
    },
}

/// What became of one request.
struct Exchanged {
    outcome: Outcome,
    /// The session that the answer names.
    session: Option<HeaderValue>,
    status: Option<StatusCode>,
}

pub struct Remote {
    site: Arc<Site>,
    provider: String,
    speech: Speech,
    next_id: AtomicU64,
    stale: Arc<AtomicBool>,
    gone: CancellationToken,
}

impl Remote {
    pub fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Tools that it can be asked for: in the modern era one with marks that we cannot honour is left out.
    pub fn usable(&self, catalogue: Catalogue) -> Catalogue {
        match self.speech {
            Speech::Legacy { .. } => catalogue,
            Speech::Modern => catalogue.only(headers::is_usable),
        }
    }

    pub async fn ask(
        &self,
        (method, params): (&str, &str),
        catalogue: Option<&Catalogue>,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Outcome {
        if cancel.is_cancelled() || self.is_gone() {
            return Outcome::Unsent;
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let Some(request) = self.request(id, (method, params), catalogue) else {
            return Outcome::Unsent;
        };
        tokio::select! {
            Exchanged { outcome, .. } = self.exchange(id, request) => {
                self.notice_mismatch(&outcome);
                outcome
            }
            () = tokio::time::sleep(within) => {
                self.give_up(id);
                Outcome::TimedOut
            }
            () = cancel.cancelled() => {
                self.give_up(id);
                Outcome::Cancelled
            }
        }
    }

    /// Ends a session; whoever has none has nothing to end.
    pub async fn stop(&self) {
        self.gone.cancel();
        if let Speech::Legacy { session: Some(_), .. } = &self.speech
            && let Some(request) = self.dressed(self.site.client.delete(self.site.url.clone()))
        {
            let _ = tokio::time::timeout(COURTESY, request.send()).await;
        }
    }

    fn request(
        &self,
        id: u64,
        (method, params): (&str, &str),
        known: Option<&Catalogue>,
    ) -> Option<RequestBuilder> {
        let own = match self.speech {
            Speech::Modern => modern(params)?,
            Speech::Legacy { .. } => params.to_owned(),
        };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{own}}}"#, quoted(method));
        let request = self.post(text)?;
        Some(match self.speech {
            Speech::Legacy { .. } => request,
            Speech::Modern => {
                // Only names and marked arguments are read of it; what is bound was read strictly long before.
                let params: Value = serde_json::from_str(params).ok()?;
                let name = params.get("name").and_then(Value::as_str);
                let tool = name.and_then(|name| known?.tool(name));
                request.headers(headers::of(method, &params, tool))
            }
        })
    }

    fn post(&self, text: String) -> Option<RequestBuilder> {
        let request = self.site.client.post(self.site.url.clone()).body(text);
        self.dressed(
            request
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream"),
        )
    }

    /// None when a header that must go with it does not open: then nothing is sent.
    fn dressed(&self, request: RequestBuilder) -> Option<RequestBuilder> {
        let own = match self.site.headers() {
            Ok(own) => own,
            Err(error) => {
                tracing::error!(provider = %self.provider, %error, "a header does not open, so nothing is sent");
                return None;
            }
        };
        let mut headers = HeaderMap::new();
        match &self.speech {
            Speech::Modern => {
                headers.insert("mcp-protocol-version", HeaderValue::from_static(REVISION));
            }
            Speech::Legacy { revision, session } => {
                for (name, value) in [("mcp-protocol-version", revision), (SESSION, session)] {
                    if let Some(value) = value {
                        headers.insert(name, value.clone());
                    }
                }
            }
        }
        Some(request.headers(own).headers(headers))
    }

    /// One request and its answer.
    async fn exchange(&self, id: u64, request: RequestBuilder) -> Exchanged {
        let without_answer = |outcome| Exchanged { outcome, session: None, status: None };
        let response = match request.send().await {
            Ok(response) => response,
            // No connection, so nothing was sent over it.
            Err(error) if error.is_connect() => return without_answer(Outcome::Unsent),
            Err(_) => return without_answer(Outcome::Gone),
        };
        let session = response.headers().get(SESSION).cloned();
        let status = response.status();
        let outcome = match is_stream(&response) {
            true => self.follow(id, response).await,
            false => whole(id, response).await,
        };
        if outcome == Outcome::Gone && !status.is_success() {
            tracing::warn!(provider = %self.provider, status = status.as_u16(), "provider answered no message");
            self.notice_end_of_session(status);
        }
        Exchanged { outcome, session, status: Some(status) }
    }

    /// Headers that contradict the body are made from a schema that has changed: it is read again for the next call.
    /// This one is not sent again, since nobody has judged it under the new definition.
    fn notice_mismatch(&self, outcome: &Outcome) {
        let Outcome::Failed(error) = outcome else {
            return;
        };
        let code = Object::read_loosely(error).ok().and_then(|error| error.value("code"));
        if code == Some("-32020") {
            self.stale.store(true, Ordering::Release);
        }
    }

    /// A session that is not known any more is not coming back: the next call begins a new one.
    fn notice_end_of_session(&self, status: StatusCode) {
        let has_session = matches!(&self.speech, Speech::Legacy { session: Some(_), .. });
        if has_session && matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST) {
            self.gone.cancel();
        }
    }

    /// Reads a stream up to the answer. What comes before it is heard like a child's lines.
    async fn follow(&self, id: u64, mut response: Response) -> Outcome {
        let mut events = Events::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            let Ok(messages) = events.hear(&chunk) else {
                return Outcome::Oversized;
            };
            for message in messages {
                match wire::read(&message) {
                    Line::Request { id, method } => self.refuse(&id, &method),
                    Line::Notice { method } if method == "notifications/tools/list_changed" => {
                        self.stale.store(true, Ordering::Release);
                    }
                    line => {
                        if let Some(outcome) = answer(id, line) {
                            return outcome;
                        }
                    }
                }
            }
        }
        Outcome::Gone
    }

    /// Only the legacy era has requests of a provider, and none that we grant.
    fn refuse(&self, id: &str, method: &str) {
        let text = match (&self.speech, method) {
            (Speech::Modern, _) => return,
            (Speech::Legacy { .. }, "ping") => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            (Speech::Legacy { .. }, _) => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            ),
        };
        self.send_and_forget(text);
    }

    /// In the modern era the dropped request is the news.
    fn give_up(&self, id: u64) {
        if let Speech::Legacy { .. } = self.speech {
            self.send_and_forget(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ));
        }
    }

    fn send_and_forget(&self, text: String) {
        let Some(request) = self.post(text).map(|request| request.timeout(COURTESY)) else {
            return;
        };
        tokio::spawn(async move { request.send().await.map(|_| ()) });
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

async fn whole(id: u64, mut response: Response) -> Outcome {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > LARGEST => return Outcome::Oversized,
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return answer(id, wire::read(&body)).unwrap_or(Outcome::Gone),
            Err(_) => return Outcome::Gone,
        }
    }
}

/// None for what is no answer to this request.
fn answer(asked: u64, line: Line) -> Option<Outcome> {
    match line {
        Line::Result { id, result } if id == asked => Some(Outcome::Returned(result)),
        Line::Error { id, error } if id == asked => Some(Outcome::Failed(error)),
        Line::Result { .. }
        | Line::Error { .. }
        | Line::Request { .. }
        | Line::Notice { .. }
        | Line::Other => None,
    }
}

/// Parameters of the modern era say for themselves what they are, and that we can do nothing that they might ask for.
fn modern(params: &str) -> Option<String> {
    let params = Object::read_loosely(params).ok()?;
    let mut meta = params.value("_meta").unwrap_or("{}").to_owned();
    let info = format!(r#"{{"name":"counterfoil-gateway","version":"{}"}}"#, env!("CARGO_PKG_VERSION"));
    for (key, value) in [
        ("io.modelcontextprotocol/clientInfo", info.as_str()),
        ("io.modelcontextprotocol/clientCapabilities", "{}"),
        ("io.modelcontextprotocol/protocolVersion", "\"2026-07-28\""),
    ] {
        meta = Object::read_loosely(&meta).ok()?.with(key, value);
    }
    Some(params.with("_meta", &meta))
}

#[cfg(test)]
mod tests;
