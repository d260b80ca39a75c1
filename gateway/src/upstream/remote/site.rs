//! Where a provider is, and what it wants to see of us.
//!
//! Promised: https, or http to this machine; no redirect is followed and no proxy used, so nothing that we send reaches
//! any other host. Static headers come from a file of mode 0600 or from the environment, and are never printed.
//!
//!     Authorization: Bearer …          one line for each header

use super::Era;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use zeroize::Zeroizing;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Servers on Node close what was idle for five seconds. A call that meets its end on the way may have run.
const KEEP_IDLE: Duration = Duration::from_secs(4);

pub struct Site {
    pub(super) url: Url,
    pub(super) client: Client,
    pub(super) headers: StaticHeaders,
    era: Mutex<Option<Era>>,
}

/// Often a credential: neither printed nor copied.
pub(super) struct StaticHeaders(pub HeaderMap);

#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error("`{0}` is no address: https, or http to this machine, without user, query or fragment")]
    Url(String),
    #[error("cannot read `{0}`: {1}")]
    Unreadable(PathBuf, std::io::Error),
    #[error("`{0}` can be read by others: its mode has to be 0600")]
    Open(PathBuf),
    #[error("line {1} of `{0}` is not `Name: value`")]
    Line(PathBuf, usize),
    #[error("environment variable `{0}` is not set")]
    Unset(String),
    #[error("`{0}` is a header that cannot be set, or its value is not printable")]
    Header(String),
    #[error("HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

impl Site {
    /// `environment` says which variable holds which header.
    pub fn new(
        url: &str,
        file: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, SiteError> {
        let url = Url::parse(url).ok().filter(may_be_asked).ok_or_else(|| SiteError::Url(url.to_owned()))?;
        let mut headers = HeaderMap::new();
        if let Some(file) = file {
            read_file(file, &mut headers)?;
        }
        for (name, variable) in environment {
            let value = std::env::var(variable).map_err(|_| SiteError::Unset(variable.clone()))?;
            set(&mut headers, name, &Zeroizing::new(value))?;
        }
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .pool_idle_timeout(KEEP_IDLE)
            .build()?;
        Ok(Self { url, client, headers: StaticHeaders(headers), era: Mutex::new(None) })
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

fn read_file(path: &Path, headers: &mut HeaderMap) -> Result<(), SiteError> {
    let unreadable = |error| SiteError::Unreadable(path.to_owned(), error);
    let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(SiteError::Open(path.to_owned()));
    }
    let text = Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (name, value) =
            line.split_once(':').ok_or_else(|| SiteError::Line(path.to_owned(), number + 1))?;
        set(headers, name.trim(), value.trim())?;
    }
    Ok(())
}

/// Headers that say what a message is are ours alone.
fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), SiteError> {
    let refused = || SiteError::Header(name.to_owned());
    let header: HeaderName = name.parse().map_err(|_| refused())?;
    let ours = ["mcp-", "content-", "accept", "host", "connection", "transfer-", "upgrade", "last-event-id"];
    if ours.iter().any(|ours| header.as_str().starts_with(ours)) {
        return Err(refused());
    }
    let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
    value.set_sensitive(true);
    headers.insert(header, value);
    Ok(())
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.0.keys().map(HeaderName::as_str).collect();
        write!(f, "Site({}, {names:?})", self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(url: &str) -> Result<Site, SiteError> {
        Site::new(url, None, &BTreeMap::new())
    }

    // C7
    #[test]
    fn only_https_and_this_machine_are_asked() {
        for good in
            ["https://mcp.example/mcp", "http://127.0.0.1:3001/mcp", "http://[::1]/", "http://localhost/x"]
        {
            assert!(site(good).is_ok(), "{good}");
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
            assert!(matches!(site(bad), Err(SiteError::Url(_))), "{bad}");
        }
    }

    // C5, T9
    #[test]
    fn static_headers_come_from_a_closed_file_and_are_not_printed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("headers");
        let write = |text: &str, mode: u32| {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
            Site::new("https://mcp.example/", Some(&path), &BTreeMap::new())
        };

        let good = write("Authorization: Bearer hunter2\n\nX-Team: 7\n", 0o600).expect("good");

        assert_eq!(good.headers.0["authorization"], "Bearer hunter2");
        let printed = format!("{good:?} {:?}", good.headers.0);
        assert!(printed.contains("authorization") && !printed.contains("hunter2"), "{printed}");
        assert!(matches!(write("Authorization: x", 0o640), Err(SiteError::Open(_))));
        assert!(matches!(write("nonsense hunter2", 0o600), Err(SiteError::Line(_, 1))));
        for ours in ["Mcp-Session-Id: x", "Host: x", "Content-Type: x"] {
            assert!(matches!(write(ours, 0o600), Err(SiteError::Header(_))), "{ours}");
        }
    }
}
