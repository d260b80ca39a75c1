//! `POST /internal/v1/record` and `GET /v1/receipts/<seq>`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{InstanceId, KeyId, ProjectId};
use counterfoil_core::record::{
    ExecutionItem, Item, ItemAnswer, MAX_ITEMS, OpeningItem, RecordAnswer, RecordRequest, Recorded,
    RefusedReason,
};
use counterfoil_core::session::SessionAnswer;
use counterfoil_core::statement::ReceivedForm;
use futures_util::future::join_all;
use serde::Deserialize;

use super::record::{Arrived, MAX_OPENING, refused};
use super::{AppendError, Ledger, store};
use crate::accounts::{self, Gateways, ServiceToken};
use crate::clock;
use crate::executions::{Acceptance, Accepting, LARGEST_SUBMISSION, Sender, Submission};
use crate::http::{ApiError, bearer, demand_json, whole};

/// What one request asks of one project, with the places of its answers.
#[derive(Default)]
struct Share {
    statements: Vec<(usize, Arrived)>,
    openings: Vec<(usize, OpeningItem)>,
    executions: Vec<(usize, Submission)>,
}

/// Each project is a transaction of its own, each item is answered alone, in the order it came.
pub(crate) async fn record(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<RecordAnswer>, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    let request = read(&headers, &whole(body).await?)?;
    let mut answers: Vec<Option<ItemAnswer>> = request.items.iter().map(|_| None).collect();
    let shares = share(&request, &token, &mut answers)?;
    let work = shares.into_iter().map(|(project, share)| settle(&ledger, request.instance, project, share));
    let mut unavailable = false;
    for (places, settled) in join_all(work).await {
        unavailable |= settled.is_none();
        let settled = settled.unwrap_or_default();
        for (place, answer) in places.into_iter().zip(settled) {
            answers[place] = Some(answer);
        }
    }
    // Nothing of the whole request was recorded for sure: say so as one.
    if unavailable && answers.iter().all(Option::is_none) {
        return Err(ApiError::Unavailable);
    }
    let digest_of_none = Digest::of(b"");
    let answers = answers.into_iter().zip(&request.items);
    let answers = answers.map(|(answer, item)| {
        answer.unwrap_or_else(|| ItemAnswer::Unknown { digest: named(item).unwrap_or(digest_of_none) })
    });
    Ok(Json(RecordAnswer { v: 1, ledger_time: clock::now(), answers: answers.collect() }))
}

#[derive(Deserialize)]
pub(crate) struct OfKey {
    project: ProjectId,
    key: KeyId,
}

/// `GET /internal/v1/sessions`: what a key did last, for a gateway whose rules ask.
pub(crate) async fn session(
    State(ledger): State<Arc<Ledger>>,
    State(gateways): State<Gateways>,
    headers: HeaderMap,
    Query(asked): Query<OfKey>,
) -> Result<Json<SessionAnswer>, ApiError> {
    let token = gateways.who(ledger.database(), &headers).await?;
    if !token.names_project(asked.project) {
        return Err(ApiError::Forbidden);
    }
    let mut client = ledger.database().app().await?;
    let tx = client.begin(asked.project).await?;
    Ok(Json(SessionAnswer { v: 1, running: store::running(&tx, asked.key).await? }))
}

fn read(headers: &HeaderMap, body: &[u8]) -> Result<RecordRequest, ApiError> {
    demand_json(headers)?;
    let request: RecordRequest =
        serde_json::from_slice(body).map_err(|_| ApiError::BadRequest("not a record request"))?;
    if request.v != 1 || request.items.is_empty() {
        return Err(ApiError::BadRequest("not a record request of version 1 with items"));
    }
    if request.items.len() > MAX_ITEMS {
        return Err(ApiError::TooLarge);
    }
    Ok(request)
}

/// Sorts items by project. A project or key that the token does not name refuses the whole request: it is a gateway
/// that is set up wrongly, or not ours.
fn share(
    request: &RecordRequest,
    token: &ServiceToken,
    answers: &mut [Option<ItemAnswer>],
) -> Result<BTreeMap<ProjectId, Share>, ApiError> {
    let mut shares: BTreeMap<ProjectId, Share> = BTreeMap::new();
    for (place, raw) in request.items.iter().enumerate() {
        let Ok(item) = Item::from_raw(raw) else {
            answers[place] = Some(ItemAnswer::Refused { digest: None, reason: RefusedReason::Malformed });
            continue;
        };
        let project = item.project();
        if !token.names_project(project) {
            return Err(ApiError::Forbidden);
        }
        match item {
            Item::Opening(opening) if opening.jwe.len() > MAX_OPENING => {
                answers[place] = Some(refused(opening.decision, RefusedReason::TooLarge));
            }
            Item::Opening(opening) if !opening.jwe.bytes().all(|b| b.is_ascii_graphic()) => {
                answers[place] = Some(refused(opening.decision, RefusedReason::Malformed));
            }
            Item::Opening(opening) => shares.entry(project).or_default().openings.push((place, opening)),
            Item::Execution(item) => match read_execution(item) {
                Ok(submission) => shares.entry(project).or_default().executions.push((place, submission)),
                Err(reason) => answers[place] = Some(ItemAnswer::Refused { digest: None, reason }),
            },
            Item::Statement(statement) => match Arrived::read(statement) {
                Err(reason) => answers[place] = Some(ItemAnswer::Refused { digest: None, reason }),
                Ok(arrived) if !token.names_kid(arrived.kid()) => return Err(ApiError::Forbidden),
                Ok(arrived) => shares.entry(project).or_default().statements.push((place, arrived)),
            },
        }
    }
    Ok(shares)
}

