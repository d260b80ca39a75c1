//! `/p/<name>/a/<action>` and the same as `.json`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use counterfoil_core::id::ActionId;
use serde::Deserialize;

use super::door::Visit;
use super::routes::{Form, html, json, page_part};
use super::view::{ActionView, GatheredAction};
use super::{page, store};
use crate::clock;
use crate::http::ApiError;
use crate::ledger::Ledger;

#[derive(Deserialize)]
pub(crate) struct From {
    #[serde(default)]
    from: u64,
}

/// An honest action has a handful of entries; a flooded one has as many as somebody liked.
const ENTRIES: usize = 50;
const FINDINGS: i64 = 50;

pub(crate) async fn action(
    State(ledger): State<Arc<Ledger>>,
    Extension(visit): Extension<Visit>,
    Path((_, named)): Path<(String, String)>,
    Query(asked): Query<From>,
) -> Result<Response, ApiError> {
    let (named, form) = Form::of(&named);
    let action: ActionId = named.parse().map_err(|_| ApiError::NotFound)?;
    let view = ActionView::of(gather(&ledger, &visit, action, asked.from).await?);
    Ok(match form {
        Form::Html => html(page::render_action(&view)),
        Form::Json => json(&view),
    })
}

async fn gather(
    ledger: &Ledger,
    visit: &Visit,
    action: ActionId,
    from: u64,
) -> Result<GatheredAction, ApiError> {
    let project = ledger.project(visit.project).await?;
    let mut client = ledger.database().reader().await?;
    let tx = client.begin_snapshot(visit.project).await?;
    let entries = store::action(&tx, action, from, 1 + ENTRIES as i64).await?;
    // An action of another project, and one that nobody ever named, are the same nothing.
    if entries.is_empty() {
        return Err(ApiError::NotFound);
    }
    let (entries, later) = page_part(entries, ENTRIES, |row| row.entry.seq + 1);
    let findings = store::findings_of(&tx, action, FINDINGS).await?;
    let places = findings.iter().flat_map(|row| [Some(row.seq), row.cleared, row.resolved]);
    let bodies = store::bodies(&tx, &places.flatten().collect::<Vec<_>>()).await?;
    Ok(GatheredAction {
        project,
        visibility: visit.visibility,
        now: clock::now(),
        action,
        entries,
        later,
        findings,
        bodies,
    })
}
