//! Who asks: an API key `cfk_…` in `Authorization`, never in the address.
//!
//! Promised: only SHA-256 digests are compared, in constant time, against every key of every project, so that the time
//! an answer takes says nothing about keys that exist.

use crate::call::Caller;
use crate::house::House;
use crate::self_test;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;
use std::sync::Arc;

const SCHEME: &str = "Bearer ";
const PREFIX: &str = "cfk_";

/// Why a caller is not let in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turned {
    /// No key, or one that no project knows or that was revoked.
    Unknown,
    /// Some project's keys were never heard of since we started, so an unknown key may be good.
    NotYet,
}

/// The caller behind the key that came with a message.
pub fn caller(house: &House, headers: &HeaderMap) -> Result<Caller, Turned> {
    let key = presented(headers).ok_or(Turned::Unknown)?;
    let digest = Digest::of(key.as_bytes());
    let mut found = Err(Turned::Unknown);
    for project in &house.projects {
        let own = project.self_test.key();
        if own.is_some_and(|own| verify_slices_are_equal(own.bytes(), digest.bytes()).is_ok()) {
            found = Ok(self_test::nobody(project));
        }
        let Some(control) = project.control.known() else {
            found = found.or(Err(Turned::NotYet));
            continue;
        };
        for credential in &control.snapshot.credentials {
            let same = verify_slices_are_equal(credential.digest.bytes(), digest.bytes()).is_ok();
            if same && !credential.revoked {
                found = Ok(Caller {
                    project: Arc::clone(project),
                    key: credential.key,
                    agent: credential.agent,
                    principal: credential.principal.clone(),
                    session: None,
                });
            }
        }
    }
    found
}

/// What somebody reads who is not let in.
pub fn turn_away(turned: Turned) -> Response {
    match turned {
        Turned::Unknown => ask_for_key(),
        Turned::NotYet => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response(),
    }
}

/// Plain `Bearer` and no `resource_metadata`: there is no authorization server to send a host to.
fn ask_for_key() -> Response {
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, "Bearer")],
        "an API key is needed: `Authorization: Bearer cfk_…`\n",
    )
        .into_response()
}

fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, key) = value.split_at_checked(SCHEME.len())?;
    // RFC 9110, section 11.1: the scheme's case does not matter.
    (scheme.eq_ignore_ascii_case(SCHEME) && key.starts_with(PREFIX)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_one_bearer_key_of_ours_is_read() {
        let read = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            presented(&headers).map(str::to_owned)
        };
        assert_eq!(read(&["Bearer cfk_abc"]).as_deref(), Some("cfk_abc"));
        assert_eq!(read(&["bearer cfk_abc"]).as_deref(), Some("cfk_abc"));
        for none in
            [&[][..], &["Basic cfk_abc"], &["Bearer eyJ"], &["cfk_abc"], &["Bearer cfk_a", "Bearer cfk_a"]]
        {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
