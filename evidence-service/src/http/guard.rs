//! Host and Origin (T11).
//!
//! A browser can be made to send requests anywhere, DNS rebinding included; what it cannot forge is the name it
//! believes to be talking to, nor the page that made it talk.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::ApiError;

/// Names that a listener answers to. Ports are not compared: they change with every forwarding.
#[derive(Clone, Debug)]
pub(crate) struct Allowed(Arc<[String]>);

impl Allowed {
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    fn names(&self, authority: &str) -> bool {
        let name = without_port(authority).to_ascii_lowercase();
        self.0.contains(&name)
    }

    fn allows(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(one), None) => one.to_str().ok(),
            (None, None) => uri.authority().map(axum::http::uri::Authority::as_str),
            _ => None,
        };
        let from_us = headers.get_all(ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            origin.is_some_and(|(_, authority)| self.names(authority))
        });
        host.is_some_and(|host| self.names(host)) && from_us
    }
}

/// The first thing every request meets.
pub(crate) async fn refuse_foreign(State(allowed): State<Allowed>, request: Request, next: Next) -> Response {
    if allowed.allows(request.headers(), request.uri()) {
        next.run(request).await
    } else {
        ApiError::Forbidden.into_response()
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn asked(host: &'static str, origin: Option<&'static str>) -> bool {
        let allowed = Allowed::new(["gw.example".to_owned(), "[::1]".to_owned()]);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        allowed.allows(&headers, &Uri::from_static("/"))
    }

    /// T11
    #[test]
    fn a_foreign_host_or_origin_is_refused() {
        assert!(asked("gw.example", None));
        assert!(asked("GW.example:8788", Some("https://gw.example")));
        assert!(asked("[::1]:8788", None));

        assert!(!asked("evil.example", None));
        assert!(!asked("gw.example.evil.example", None));
        assert!(!asked("gw.example", Some("https://evil.example")));
        assert!(!asked("gw.example", Some("null")));
    }
}
