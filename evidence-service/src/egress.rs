//! The guarded client: the only way in which this service asks the outside world for anything (C7).
//!
//! Promised: HTTPS on port 443 to a public DNS name, never to a literal address; every address that a name resolves to is
//! judged when it is dialled, and one that is private or special refuses the whole name; no redirect is followed, no
//! proxy of the environment used, nothing of ours sent along; sizes and times are bounded.
//! Not promised: that the name is whose it seems to be. The certificate is checked for the name, and that is all.
//!
//! Table and reasons: docs/decisions/provider-keys.md.

mod address;
mod names;

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use names::{Guard, System};

pub use address::is_public;
pub use names::NameRefused;

#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error(
        "`{0}` may not be asked: https to a public name on port 443, without user, query or fragment, no address"
    )]
    Url(String),
    #[error(transparent)]
    Name(#[from] NameRefused),
    #[error("`{host}` answered {status}; only 200 counts, and no redirect is followed")]
    Status { host: String, status: u16 },
    #[error("`{host}` sent more than {most} bytes")]
    TooLarge { host: String, most: usize },
    #[error("`{host}` was reached at an address that nobody had judged")]
    OtherPeer { host: String },
    #[error("`{host}` did not answer: {cause}")]
    Away { host: String, cause: String },
}

/// A URL that may be asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    url: Url,
    host: String,
}

impl Target {
    pub fn parse(text: &str) -> Result<Self, EgressError> {
        let refused = || EgressError::Url(text.to_owned());
        let url = Url::parse(text).map_err(|_| refused())?;
        let plain = url.scheme() == "https"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.port().is_none();
        // `domain` is none for an address, however it was spelled: the parser turns 0x7f.1 and 2130706433 into one.
        let host = url.domain().filter(|_| plain).filter(|name| is_public_name(name)).ok_or_else(refused)?;
        Ok(Self { host: host.to_owned(), url: url.clone() })
    }

    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub fn host(&self) -> &str {
        &self.host
    }
}

/// Names of this machine or of a house network never lead outside, whatever a resolver says of them.
fn is_public_name(name: &str) -> bool {
    const INSIDE: [&str; 9] =
        ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "onion", "test"];
    let last = name.rsplit('.').next().unwrap_or_default();
    let inside = INSIDE.contains(&last) || name.ends_with(".home.arpa") || name.ends_with(".in-addr.arpa");
    name.contains('.') && !name.ends_with('.') && !inside
}

/// One for each purpose, so that no connection is shared between two.
pub struct Egress {
    client: Client,
    guard: Arc<Guard>,
    most: usize,
}

impl Egress {
    /// Answers of at most `most` bytes.
    pub fn new(most: usize) -> Result<Self, EgressError> {
        Self::with(Guard::new(System, is_public), Client::builder(), most)
    }

    fn with(guard: Guard, builder: ClientBuilder, most: usize) -> Result<Self, EgressError> {
        let guard = Arc::new(guard);
        let built = builder
            .no_proxy()
            .https_only(true)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_WITHIN)
            .read_timeout(SILENT_FOR)
            .timeout(DONE_WITHIN)
            .pool_max_idle_per_host(0)
            .dns_resolver(Arc::clone(&guard))
            .build();
        let away = |error: reqwest::Error| EgressError::Away { host: String::new(), cause: deepest(&error) };
        Ok(Self { client: built.map_err(away)?, guard, most })
    }

    /// The bytes behind the URL, as they came.
    pub async fn get(&self, target: &Target, accept: &'static str) -> Result<Vec<u8>, EgressError> {
        let host = || target.host.clone();
        let asked = self.client.get(target.url.clone()).header(ACCEPT, HeaderValue::from_static(accept));
        let mut answer = asked.send().await.map_err(|error| failed(target, &error))?;
        let judged = answer.remote_addr().is_some_and(|peer: SocketAddr| self.guard.allows(peer.ip()));
        if !judged {
            return Err(EgressError::OtherPeer { host: host() });
        }
        if answer.status() != reqwest::StatusCode::OK {
            return Err(EgressError::Status { host: host(), status: answer.status().as_u16() });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(target, &error))? {
            if bytes.len() + chunk.len() > self.most {
                return Err(EgressError::TooLarge { host: host(), most: self.most });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const SILENT_FOR: Duration = Duration::from_secs(5);
const DONE_WITHIN: Duration = Duration::from_secs(15);

fn failed(target: &Target, error: &reqwest::Error) -> EgressError {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(refused) = cause.downcast_ref::<NameRefused>() {
            return EgressError::Name(refused.clone());
        }
        source = cause.source();
    }
    EgressError::Away { host: target.host.clone(), cause: deepest(error) }
}

/// The cause below all wrappers, which repeat the URL.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
