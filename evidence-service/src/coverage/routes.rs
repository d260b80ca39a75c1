//! `PUT /v1/coverage`, with an API key.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::id::{KeyId, ProjectId};

use super::claim::{Claim, Declaring, Sent};
use super::store;
use crate::accounts;
use crate::http::{ApiError, bearer};
use crate::ledger::{AppendError, Ledger};

/// Two hundred lines of a provider and a share.
pub(crate) const LARGEST: usize = 64 * 1024;

/// The receipt of the declaration: 201 where it is new, 200 where the same stands already.
pub(crate) async fn declare(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    sent: Result<Json<Sent>, JsonRejection>,
) -> Result<Response, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, key) = found.ok_or(ApiError::Unauthorized)?;
    let Json(sent) = sent.map_err(|rejection| refusal(&rejection))?;
    let claim = Claim::parse(sent).map_err(ApiError::BadRequest)?;
    if let Some(seq) = standing(&ledger, project, &claim).await? {
        return receipt(&ledger, project, seq, StatusCode::OK).await;
    }
    // What is begun is finished, whether or not the caller stays to hear of it.
    let (writer, wanted) = (Arc::clone(&ledger), claim.clone());
    let appended = tokio::spawn(async move { append(&writer, project, key, wanted).await }).await;
    match appended.map_err(|_| ApiError::Unavailable)? {
        Ok(seq) => receipt(&ledger, project, seq, StatusCode::CREATED).await,
        Err(error) => match standing(&ledger, project, &claim).await? {
            Some(seq) => receipt(&ledger, project, seq, StatusCode::OK).await,
            None => Err(error.into()),
        },
    }
}

async fn append(ledger: &Ledger, project: ProjectId, key: KeyId, claim: Claim) -> Result<u64, AppendError> {
    let issuer = ledger.project(project).await?.issuer.clone();
    let job = Declaring { issuer, behalf: key.to_string(), claim, signer: &ledger.keys().ledger };
    let done = ledger.append(project, &job).await?;
    done.last_seq().ok_or(AppendError::Unknown)
}

/// The entry that says the same, if it is the newest one.
async fn standing(ledger: &Ledger, project: ProjectId, claim: &Claim) -> Result<Option<u64>, ApiError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    let newest = store::newest(&tx, u64::MAX).await?;
    Ok(newest.filter(|(_, said)| claim.is_said_by(said)).map(|(seq, _)| seq))
}

async fn receipt(
    ledger: &Ledger,
    project: ProjectId,
    seq: u64,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let receipt = ledger.receipt(project, seq).await?.ok_or(ApiError::Unavailable)?;
    let mut response = (status, receipt).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn refusal(rejection: &JsonRejection) -> ApiError {
    match rejection {
        JsonRejection::MissingJsonContentType(_) => ApiError::WrongType,
        JsonRejection::BytesRejection(_) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::TooLarge
        }
        _ => ApiError::BadRequest(
            "send {providers: [{provider, share: all | some | none | unknown}], reason?: 1 to 280 characters}",
        ),
    }
}
