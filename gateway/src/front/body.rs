//! The bytes of one message: JSON by its label, at most 4 MiB, UTF-8.

use super::refusal::{INVALID_REQUEST, PARSE_ERROR, Refusal};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use std::time::Duration;

/// Four times what can be bound, so that a call too large to bind is still read and recorded as one.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;
/// What is more than that is read and thrown away, so that its sender gets to read our answer instead of a broken
/// connection; what is more than this is not even that.
const PATIENCE: usize = 4 * MOST_BYTES;
/// A host that sends slower than this does not mean it: 4 MiB in thirty seconds is 1.1 Mbit/s.
const WITHIN: Duration = Duration::from_secs(30);

pub async fn read(headers: &HeaderMap, body: Body) -> Result<String, Refusal> {
    if !says_json(headers) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            INVALID_REQUEST,
            "`Content-Type` must be application/json",
        ));
    }
    if !accepts_json(headers) {
        return Err(Refusal::new(
            StatusCode::NOT_ACCEPTABLE,
            INVALID_REQUEST,
            "`Accept` must allow application/json",
        ));
    }
    let bytes = tokio::time::timeout(WITHIN, whole(body)).await.map_err(|_| {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST, "the body came too slowly")
    })??;
    String::from_utf8(bytes).map_err(|_| Refusal::bad(PARSE_ERROR, "not UTF-8"))
}

async fn whole(mut body: Body) -> Result<Vec<u8>, Refusal> {
    let (mut read, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::bad(PARSE_ERROR, "the body broke off"))?;
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        seen += chunk.len();
        if seen <= MOST_BYTES {
            read.extend_from_slice(&chunk);
        }
        if seen > PATIENCE {
            break;
        }
    }
    match seen > MOST_BYTES {
        true => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            INVALID_REQUEST,
            format!("larger than {MOST_BYTES} bytes"),
        )),
        false => Ok(read),
    }
}

fn says_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let one = values.next().and_then(|value| value.to_str().ok());
    let json = one.is_some_and(|text| {
        let essence = text.split(';').next().unwrap_or("").trim();
        essence.eq_ignore_ascii_case("application/json")
    });
    json && values.next().is_none()
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(|range| range.split(';').next().unwrap_or("").trim())
        .any(|range| {
            ["application/json", "application/*", "*/*"].iter().any(|known| range.eq_ignore_ascii_case(known))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    async fn status(kind: &'static str, accept: &'static str, body: Vec<u8>) -> Option<StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        read(&headers, Body::from(body)).await.err().map(|r| r.status)
    }

    // T8
    #[tokio::test]
    async fn what_is_not_labelled_json_or_too_large_is_refused() {
        let json = "application/json; charset=utf-8";
        assert_eq!(status(json, "*/*", vec![b'1'; MOST_BYTES]).await, None);

        for (kind, accept, body, expected) in [
            ("text/plain", "*/*", vec![], StatusCode::UNSUPPORTED_MEDIA_TYPE),
            ("application/jsonp", "*/*", vec![], StatusCode::UNSUPPORTED_MEDIA_TYPE),
            (json, "text/event-stream", vec![], StatusCode::NOT_ACCEPTABLE),
            (json, "application/json", vec![b'1'; MOST_BYTES + 1], StatusCode::PAYLOAD_TOO_LARGE),
            (json, "application/json", b"\"\xff\"".to_vec(), StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(status(kind, accept, body).await, Some(expected));
        }
    }
}
