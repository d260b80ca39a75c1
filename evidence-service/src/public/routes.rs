//! `/p/<slot>-<public id>` and what lies below it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::PublicId;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::page::{self, Page, STYLE};
use super::projection::PublicEntry;
use super::store;
use crate::http::ApiError;
use crate::keys;
use crate::ledger::Ledger;

#[derive(Deserialize)]
pub(crate) struct Paging {
    below: Option<u64>,
}

/// Entries on one page of the list.
const PER_PAGE: usize = 50;

/// The list, newest first, paged by key: `?below=<seq>`.
pub(crate) async fn evidence(
    State(ledger): State<Arc<Ledger>>,
    Path(name): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Response, ApiError> {
    let id = find(&ledger, &name).await?;
    let project = ledger.project(id).await?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin(id).await?;
    // One more than is shown tells whether there is a next page.
    let rows = store::newest(&tx, paging.below.unwrap_or(u64::MAX), PER_PAGE as i64 + 1).await?;
    let shown: Vec<PublicEntry> = rows.iter().take(PER_PAGE).map(PublicEntry::of).collect();
    let more = rows.len() > PER_PAGE;
    let page = Page {
        project: &project,
        next: shown.last().map(|entry| entry.seq).filter(|_| more),
        entries: &shown,
        checkpoint: page::checkpoint_of(&store::checkpoint(&tx).await?),
        audit: store::audit(&tx).await?,
        stopped: ledger.seen().stopped(id),
    };
    Ok((page_headers(), page::render(&page).into_string()).into_response())
}

/// Every public key the project ever had, with purpose, from and until.
pub(crate) async fn jwks(
    State(ledger): State<Arc<Ledger>>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let id = find(&ledger, &name).await?;
    let project = ledger.project(id).await?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin(id).await?;
    let set = keys::document(&project.issuer, &keys::all(&tx).await?);
    let mut response = Json(set).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
    Ok(response)
}

/// The project of `<slot>-<public id>`. Anything else is nothing, and looks the same.
pub(crate) async fn find(ledger: &Ledger, name: &str) -> Result<ProjectId, ApiError> {
    let (slot, public_id) = name.split_once('-').ok_or(ApiError::NotFound)?;
    let one_spelling = slot == "0" || !slot.starts_with(['0', '+']);
    let slot: u64 = slot.parse().map_err(|_| ApiError::NotFound)?;
    let public_id: PublicId = public_id.parse().map_err(|_| ApiError::NotFound)?;
    if !one_spelling {
        return Err(ApiError::NotFound);
    }
    let client = ledger.database().reader().await?;
    store::project(&client.directory(), slot, &public_id).await?.ok_or(ApiError::NotFound)
}

fn page_headers() -> HeaderMap {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
