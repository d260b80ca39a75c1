//! `GET /metrics`: on the listener that the configuration names for it, else for peers on this machine alone.

use crate::house::House;
use crate::listener::Peer;
use crate::metrics;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// What the listener of hosts answers.
pub async fn for_neighbours(State(house): State<Arc<House>>, peer: Option<Extension<Peer>>) -> Response {
    match peer {
        Some(Extension(Peer(address)))
            if !house.metrics_elsewhere && address.ip().to_canonical().is_loopback() =>
        {
            answer(&house)
        }
        Some(_) | None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A listener of its own.
pub fn router(house: Arc<House>) -> Router {
    Router::new()
        .route("/metrics", get(async |State(house): State<Arc<House>>| answer(&house)))
        .layer(axum::middleware::from_fn_with_state(house.clone(), super::guard::refuse_strangers))
        .with_state(house)
}

fn answer(house: &House) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text(house))
        .into_response()
}
