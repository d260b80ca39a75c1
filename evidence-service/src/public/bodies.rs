//! What a verifier reads: entries with their statements, and receipts (P1, P2).
//!
//!     GET /p/<name>/entries.json?from=41
//!     {"typ":"entries/v1","size":1200,"entries":[{"entry":{…},"seq":41,"body":{"payload":…,"signature":…}}, …]}
//!     GET /p/<name>/receipts/41
//!
//! Promised: a body is given byte for byte as it was signed. What may be given is [`super::projection`]'s word:
//! somebody else's forms are withheld, and have no public receipt.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use counterfoil_core::entry::Entry;
use counterfoil_core::package::Line;
use counterfoil_core::receipt::Receipt;
use serde::{Deserialize, Serialize};

use super::door::Visit;
use super::{projection, store};
use crate::http::ApiError;
use crate::ledger::Ledger;

#[derive(Deserialize)]
pub(crate) struct From {
    #[serde(default)]
    from: u64,
}

#[derive(Serialize)]
struct Entries {
    typ: &'static str,
    /// Of the record at that moment.
    size: u64,
    entries: Vec<Numbered>,
}

#[derive(Serialize)]
struct Numbered {
    entry: Entry,
    #[serde(flatten)]
    line: Line,
}

/// As many as a tile has.
const MOST: i64 = 256;
/// A native execution may be a hundred kilobytes; then there are fewer of them in one answer.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Entries from a number on, as many as fit, at least one if there is one.
pub(crate) async fn entries(
    State(ledger): State<Arc<Ledger>>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<From>,
) -> Result<Response, ApiError> {
    let mut client = ledger.database().reader().await?;
    let tx = client.begin_snapshot(visit.project).await?;
    let size = store::size(&tx).await?;
    let rows = store::from(&tx, asked.from, MOST).await?;
    let mut entries = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        bytes += row.body.as_ref().map_or(0, Vec::len);
        if bytes > MOST_BYTES && !entries.is_empty() {
            break;
        }
        // A body that is no JSON is no body; the audit says where.
        let line = projection::line(&row).ok_or(ApiError::Unavailable)?;
        entries.push(Numbered { entry: row.entry, line });
    }
    let answer = Entries { typ: "entries/v1", size, entries };
    let text = serde_json::to_vec(&answer).map_err(|_| ApiError::Unavailable)?;
    Ok((json(), text).into_response())
}

/// The receipt at one place: the statement, its entry, and the proof that was stored with it.
pub(crate) async fn receipt(
    State(ledger): State<Arc<Ledger>>,
    Extension(visit): Extension<Visit>,
    Path((_, seq)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let one_spelling = seq == "0" || !seq.starts_with(['0', '+']);
    let seq: u64 = seq.parse().map_err(|_| ApiError::NotFound)?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin(visit.project).await?;
    let row =
        store::receipt(&tx, seq).await?.filter(|row| one_spelling && projection::has_public_receipt(row));
    let receipt = row.and_then(|row| Receipt::new(&row.body?, row.entry, &row.path, &row.note?));
    let bytes = receipt.ok_or(ApiError::NotFound)?.bytes();
    let named = format!("attachment; filename=\"receipt-{seq}.json\"");
    let named = HeaderValue::from_str(&named).expect("digits are header characters");
    let mut headers = json();
    headers.insert(CONTENT_DISPOSITION, named);
    Ok((headers, bytes).into_response())
}

fn json() -> HeaderMap {
    let fixed = HeaderValue::from_static;
    HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("application/json")),
        (CACHE_CONTROL, fixed("no-cache")),
        (HeaderName::from_static("x-content-type-options"), fixed("nosniff")),
    ])
}
