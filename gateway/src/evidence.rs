//! The evidence service, as seen from here: a few questions over HTTP, and those of vendors, passed on.
//!
//! Promised: no answer of it is taken for a yes that is not one. What cannot have reached it is told apart from what
//! may have, because only the second can have been committed.

use axum::body::Bytes;
use counterfoil_core::control::{Snapshot, Unchanged};
use counterfoil_core::declared::{Asked, Asking};
use counterfoil_core::definition::Definitions;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::HoldState;
use counterfoil_core::id::{AgentId, HoldId, InstanceId, KeyId, ProjectId};
use counterfoil_core::probe::ToldProbe;
use counterfoil_core::record::{RawRecordAnswer, RecordRequest};
use counterfoil_core::session::SessionAnswer;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;
use zeroize::Zeroizing;

/// A decision ends after 15 s; an answer that comes later than this is of no use to it.
const RECORD_WITHIN: Duration = Duration::from_secs(10);
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// Slack of a long poll for the way there and back.
const SLACK: Duration = Duration::from_secs(5);

/// By which a vendor says that a request is the same one again.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The token by which the evidence service knows us. Never printed.
pub struct ServiceToken(Zeroizing<String>);

pub struct Evidence {
    client: Client,
    base: String,
    token: ServiceToken,
    /// This process: the service takes a silent one's open calls for lost.
    instance: InstanceId,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It certainly did nothing.
    #[error("the evidence service did not take the request ({0})")]
    NotTaken(&'static str),
    /// It did nothing, and would do nothing with the same request again.
    #[error("the evidence service cannot use the request ({0})")]
    Unusable(u16),
    /// It may have done what was asked.
    #[error("the evidence service did not answer ({0})")]
    InDoubt(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read the service token: {0}")]
    Unreadable(std::io::Error),
    #[error("the service token file does not hold one line `cfs_…`")]
    Malformed,
}

/// What the evidence service answered to somebody who asked through us.
pub struct Passed {
    pub status: StatusCode,
    /// Those that describe the answer; none that describes the connection.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What a long poll brings.
pub enum Followed {
    Changed(Box<Snapshot>),
    Unchanged(Unchanged),
}

impl ServiceToken {
    pub fn from_file(path: &std::path::Path) -> Result<Self, TokenError> {
        let text = Zeroizing::new(std::fs::read_to_string(path).map_err(TokenError::Unreadable)?);
        Self::parse(text.trim())
    }

    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        match text.strip_prefix("cfs_") {
            Some(rest) if rest.len() >= 43 && rest.bytes().all(plain) => {
                Ok(Self(Zeroizing::new(text.to_owned())))
            }
            _ => Err(TokenError::Malformed),
        }
    }
}

impl fmt::Debug for ServiceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceToken(…)")
    }
}