/// Whatever reads gets in; whose key signed it is decided under the head's lock.
fn read_execution(item: ExecutionItem) -> Result<Submission, RefusedReason> {
    let bytes = item.execution.get().as_bytes().to_vec();
    if bytes.len() > LARGEST_SUBMISSION {
        return Err(RefusedReason::TooLarge);
    }
    let sender = Sender::Provider(item.provider);
    Submission::read_as(ReceivedForm::ExecutionNative, bytes, sender).map_err(|_| RefusedReason::Malformed)
}

/// The answers of one project; none if it is known that nothing was recorded.
async fn settle(
    ledger: &Arc<Ledger>,
    instance: InstanceId,
    project: ProjectId,
    share: Share,
) -> (Vec<usize>, Option<Vec<ItemAnswer>>) {
    let Share { statements, openings, executions } = share;
    let (mut places, statements): (Vec<usize>, Vec<Arrived>) = statements.into_iter().unzip();
    let (kept_places, openings): (Vec<usize>, Vec<OpeningItem>) = openings.into_iter().unzip();
    let (stated_places, executions): (Vec<usize>, Vec<Submission>) = executions.into_iter().unzip();
    places.extend(kept_places.into_iter().chain(stated_places));
    let settled = all(ledger, instance, project, statements, openings, executions).await;
    let settled = settled.inspect_err(|error| tracing::warn!(%project, %error, "not recorded"));
    (places, settled.ok())
}

async fn all(
    ledger: &Arc<Ledger>,
    instance: InstanceId,
    project: ProjectId,
    statements: Vec<Arrived>,
    openings: Vec<OpeningItem>,
    executions: Vec<Submission>,
) -> Result<Vec<ItemAnswer>, AppendError> {
    let mut answers = with_openings(ledger, instance, project, statements, openings).await?;
    if !executions.is_empty() {
        let digests: Vec<Digest> = executions.iter().map(Submission::digest).collect();
        let accepted = ledger.accept(project, executions).await;
        let accepted = accepted.inspect_err(|error| tracing::warn!(%project, %error, "not accepted"));
        match accepted {
            Ok(accepted) => answers.extend(digests.into_iter().zip(accepted).map(accepted_as)),
            Err(_) => answers.extend(digests.into_iter().map(|digest| ItemAnswer::Unknown { digest })),
        }
    }
    Ok(answers)
}

async fn with_openings(
    ledger: &Arc<Ledger>,
    instance: InstanceId,
    project: ProjectId,
    statements: Vec<Arrived>,
    openings: Vec<OpeningItem>,
) -> Result<Vec<ItemAnswer>, AppendError> {
    let decisions: Vec<Digest> = openings.iter().map(|opening| opening.decision).collect();
    let (mut answers, taken_along) = match statements.is_empty() {
        true => (Vec::new(), false),
        false => {
            let answered = ledger.record(project, instance, statements, openings.clone()).await?;
            (answered.statements, answered.openings_kept)
        }
    };
    // The statements stand already, or never will, whatever becomes of the openings.
    let kept = taken_along || openings.is_empty() || ledger.keep(project, openings).await.is_ok();
    let answer = |digest| if kept { ItemAnswer::Kept { digest } } else { ItemAnswer::Unknown { digest } };
    answers.extend(decisions.into_iter().map(answer));
    Ok(answers)
}

fn accepted_as((digest, acceptance): (Digest, Acceptance)) -> ItemAnswer {
    match acceptance {
        Acceptance::Spent { .. } => refused(digest, RefusedReason::OverCap),
        Acceptance::Accepted(Accepting { repeated, receipt, .. }) => {
            let recorded = Recorded { digest: receipt.entry().body, receipt };
            if repeated { ItemAnswer::Duplicate(recorded) } else { ItemAnswer::Recorded(recorded) }
        }
    }
}

fn named(raw: &counterfoil_core::record::RawItem) -> Option<Digest> {
    match Item::from_raw(raw).ok()? {
        Item::Opening(opening) => Some(opening.decision),
        Item::Execution(item) => Some(Digest::of(item.execution.get().as_bytes())),
        Item::Statement(item) => {
            let envelope = counterfoil_core::envelope::Envelope::parse(item.statement.get().as_bytes());
            envelope.ok().map(|envelope| envelope.digest())
        }
    }
}

/// The receipt at one place of the caller's own project, without openings.
pub(crate) async fn receipt(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    Path(seq): Path<String>,
) -> Result<Response, ApiError> {
    let found = accounts::api_key(ledger.database(), bearer(&headers)?).await?;
    let (project, _) = found.ok_or(ApiError::Unauthorized)?;
    let seq: u64 = seq.parse().map_err(|_| ApiError::NotFound)?;
    let receipt = ledger.receipt(project, seq).await?.ok_or(ApiError::NotFound)?;
    let mut response = receipt.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
