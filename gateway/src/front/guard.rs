//! Foreign `Host` and `Origin`.
//!
//! A page in a browser on this machine can send us requests: directly, with its own `Origin`, or by rebinding its own
//! name to our address, with its own `Host`. Neither name is ours, so both are refused.

use crate::house::House;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Stranger {
    #[error("`Host` is not a name of this gateway")]
    Host,
    #[error("`Origin` is not a page that may call this gateway")]
    Origin,
}

/// The names that are ours.
#[derive(Debug)]
pub struct Names {
    pub hosts: BTreeSet<String>,
    pub origins: BTreeSet<String>,
}

impl Names {
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        // HTTP/2 carries the name in the target instead of a header.
        let mut names = headers
            .get_all(header::HOST)
            .iter()
            .map(|value| value.to_str().ok())
            .chain(uri.authority().map(|authority| Some(authority.as_str())))
            .peekable();
        // RFC 9110, section 4.2.3: the case of a name does not matter.
        let ours = |name: &str| self.hosts.contains(&without_port(name).to_ascii_lowercase());
        let known = |name: Option<&str>| name.is_some_and(ours);
        if names.peek().is_none() || !names.all(known) {
            return Err(Stranger::Host);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let allowed =
            |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|o| self.origins.contains(o));
        match origins.all(allowed) {
            true => Ok(()),
            false => Err(Stranger::Origin),
        }
    }
}

fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => name,
    }
}

pub async fn refuse_strangers(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    match house.names.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(_) => StatusCode::FORBIDDEN.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn check(headers: &[(&'static str, &'static str)]) -> Result<(), Stranger> {
        let names = Names {
            hosts: ["localhost".into(), "127.0.0.1".into()].into(),
            origins: ["https://console.example".into()].into(),
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        names.check(&Uri::from_static("/mcp/notes"), &map)
    }

    // T11
    #[test]
    fn a_foreign_host_or_origin_is_refused() {
        assert_eq!(check(&[("host", "localhost:8787")]), Ok(()));
        assert_eq!(check(&[("host", "127.0.0.1")]), Ok(()));
        assert_eq!(check(&[("host", "LocalHost:80")]), Ok(()));
        assert_eq!(check(&[("host", "localhost"), ("origin", "https://console.example")]), Ok(()));

        assert_eq!(check(&[]), Err(Stranger::Host));
        for host in ["evil.example", "localhost.evil.example:8787", "localhost:x", "127.0.0.1.nip.io"] {
            assert_eq!(check(&[("host", host)]), Err(Stranger::Host), "{host}");
        }
        assert_eq!(check(&[("host", "localhost"), ("host", "evil.example")]), Err(Stranger::Host));
        for origin in ["null", "http://localhost:8787", "https://console.example.evil"] {
            assert_eq!(
                check(&[("host", "localhost"), ("origin", origin)]),
                Err(Stranger::Origin),
                "{origin}"
            );
        }
    }
}
