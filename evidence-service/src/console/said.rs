//! Bodies in, errors out: what a person or program reads when something is not done.

use axum::body::Body;
use axum::http::HeaderMap;
use counterfoil_core::json::{self, Profile};
use serde::de::DeserializeOwned;

use super::LARGEST;
use crate::grants::GrantError;
use crate::holds::AnswerError;
use crate::http::{ApiError, demand_json, whole_within};
use crate::ledger::AppendError;

/// One JSON object with one reading, without a member that is not known.
pub(super) async fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, ApiError> {
    demand_json(headers)?;
    let bytes = whole_within(body, LARGEST).await?;
    let document = json::parse(&bytes, Profile::Foreign);
    let document = document.map_err(|error| ApiError::Unreadable(error.to_string()))?;
    // serde reads an empty array as an object in which everything is left out: a kill of everything.
    if !document.is_object() {
        return Err(ApiError::Unreadable("the body is one JSON object".to_owned()));
    }
    T::deserialize(document).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// Operators are told why: they can do something about it.
pub(super) fn append(error: AppendError) -> ApiError {
    match error {
        AppendError::Refused(why) => ApiError::Refused(why),
        other => other.into(),
    }
}

pub(super) fn answer(error: AnswerError) -> ApiError {
    match error {
        AnswerError::NoSuchHold => ApiError::NotFound,
        AnswerError::Append(error) => append(error),
        other => ApiError::Refused(other.to_string()),
    }
}

pub(super) fn grant(error: GrantError) -> ApiError {
    match error {
        GrantError::NoneStands => ApiError::NotFound,
        GrantError::Append(error) => append(error),
        other => ApiError::Refused(other.to_string()),
    }
}
