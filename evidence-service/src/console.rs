//! The console: where people answer held calls, change grants, stop and resume.
//!
//! Promised: a listener of its own, off unless configured; nobody is let in but by an operator's token, and an agent's key
//! finds nothing here; nothing changes by a GET; a browser's request that changes something says where it comes from
//! before its cookie is looked at; pages need no script. Whatever is done becomes an entry under the operator's pseudonym.
//! Not promised: who the person is.
//!
//!     GET /v1/holds[?all=true]    GET /v1/holds/<hold>    POST /v1/holds/<hold>/answer
//!     GET /v1/grants              POST /v1/grants/<grant>
//!     POST /v1/kill  /v1/resume  /v1/breakglass  /v1/shadow
//!
//! For operators: docs/operating/console.md.

mod acts;
mod door;
mod holds;
mod page;
mod pages;
mod said;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use counterfoil_jwks::Mode;

use crate::http::ApiError;
use crate::ledger::Ledger;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Console {
    ledger: Arc<Ledger>,
    /// A cookie that travels without TLS is for `dev` alone.
    mode: Mode,
}

pub(crate) fn router(ledger: Arc<Ledger>, mode: Mode) -> Router {
    Router::new()
        .route("/v1/holds", get(holds::list))
        .route("/v1/holds/{hold}", get(holds::one))
        .route("/v1/holds/{hold}/answer", post(holds::answer))
        .route("/v1/grants", get(holds::grants))
        .route("/v1/grants/{grant}", post(holds::change))
        .route("/v1/kill", post(acts::kill))
        .route("/v1/resume", post(acts::resume))
        .route("/v1/breakglass", post(acts::breakglass))
        .route("/v1/shadow", post(acts::shadow))
        .route("/", get(pages::front))
        .route("/sign-in", post(pages::sign_in))
        .route("/sign-out", post(pages::sign_out))
        .route("/holds/{hold}", get(pages::hold).post(pages::answer))
        .fallback(|| async { ApiError::NotFound })
        .with_state(Console { ledger, mode })
}

/// No request here needs more than an answer and a reason.
pub(crate) const LARGEST: usize = 16 * 1024;
