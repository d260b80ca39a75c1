//! Who is let in.
//!
//! Programs send the token as a bearer and are never asked for a cookie; browsers send the cookie and are never asked for a
//! bearer. So a page of somebody else's that makes a browser ask has no token to send, and one that makes it post is
//! refused by its Origin before the cookie is read.

use axum::http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use counterfoil_jwks::Mode;

use super::Console;
use crate::accounts::{self, Operator, Role};
use crate::http::{ApiError, bearer};

const COOKIE_NAME: &str = "counterfoil_operator";
/// A working day, after which the token is pasted again.
const COOKIE_SECONDS: u32 = 10 * 60 * 60;
const AGENTS: &str = "cfk_";

/// The operator behind a program's request, if its role reaches that far.
pub(super) async fn program(
    console: &Console,
    headers: &HeaderMap,
    needs: Role,
) -> Result<Operator, ApiError> {
    nothing_for_agents(headers)?;
    let operator = accounts::operator(console.ledger.database(), bearer(headers)?).await?;
    reaching(operator.ok_or(ApiError::Unauthorized)?, needs)
}

/// The operator behind a browser that only looks. None where nobody is signed in.
pub(super) async fn reader(console: &Console, headers: &HeaderMap) -> Result<Option<Operator>, ApiError> {
    nothing_for_agents(headers)?;
    let Some(token) = cookie(headers) else { return Ok(None) };
    Ok(accounts::operator(console.ledger.database(), token).await?)
}

/// The operator behind a browser that changes something.
pub(super) async fn writer(
    console: &Console,
    headers: &HeaderMap,
    needs: Role,
) -> Result<Operator, ApiError> {
    from_our_page(headers)?;
    let operator = reader(console, headers).await?;
    reaching(operator.ok_or(ApiError::Unauthorized)?, needs)
}

/// Every browser says with a post which page made it. That it is one of ours was checked before anything else; that it says
/// so at all is checked here.
pub(super) fn from_our_page(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.contains_key(ORIGIN) { Ok(()) } else { Err(ApiError::Forbidden) }
}

/// To an agent this listener is empty.
fn nothing_for_agents(headers: &HeaderMap) -> Result<(), ApiError> {
    let is_agents = |sent: &HeaderValue| {
        sent.to_str()
            .ok()
            .and_then(|text| text.split_once(' '))
            .is_some_and(|(_, token)| token.trim().starts_with(AGENTS))
    };
    match headers.get_all(AUTHORIZATION).iter().any(is_agents) {
        true => Err(ApiError::NotFound),
        false => Ok(()),
    }
}

fn reaching(operator: Operator, needs: Role) -> Result<Operator, ApiError> {
    if operator.role >= needs { Ok(operator) } else { Err(ApiError::Forbidden) }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = pairs
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter_map(|(name, value)| (name == COOKIE_NAME).then_some(value));
    match (ours.next(), ours.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// What keeps a browser signed in. `token` is one that was found good, so it has no character that a cookie may not have.
pub(super) fn keep(token: &str, mode: Mode) -> Option<HeaderValue> {
    set(token, COOKIE_SECONDS, mode)
}

pub(super) fn forget(mode: Mode) -> Option<HeaderValue> {
    set("", 0, mode)
}

fn set(value: &str, seconds: u32, mode: Mode) -> Option<HeaderValue> {
    // In `dev` there is no TLS, and a browser would throw a secure cookie away.
    let secure = match mode {
        Mode::Dev => "",
        Mode::Production => "; Secure",
    };
    let text = format!("{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn one_cookie_of_ours_is_read_and_two_are_none() {
        let read = |pairs: &[(&'static str, &'static str)]| cookie(&headers(pairs)).map(str::to_owned);
        assert_eq!(read(&[("cookie", "a=b; counterfoil_operator=cfo_x")]).as_deref(), Some("cfo_x"));
        for none in [
            &[("cookie", "xcounterfoil_operator=cfo_x")][..],
            &[("cookie", "counterfoil_operator=cfo_x; counterfoil_operator=cfo_y")],
            &[("cookie", "counterfoil_operator=cfo_x"), ("cookie", "counterfoil_operator=cfo_y")],
            &[],
        ] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }

    /// T3
    #[test]
    fn an_agents_key_finds_nothing_here() {
        for sent in ["Bearer cfk_abc", "bearer cfk_abc", "Basic cfk_abc"] {
            assert_eq!(nothing_for_agents(&headers(&[("authorization", sent)])), Err(ApiError::NotFound));
        }
        assert_eq!(nothing_for_agents(&headers(&[("authorization", "Bearer cfo_abc")])), Ok(()));
    }

    /// T11
    #[test]
    fn the_cookie_is_for_our_pages_alone() {
        let kept = keep("cfo_x", Mode::Production).expect("a header");
        let kept = kept.to_str().expect("text");
        assert!(kept.contains("HttpOnly; SameSite=Strict; Secure"), "{kept}");
        assert_eq!(from_our_page(&headers(&[])), Err(ApiError::Forbidden));
    }
}
