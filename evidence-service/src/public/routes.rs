//! `/p/<slot>-<public id>` and the same as `.json`; the project's keys.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::Markup;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::door::Visit;
use super::gather::{Asked, Day, Memory, gather};
use super::page::{self, STYLE};
use super::view::View;
use crate::clock;
use crate::http::ApiError;
use crate::keys;
use crate::ledger::Ledger;

/// Each list is paged by key: what lies below the entry of that number.
#[derive(Deserialize)]
pub(crate) struct Paging {
    below: Option<u64>,
    calls: Option<u64>,
    findings: Option<u64>,
    from: Option<String>,
    to: Option<String>,
}

/// The page, for people and for programs.
pub(crate) async fn evidence(
    State(ledger): State<Arc<Ledger>>,
    State(memory): State<Memory>,
    Extension(visit): Extension<Visit>,
    Path(name): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Response, ApiError> {
    let asked = Asked {
        days: days(paging.from, paging.to)?,
        entries_below: paging.below.unwrap_or(u64::MAX),
        calls_below: paging.calls.unwrap_or(u64::MAX),
        findings_below: paging.findings.unwrap_or(u64::MAX),
    };
    let view = View::of(gather(&ledger, &memory, &visit, asked).await?);
    Ok(match Form::of(&name).1 {
        Form::Html => html(page::render(&view)),
        Form::Json => json(&view),
    })
}

/// Both days, or none; a last day that is left out is today.
fn days(from: Option<String>, to: Option<String>) -> Result<Option<(Day, Day)>, ApiError> {
    let day =
        |text: String| Day::parse(&text).ok_or(ApiError::BadRequest("from and to are days like 2026-11-30"));
    let given = |text: Option<String>| text.filter(|text| !text.is_empty()).map(day).transpose();
    let (from, to) = (given(from)?, given(to)?);
    let today = || Day::parse(&clock::now().epoch()).ok_or(ApiError::Unavailable);
    match (from, to) {
        (None, _) => Ok(None),
        (Some(from), Some(to)) => Ok(Some((from, to))),
        (Some(from), None) => Ok(Some((from, today()?))),
    }
}

/// Every public key the project ever had, with purpose, from and until.
pub(crate) async fn jwks(
    State(ledger): State<Arc<Ledger>>,
    Extension(visit): Extension<Visit>,
) -> Result<Response, ApiError> {
    let project = ledger.project(visit.project).await?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin(visit.project).await?;
    let set = keys::document(&project.issuer, &keys::all(&tx).await?);
    let mut response = Json(set).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
    Ok(response)
}

/// How something is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Html,
    Json,
}

impl Form {
    /// The name without its ending, and what the ending asks for.
    pub(super) fn of(name: &str) -> (&str, Self) {
        match name.strip_suffix(".json") {
            Some(name) => (name, Self::Json),
            None => (name, Self::Html),
        }
    }
}

/// The first so many, and at which place the next part begins. One more than is shown tells whether there is one.
pub(super) fn page_part<T>(
    mut rows: Vec<T>,
    most: usize,
    place: impl Fn(&T) -> u64,
) -> (Vec<T>, Option<u64>) {
    let more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().map(place).filter(|_| more);
    (rows, next)
}

pub(super) fn html(page: Markup) -> Response {
    (page_headers(), page.into_string()).into_response()
}

pub(super) fn json(view: &impl Serialize) -> Response {
    let mut response = Json(view).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn page_headers() -> HeaderMap {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    // Scripts and what they fetch come from this server alone; nothing inline runs.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'"
    );
    let fixed = HeaderValue::from_static;
    let policy = HeaderValue::from_str(&policy).expect("base64 and fixed text are header characters");
    let nosniff = HeaderName::from_static("x-content-type-options");
    HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, fixed("no-referrer")),
        (nosniff, fixed("nosniff")),
        (CACHE_CONTROL, fixed("no-cache")),
    ])
}
