//! Reading a body that may be too large.

use axum::body::Body;
use futures_util::StreamExt as _;

use super::{ApiError, MAX_BODY};

/// The whole body, or `TooLarge`.
pub(crate) async fn whole(body: Body) -> Result<Vec<u8>, ApiError> {
    whole_within(body, MAX_BODY).await
}

/// How many times as much of a body that is too large is read and thrown away, so that its sender gets to read our answer
/// instead of a broken connection.
const PATIENCE: usize = 4;

/// As [`whole`], of at most `most` bytes.
pub(crate) async fn whole_within(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    let mut seen = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::BadRequest("the body broke off"))?;
        seen += chunk.len();
        if seen > PATIENCE * most {
            break;
        }
        if seen <= most {
            read.extend_from_slice(&chunk);
        }
    }
    if seen > most { Err(ApiError::TooLarge) } else { Ok(read) }
}
