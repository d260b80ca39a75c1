//! Where a provider is, and what it wants to see of us.
//!
//! Promised: https, or http to this machine; no redirect is followed and no proxy used, so nothing that we send reaches
//! any other host. A sealed header is opened for one request to the address that it was sealed for, and closed again;
//! none is ever printed.
//! Not promised: that the HTTP client wipes its copy of a header; it gives the memory back with the request.

use super::Era;
use counterfoil_core::id::ProviderId;
use counterfoil_jwks::credentials::{self, Credential, CredentialError, Credentials, Place};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zeroize::Zeroizing;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Servers on Node close what was idle for five seconds. A call that meets its end on the way may have run.
const KEEP_IDLE: Duration = Duration::from_secs(4);

pub struct Site {
    pub(super) url: Url,
    pub(super) client: Client,
    held: HeldHeaders,
    sealed: Vec<SealedHeader>,
    era: Mutex<Option<Era>>,
}

/// Often a credential: neither printed nor copied.
#[derive(Default)]
struct HeldHeaders(HeaderMap);

struct SealedHeader {
    name: HeaderName,
    place: Place,
    from: Arc<Credentials>,
}

#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Without the address itself: what makes it none may be a key in its query.
    #[error("its url is no address: https, or http to this machine, without user, query or fragment")]
    Url,
    #[error("environment variable `{0}` is not set")]
    Unset(String),
    #[error("`{0}` is a header that cannot be set, or its value is not printable")]
    Header(String),
    #[error(transparent)]
    Sealed(#[from] CredentialError),
    #[error("HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

impl Site {
    pub fn new(url: &str) -> Result<Self, SiteError> {
        let url = Url::parse(url).ok().filter(may_be_asked).ok_or(SiteError::Url)?;
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .pool_idle_timeout(KEEP_IDLE)
            .build()?;
        Ok(Self { url, client, held: HeldHeaders::default(), sealed: Vec::new(), era: Mutex::new(None) })
    }

    /// Headers that are in the environment: which variable holds which. They are read now and held.
    pub fn with_environment(mut self, variables: &BTreeMap<String, String>) -> Result<Self, SiteError> {
        for (name, variable) in variables {
            let value = std::env::var(variable).map_err(|_| SiteError::Unset(variable.clone()))?;
            self.held.set(name, &Zeroizing::new(value))?;
        }
        Ok(self)
    }

    /// Headers that the caller has in its hand.
    pub fn with_values<'a>(
        mut self,
        values: impl IntoIterator<Item = (&'a credentials::HeaderName, &'a Credential)>,
    ) -> Result<Self, SiteError> {
        for (name, value) in values {
            self.held.set(name.as_str(), value.dangerous_text())?;
        }
        Ok(self)
    }

    /// Headers that are sealed, and must be there: each is opened once now, and then for every request.
    pub fn with_sealed(
        mut self,
        provider: &ProviderId,
        names: &BTreeSet<credentials::HeaderName>,
        from: &Arc<Credentials>,
    ) -> Result<Self, SiteError> {
        for name in names {
            let place = Place { provider: provider.clone(), name: name.clone(), origin: self.origin() };
            let header = Self::settable(name.as_str())?;
            drop(sensitive(name.as_str(), from.value(&place)?.dangerous_text())?);
            self.sealed.push(SealedHeader { name: header, place, from: from.clone() });
        }
        Ok(self)
    }

    /// Scheme, host and port: what a sealed header is bound to.
    #[must_use]
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A header that may be set from outside: those that say what a message is are ours alone.
    pub fn settable(name: &str) -> Result<HeaderName, SiteError> {
        let refused = || SiteError::Header(name.to_owned());
        let header: HeaderName = name.parse().map_err(|_| refused())?;
        let ours =
            ["mcp-", "content-", "accept", "host", "connection", "transfer-", "upgrade", "last-event-id"];
        match ours.iter().any(|ours| header.as_str().starts_with(ours)) {
            true => Err(refused()),
            false => Ok(header),
        }
    }

    /// What goes with one request.
    pub(super) fn headers(&self) -> Result<HeaderMap, SiteError> {
        let mut headers = self.held.0.clone();
        for sealed in &self.sealed {
            let value = sealed.from.value(&sealed.place)?;
            headers.insert(sealed.name.clone(), sensitive(sealed.name.as_str(), value.dangerous_text())?);
        }
        Ok(headers)
    }

    /// What it spoke the last time. A wrong guess costs one request.
    pub(super) fn era(&self) -> Option<Era> {
        *self.era.lock().expect("no holder panics")
    }

    pub(super) fn remember(&self, era: Option<Era>) {
        *self.era.lock().expect("no holder panics") = era;
    }
}

