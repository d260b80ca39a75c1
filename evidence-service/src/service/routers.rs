//! Which path leads where, and what every request passes first.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;

use crate::accounts::Gateways;
use crate::config::{Config, Rate};
use crate::export::{self, Exports};
use crate::http::{Allowed, ApiError, Limiter, MAX_BODY, limit_by_credential, limit_by_peer, refuse_foreign};
use crate::ledger::Ledger;
use crate::packages::Packages;
use crate::public::door::admit;
use crate::public::gather::Memory;
use crate::public::log::Published;
use crate::{
    catalogs, console, control, coverage, declared, definitions, executions, health, holds, ledger, packages,
    probes, public,
};

// A page or a receipt is a few rows; what takes longer has met a database that does not answer.
const PUBLIC_WITHIN: Duration = Duration::from_secs(10);
// Longest long poll (30 s), and a record request that waits twice for a lock.
const INTERNAL_WITHIN: Duration = Duration::from_secs(40);
/// A busy agent's statements; each takes the lock of its project for some milliseconds.
const STATEMENTS: Rate = Rate { per_second: 100, burst: 200 };
/// A person, and a script beside it.
const CONSOLE: Rate = Rate { per_second: 20, burst: 200 };
/// No public route reads a larger body, but for statements, which have a bound of their own.
const PUBLIC_BODY: usize = 1024;

/// What the routes of one listener share: the ledger, and what that listener remembers for a moment.
#[derive(Clone)]
struct With<T> {
    ledger: Arc<Ledger>,
    remembered: T,
}

impl<T> FromRef<With<T>> for Arc<Ledger> {
    fn from_ref(with: &With<T>) -> Self {
        Self::clone(&with.ledger)
    }
}

/// What the public listener remembers of every project.
#[derive(Clone, Default)]
struct Pages {
    published: Published,
    memory: Memory,
}

impl FromRef<With<Pages>> for Published {
    fn from_ref(with: &With<Pages>) -> Self {
        with.remembered.published.clone()
    }
}

impl FromRef<With<Pages>> for Memory {
    fn from_ref(with: &With<Pages>) -> Self {
        with.remembered.memory.clone()
    }
}

impl FromRef<With<Gateways>> for Gateways {
    fn from_ref(with: &With<Self>) -> Self {
        with.remembered.clone()
    }
}

/// What a vendor asks with its project's key, on both listeners: directly, or through its gateway.
pub(super) fn vendors(ledger: &Arc<Ledger>) -> (Router, Limiter) {
    let stated = Router::new()
        .route("/v1/executions", post(executions::routes::submit))
        .route("/v1/sessions", post(declared::routes::open))
        .route("/v1/sessions/{external_id}/close", post(declared::routes::close))
        .route("/v1/tool-catalog", put(catalogs::routes::publish));
    let (stated, limiter) = limit_by_credential(stated, STATEMENTS);
    let others = Router::new().route("/v1/acceptances", get(executions::routes::acceptances)).route(
        "/v1/coverage",
        put(coverage::routes::declare).layer(DefaultBodyLimit::max(coverage::routes::LARGEST)),
    );
    let vendors = stated.merge(others).with_state(With { ledger: Arc::clone(ledger), remembered: () });
    (vendors, limiter)
}

pub(super) fn public(
    config: &Config,
    ledger: Arc<Ledger>,
    vendors: Router,
    packages: Packages,
    exports: Exports,
) -> (Router, Limiter) {
    let packed = Router::new()
        .route("/v1/packages", post(packages::routes::ask))
        .route("/v1/packages/{id}", get(packages::routes::progress))
        .route("/v1/packages/{id}/package.zip", get(packages::routes::package))
        .with_state(packages.clone());
    let given = Router::new()
        .route("/p/{name}/package.zip", get(packages::routes::newest_public))
        .route_layer(from_fn_with_state(Arc::clone(&ledger), admit))
        .with_state(packages);
    let exported = Router::new().route("/v1/export", get(export::routes::export)).with_state(exports);
    // Whoever may not see a project meets the same answer on each of these as for one that is not there.
    let pages = Router::new()
        .route("/p/{name}", get(public::routes::evidence))
        .route("/p/{name}/a/{action}", get(public::action::action))
        .route("/p/{name}/entries.json", get(public::bodies::entries))
        .route("/p/{name}/receipts/{seq}", get(public::bodies::receipt))
        .route("/p/{name}/jwks.json", get(public::routes::jwks))
        .route("/p/{name}/checkpoint", get(public::log::checkpoint))
        .route("/p/{name}/tile/{*path}", get(public::log::tile))
        .route_layer(from_fn_with_state(Arc::clone(&ledger), admit));
    let router = Router::new()
        .merge(pages)
        .route("/assets/{name}", get(public::assets::asset))
        .route("/v1/receipts/{seq}", get(ledger::routes::receipt))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .fallback(nothing)
        .with_state(With { ledger, remembered: Pages::default() })
        .merge(vendors)
        .merge(packed)
        .merge(exported)
        .merge(given);
    let (router, limiter) = limit_by_peer(router, config.rate);
    (bounded(router, config, PUBLIC_BODY, PUBLIC_WITHIN), limiter)
}

pub(super) fn internal(config: &Config, ledger: Arc<Ledger>, vendors: Router) -> Router {
    let router = Router::new()
        .route("/internal/v1/record", post(ledger::routes::record))
        .route("/internal/v1/control", get(control::routes::control))
        .route("/internal/v1/definitions", post(definitions::routes::definitions))
        .route("/internal/v1/holds", get(holds::routes::of_call))
        .route("/internal/v1/holds/{hold}", get(holds::routes::hold))
        .route("/internal/v1/sessions", get(ledger::routes::session))
        .route("/internal/v1/asked", post(declared::routes::asked))
        .route("/internal/v1/probes", post(probes::routes::probes))
        .route("/internal/v1/projects", get(control::routes::projects))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .fallback(nothing)
        .with_state(With { ledger, remembered: Gateways::default() })
        .merge(vendors);
    bounded(router, config, MAX_BODY, INTERNAL_WITHIN)
}

/// People and their programs. Tokens are not guessed, so the rate only keeps one peer from filling the listener.
pub(super) fn console(config: &Config, ledger: Arc<Ledger>) -> (Router, Limiter) {
    let (router, limiter) = limit_by_peer(console::router(ledger, config.mode), CONSOLE);
    (bounded(router, config, console::LARGEST, PUBLIC_WITHIN), limiter)
}

/// Outermost first: Host and Origin, then time, then size.
fn bounded(router: Router, config: &Config, body: usize, within: Duration) -> Router {
    let names = config.hosts.iter().cloned().chain([config.host.to_string()]);
    router
        .layer(DefaultBodyLimit::max(body))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, within))
        .layer(CatchPanicLayer::new())
        .layer(from_fn_with_state(Allowed::new(names), refuse_foreign))
}

async fn nothing() -> impl IntoResponse {
    ApiError::NotFound
}
