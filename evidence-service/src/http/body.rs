//! Reading a body that may be too large.

use axum::body::Body;
use futures_util::StreamExt as _;

use super::{ApiError, MAX_BODY};

/// How much of a body that is too large is read and thrown away, so that its sender gets to read our answer instead
/// of a broken connection.
const PATIENCE: usize = 4 * MAX_BODY;

/// The whole body, or `TooLarge`.
pub(crate) async fn whole(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    let mut seen = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::BadRequest("the body broke off"))?;
        seen += chunk.len();
        if seen > PATIENCE {
            break;
        }
        if seen <= MAX_BODY {
            read.extend_from_slice(&chunk);
        }
    }
    if seen > MAX_BODY { Err(ApiError::TooLarge) } else { Ok(read) }
}