fn may_be_asked(url: &Url) -> bool {
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && loopback);
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    // A query is where keys end up that should be in headers.
    scheme && bare && url.query().is_none() && url.host_str().is_some()
}

impl HeldHeaders {
    fn set(&mut self, name: &str, value: &str) -> Result<(), SiteError> {
        self.0.insert(Site::settable(name)?, sensitive(name, value)?);
        Ok(())
    }
}

fn sensitive(name: &str, value: &str) -> Result<HeaderValue, SiteError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| SiteError::Header(name.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sealed = self.sealed.iter().map(|sealed| &sealed.name);
        let names: Vec<&str> = self.held.0.keys().chain(sealed).map(HeaderName::as_str).collect();
        write!(f, "Site({}, {names:?})", self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterfoil_jwks::Kek;

    const SECRET: &str = "Bearer hunter2";

    // C7
    #[test]
    fn only_https_and_this_machine_are_asked() {
        for good in
            ["https://mcp.example/mcp", "http://127.0.0.1:3001/mcp", "http://[::1]/", "http://localhost/x"]
        {
            assert!(Site::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://mcp.example/mcp",
            "http://127.0.0.1.evil.example/",
            "http://10.0.0.1/",
            "https://user:pass@mcp.example/",
            "https://mcp.example/?key=1",
            "file:///etc/passwd",
            "mcp.example",
        ] {
            assert!(matches!(Site::new(bad), Err(SiteError::Url)), "{bad}");
        }
    }

    /// A file with one header for one provider at one address.
    fn sealed(folder: &std::path::Path, name: &str) -> Arc<Credentials> {
        let kek = Kek::from_hex(&"ab".repeat(32), "the test").expect("a key");
        let mut credentials = Credentials::open_or_begin(&folder.join("sealed"), kek).expect("a file");
        let place = Place {
            provider: "notes".parse().expect("an id"),
            name: name.parse().expect("a name"),
            origin: "https://mcp.example".to_owned(),
        };
        credentials.set(place, &Credential::parse(SECRET).expect("a value")).expect("sealed");
        Arc::new(credentials)
    }

    fn with_sealed(url: &str, name: &str, from: &Arc<Credentials>) -> Result<Site, SiteError> {
        let names = [name.parse().expect("a name")].into();
        Site::new(url)?.with_sealed(&"notes".parse().expect("an id"), &names, from)
    }

    // C5, T9
    #[test]
    fn a_sealed_header_goes_to_its_own_address_and_is_not_printed() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = sealed(folder.path(), "authorization");

        let site = with_sealed("https://mcp.example/mcp", "Authorization", &from).expect("a site");
        let elsewhere = with_sealed("https://evil.example/mcp", "authorization", &from);
        let absent = with_sealed("https://mcp.example/mcp", "x-key", &from);

        let headers = site.headers().expect("they open");
        assert_eq!(headers["authorization"], SECRET);
        let printed = format!("{site:?} {headers:?} {elsewhere:?} {absent:?}");
        assert!(printed.contains("authorization") && !printed.contains("hunter2"), "{printed}");
        assert!(matches!(elsewhere, Err(SiteError::Sealed(CredentialError::OtherOrigin { .. }))));
        assert!(matches!(absent, Err(SiteError::Sealed(CredentialError::Absent { .. }))));
    }

    #[test]
    fn headers_that_say_what_a_message_is_are_ours_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        for ours in ["Mcp-Session-Id", "Host", "Content-Type"] {
            let from = sealed(folder.path(), ours);
            let refused = with_sealed("https://mcp.example/mcp", ours, &from);
            assert!(matches!(refused, Err(SiteError::Header(_))), "{ours}");
            let variables = [(ours.to_owned(), "PATH".to_owned())].into();
            let held = Site::new("https://mcp.example/").and_then(|site| site.with_environment(&variables));
            assert!(matches!(held, Err(SiteError::Header(_))), "{ours}");
        }
    }
}
