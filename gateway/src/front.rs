//! The listener: bytes in, one message read, one answer out.
//!
//! Promised: foreign `Host` and `Origin` are refused before anything else is looked at; a caller without a key we know
//! learns nothing, and one with a key of another project the same as one who asks for a provider that does not exist.
//! What a refused call leaves behind is decided in one place, `endpoint`.
//!
//!     POST /mcp/<provider>  /stdio/<provider>   /mcp  /stdio   Authorization: Bearer cfk_…      one JSON-RPC message
//!     POST /v1/actions   /v1/sessions …                        Authorization: Bearer cfk_…      the verdict API

mod actions;
mod address;
mod auth;
mod body;
mod endpoint;
mod guard;
mod headers;
mod legacy;
mod list;
mod methods;
pub mod metrics;
mod modern;
mod parameters;
pub mod rate;
mod refusal;
mod reply;
pub mod session;
pub mod tasks;
mod vendor;
mod well_known;

pub use guard::Names;

use crate::house::House;
use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post, put};
use counterfoil_core::statement::Origin;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

pub fn router(house: Arc<House>) -> Router {
    let guarded = house.clone();
    Router::new()
        .route("/mcp", any(endpoint::over(Origin::Mcp)))
        .route("/stdio", any(endpoint::over(Origin::Stdio)))
        .route("/mcp/{provider}", any(endpoint::over(Origin::Mcp)))
        .route("/stdio/{provider}", any(endpoint::over(Origin::Stdio)))
        .merge(
            Router::new()
                .route("/p/{name}/gateway-jwks.json", get(well_known::keys))
                .route("/p/{name}/gen", get(well_known::generation))
                .route("/v1/actions", post(actions::ask))
                .route("/v1/sessions", post(vendor::pass))
                .route("/v1/sessions/{external}/close", post(vendor::pass))
                .route("/v1/tool-catalog", put(vendor::pass))
                .route("/v1/executions", post(vendor::pass))
                .route("/v1/acceptances", get(vendor::pass))
                .route("/v1/coverage", put(vendor::pass))
                .route("/metrics", get(metrics::for_neighbours))
                .route("/healthz", get(well_known::health))
                .route("/readyz", get(well_known::readiness))
                .fallback(nothing)
                .layer(axum::middleware::from_fn_with_state(guarded, guard::refuse_strangers)),
        )
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            HeaderName::from_static("x-content-type-options"),
            HeaderValue::from_static("nosniff"),
        ))
        .layer(CatchPanicLayer::new())
        .with_state(house)
}

/// Also what hosts get that probe `/.well-known/oauth-*`: we have no authorization server to point at.
async fn nothing() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod foreign_tests;
#[cfg(test)]
mod hold_tests;
#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod lost_tests;
#[cfg(test)]
mod tests;
