//! `POST /v1/packages`, `GET /v1/packages/<id>`, `GET /v1/packages/<id>/package.zip`, `GET /p/<name>/package.zip`.

use std::fs::File;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use counterfoil_core::id::{PackageId, ProjectId};
use futures_util::StreamExt as _;
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use super::Packages;
use super::job::{Audience, Job, State as JobState};
use crate::accounts;
use crate::http::{ApiError, bearer};
use crate::public::door::Visit;

/// What may be asked for. An empty body asks for everything.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    /// Number of the first entry that is needed; the package starts at the checkpoint before.
    from: u64,
    /// With published texts and sealed openings.
    with_rules: bool,
    /// As strangers get it.
    public: bool,
}

const POLL_SECONDS: u64 = 1;

pub(crate) async fn ask(
    State(packages): State<Packages>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let project = project(&packages, &headers).await?;
    let wanted: Wanted = if body.is_empty() {
        Wanted::default()
    } else {
        serde_json::from_slice(&body)
            .map_err(|_| ApiError::BadRequest("members may be from, with_rules, public"))?
    };
    let audience = match (wanted.with_rules, wanted.public) {
        (false, false) => Audience::Own,
        (true, false) => Audience::Rules,
        (false, true) => Audience::Public,
        (true, true) => return Err(ApiError::BadRequest("rules are for the project alone")),
    };
    let job = packages.ask(project, audience, wanted.from).await?;
    let (job, head) = packages.job(project, job.id).await?.ok_or(ApiError::NotFound)?;
    let mut response = under_way(&job, head);
    let location = HeaderValue::from_str(&format!("/v1/packages/{}", job.id));
    response.headers_mut().insert(LOCATION, location.expect("an id is header characters"));
    Ok(response)
}

pub(crate) async fn progress(
    State(packages): State<Packages>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let (_, job, head) = own(&packages, &headers, &id).await?;
    let mut response = Json(job.progress(head)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

pub(crate) async fn package(
    State(packages): State<Packages>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let (project, job, head) = own(&packages, &headers, &id).await?;
    hand_out(&packages, project, &job, head).await
}

/// For strangers: the newest, as the page that it hangs from may be seen.
pub(crate) async fn newest_public(
    State(packages): State<Packages>,
    Extension(visit): Extension<Visit>,
) -> Result<Response, ApiError> {
    let (job, head) = packages.newest_public(visit.project).await?;
    hand_out(&packages, visit.project, &job, head).await
}

async fn project(packages: &Packages, headers: &HeaderMap) -> Result<ProjectId, ApiError> {
    let found = accounts::api_key(packages.0.ledger.database(), bearer(headers)?).await?;
    found.map(|(project, _)| project).ok_or(ApiError::Unauthorized)
}

/// A package of the caller's own project. Another project's is nothing, and looks the same.
async fn own(packages: &Packages, headers: &HeaderMap, id: &str) -> Result<(ProjectId, Job, u64), ApiError> {
    let project = project(packages, headers).await?;
    let id: PackageId = id.parse().map_err(|_| ApiError::NotFound)?;
    let (job, head) = packages.job(project, id).await?.ok_or(ApiError::NotFound)?;
    Ok((project, job, head))
}

fn under_way(job: &Job, head: u64) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(job.progress(head))).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(RETRY_AFTER, HeaderValue::from(POLL_SECONDS));
    response
}

async fn hand_out(
    packages: &Packages,
    project: ProjectId,
    job: &Job,
    head: u64,
) -> Result<Response, ApiError> {
    match job.state {
        JobState::Waiting | JobState::Running => return Ok(under_way(job, head)),
        JobState::Failed => return Err(ApiError::NotFound),
        JobState::Done => {}
    }
    let place = packages.0.downloads.clone().try_acquire_owned().map_err(|_| ApiError::TooMany(10))?;
    let (shelf, id) = (packages.clone(), job.id);
    let opened = tokio::task::spawn_blocking(move || shelf.0.shelf.open(project, id)).await;
    let opened = opened.map_err(|_| ApiError::Unavailable)?;
    let (file, length): (File, u64) = opened
        .inspect_err(|error| tracing::error!(%project, %error, "packages' folder"))
        .map_err(|_| ApiError::Unavailable)?
        .ok_or(ApiError::NotFound)?;
    // The place is given back when the last byte went out, or the peer did.
    let bytes = ReaderStream::with_capacity(tokio::fs::File::from_std(file), 64 * 1024);
    let bytes = bytes.map(move |chunk| {
        let _ = &place;
        chunk
    });
    let fixed = HeaderValue::from_static;
    let named = format!("attachment; filename=\"{}.zip\"", job.id);
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("application/zip")),
        (CONTENT_LENGTH, HeaderValue::from(length)),
        (CONTENT_DISPOSITION, HeaderValue::from_str(&named).expect("an id is header characters")),
        (CACHE_CONTROL, fixed("no-store")),
        (HeaderName::from_static("x-content-type-options"), fixed("nosniff")),
    ]);
    Ok((headers, Body::from_stream(bytes)).into_response())
}