impl Evidence {
    pub fn new(base: &str, token: ServiceToken, instance: InstanceId) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_WITHIN)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), token, instance })
    }

    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    pub async fn record(&self, request: &RecordRequest) -> Result<RawRecordAnswer, NoAnswer> {
        let body = serde_json::to_vec(request).expect("record requests have string keys only");
        let request = self
            .client
            .post(format!("{}/internal/v1/record", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .timeout(RECORD_WITHIN);
        self.ask(request).await
    }

    /// Tells what tools are listed as.
    pub async fn define(&self, definitions: &Definitions) -> Result<(), NoAnswer> {
        self.tell("definitions", definitions).await
    }

    /// Tells what came of a probe.
    pub async fn probe(&self, told: &ToldProbe) -> Result<(), NoAnswer> {
        self.tell("probes", told).await
    }

    async fn tell(&self, what: &str, body: &impl Serialize) -> Result<(), NoAnswer> {
        let body = serde_json::to_vec(body).expect("what is told has string keys only");
        let request = self
            .client
            .post(format!("{}/internal/v1/{what}", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .bearer_auth(self.token.0.as_str())
            .body(body)
            .timeout(RECORD_WITHIN);
        let answer = request.send().await.map_err(|_| NoAnswer::InDoubt("broken off"))?;
        match answer.status() {
            StatusCode::NO_CONTENT => Ok(()),
            status if status.is_client_error() => Err(NoAnswer::Unusable(status.as_u16())),
            _ => Err(NoAnswer::NotTaken("unavailable")),
        }
    }

    /// What decides now; waits up to `wait` for a version other than `known`.
    pub async fn control(
        &self,
        project: ProjectId,
        known: Option<Digest>,
        wait: Duration,
    ) -> Result<Followed, NoAnswer> {
        let known = known.map_or(String::new(), |version| format!("&known={version}"));
        let address = format!(
            "{}/internal/v1/control?project={project}{known}&instance={}&wait_ms={}",
            self.base,
            self.instance,
            wait.as_millis()
        );
        let request = self.client.get(address).timeout(wait + SLACK);
        let value: Box<serde_json::value::RawValue> = self.ask(request).await?;
        if let Ok(unchanged) = serde_json::from_str::<Unchanged>(value.get()) {
            return Ok(Followed::Unchanged(unchanged));
        }
        serde_json::from_str(value.get())
            .map(|snapshot| Followed::Changed(Box::new(snapshot)))
            .map_err(|_| NoAnswer::InDoubt("unreadable"))
    }

    /// A hold as it is now; waits up to `wait` for it to be no longer open. None where there is no such hold.
    pub async fn hold(
        &self,
        project: ProjectId,
        hold: HoldId,
        wait: Duration,
    ) -> Result<Option<HoldState>, NoAnswer> {
        let wait_ms = wait.as_millis();
        let address = format!("{}/internal/v1/holds/{hold}?project={project}&wait_ms={wait_ms}", self.base);
        known(self.ask(self.client.get(address).timeout(wait + SLACK)).await)
    }

    /// The newest hold of this call by this agent that is open, or approved and not dispatched.
    pub async fn hold_of(
        &self,
        project: ProjectId,
        agent: AgentId,
        call: &str,
    ) -> Result<Option<HoldState>, NoAnswer> {
        let query = format!("project={project}&agent={agent}&call={call}");
        let address = format!("{}/internal/v1/holds?{query}", self.base);
        known(self.ask(self.client.get(address).timeout(SLACK)).await)
    }

    /// Which session a vendor means, and whether its action was decided before.
    pub async fn asked(&self, asking: &Asking) -> Result<Asked, NoAnswer> {
        let body = serde_json::to_vec(asking).expect("questions have string keys only");
        let request = self
            .client
            .post(format!("{}/internal/v1/asked", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .timeout(SLACK);
        self.ask(request).await
    }

    /// What this key did last.
    pub async fn session(&self, project: ProjectId, key: KeyId) -> Result<SessionAnswer, NoAnswer> {
        let address = format!("{}/internal/v1/sessions?project={project}&key={key}", self.base);
        self.ask(self.client.get(address).timeout(SLACK)).await
    }

    /// Passes a vendor's request on, under the vendor's own key; `target` is path and query.
    pub async fn pass(
        &self,
        method: Method,
        target: &str,
        asked: &HeaderMap,
        body: Bytes,
    ) -> Result<Passed, NoAnswer> {
        let mut request =
            self.client.request(method, format!("{}{target}", self.base)).timeout(RECORD_WITHIN);
        let idempotency = header::HeaderName::from_static(IDEMPOTENCY_KEY);
        for name in [header::AUTHORIZATION, header::CONTENT_TYPE, idempotency] {
            for value in asked.get_all(&name) {
                request = request.header(&name, value);
            }
        }
        let answer = request.body(body).send().await.map_err(|error| match error.is_connect() {
            true => NoAnswer::NotTaken("unreachable"),
            false => NoAnswer::InDoubt("broken off"),
        })?;
        let status = answer.status();
        let mut headers = HeaderMap::new();
        for name in [header::CONTENT_TYPE, header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
            if let Some(value) = answer.headers().get(&name) {
                headers.insert(name, value.clone());
            }
        }
        let body = answer.bytes().await.map_err(|_| NoAnswer::InDoubt("broken off"))?;
        Ok(Passed { status, headers, body })
    }

    async fn ask<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, NoAnswer> {
        let answer = request.bearer_auth(self.token.0.as_str()).send().await.map_err(|error| match error
            .is_connect()
        {
            true => NoAnswer::NotTaken("unreachable"),
            false => NoAnswer::InDoubt("broken off"),
        })?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => return Err(NoAnswer::NotTaken("unavailable")),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(NoAnswer::NotTaken("not authorized"));
            }
            StatusCode::TOO_MANY_REQUESTS => return Err(NoAnswer::NotTaken("too many requests")),
            status if status.is_client_error() => return Err(NoAnswer::Unusable(status.as_u16())),
            _ => return Err(NoAnswer::InDoubt("failed")),
        }
        let bytes = answer.bytes().await.map_err(|_| NoAnswer::InDoubt("broken off"))?;
        serde_json::from_slice(&bytes).map_err(|_| NoAnswer::InDoubt("unreadable"))
    }
}

/// 404 is an answer: there is none.
fn known<T>(asked: Result<T, NoAnswer>) -> Result<Option<T>, NoAnswer> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(NoAnswer::Unusable(404)) => Ok(None),
        Err(error) => Err(error),
    }
}
