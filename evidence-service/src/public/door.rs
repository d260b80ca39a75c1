//! The one door to everything below `/p/`: which project an address names, and who may see it (T1, T12).
//!
//! Promised: a private project is answered like one that does not exist, whatever lies below its address, except to
//! a holder of one of its API keys; so is a wrong slot, a wrong public id and another spelling. Pages that are not
//! public tell search engines to stay away. Not promised: that an unlisted address stays a secret.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::PublicId;

use super::store;
use crate::accounts;
use crate::http::{ApiError, bearer};
use crate::ledger::Ledger;
use crate::settings::{self, Visibility};

/// Somebody who may see a project. Handlers get it from [`admit`] and from nowhere else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) project: ProjectId,
    pub(crate) visibility: Visibility,
}

/// In front of every route below `/p/{name}`.
pub(crate) async fn admit(
    State(ledger): State<Arc<Ledger>>,
    Path(named): Path<std::collections::HashMap<String, String>>,
    mut request: Request,
    next: Next,
) -> Response {
    let name = named.get("name").map_or("", String::as_str);
    // The page itself has a second name, for programs; nothing below it has.
    let below = request.uri().path().matches('/').count() > 2;
    let name = if below { name } else { name.strip_suffix(".json").unwrap_or(name) };
    let visit = match visit(&ledger, name, request.headers()).await {
        Ok(visit) => visit,
        Err(error) => return error.into_response(),
    };
    request.extensions_mut().insert(visit);
    let mut response = next.run(request).await;
    match visit.visibility {
        Visibility::Public => {}
        Visibility::Private | Visibility::Unlisted => {
            let robots = HeaderName::from_static("x-robots-tag");
            response.headers_mut().insert(robots, HeaderValue::from_static("noindex"));
        }
    }
    response
}

async fn visit(ledger: &Ledger, name: &str, headers: &HeaderMap) -> Result<Visit, ApiError> {
    let project = find(ledger, name).await?;
    let visibility = {
        let mut client = ledger.database().reader().await?;
        let tx = client.begin(project).await?;
        settings::store::visibility(&tx).await?
    };
    match visibility {
        Visibility::Public | Visibility::Unlisted => Ok(Visit { project, visibility }),
        Visibility::Private if headers.contains_key(AUTHORIZATION) => {
            let key = bearer(headers).map_err(|_| ApiError::NotFound)?;
            let owner = accounts::api_key(ledger.database(), key).await?;
            let own = owner.is_some_and(|(of, _)| of == project);
            if own { Ok(Visit { project, visibility }) } else { Err(ApiError::NotFound) }
        }
        Visibility::Private => Err(ApiError::NotFound),
    }
}

/// The project of `<slot>-<public id>`. Anything else is nothing, and looks the same.
async fn find(ledger: &Ledger, name: &str) -> Result<ProjectId, ApiError> {
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
