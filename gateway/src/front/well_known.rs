//! What providers, verifiers and load balancers fetch.

use crate::capability::generation_feed;
use crate::house::{House, Project};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;

/// `<iss>/gateway-jwks.json`: our own public keys, from our own listener. Nobody else's copy is an authority.
pub async fn keys(State(house): State<Arc<House>>, Path(name): Path<String>) -> Response {
    let Some((_, control)) = named(&house, &name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let document = counterfoil_jwks::document(control.iss(), &house.keys.published);
    (
        [(header::CONTENT_TYPE, "application/jwk-set+json"), (header::CACHE_CONTROL, "public, max-age=300")],
        counterfoil_core::json::canonical(&document),
    )
        .into_response()
}

/// `<iss>/gen`: the kill generation, signed, for providers that refuse slips of an earlier one. Says nothing when it
/// does not know: a provider takes silence for a no.
pub async fn generation(State(house): State<Arc<House>>, Path(name): Path<String>) -> Response {
    let Some((project, _)) = named(&house, &name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !project.control.is_recent() {
        // Asked again below, whatever came of it.
        let _ = project.control.read_now().await;
    }
    if !project.control.is_recent() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let (Some(control), Ok(now)) = (project.control.known(), project.clock.now()) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let feed = generation_feed(control.iss(), control.snapshot.generation, now, &house.keys.capability);
    ([(header::CONTENT_TYPE, "application/toolgen+jwt")], feed).into_response()
}

pub async fn health() -> &'static str {
    "alive\n"
}

/// Ready: every project's control is followed and compiled, and ledger time is younger than a minute.
pub async fn readiness(State(house): State<Arc<House>>) -> Response {
    let faults: Vec<_> = house
        .projects
        .iter()
        .filter_map(|project| Some(json!({"project": project.id, "fault": project.fault()?})))
        .collect();
    let status = match faults.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(json!({"ready": faults.is_empty(), "faults": faults}))).into_response()
}

type Named = (Arc<Project>, Arc<crate::control::Control>);

fn named(house: &House, name: &str) -> Option<Named> {
    house.projects.iter().find_map(|project| {
        let control = project.control.known()?;
        (control.iss().name() == name).then(|| (project.clone(), control))
    })
}
