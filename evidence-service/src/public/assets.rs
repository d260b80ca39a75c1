//! Files of the program that pages use: `/assets/<name>`. Embedded, so that what is served is what was built.
//!
//! INVARIANT: nothing here is of a project. A page works without any of them.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;

use crate::http::ApiError;
use crate::web::{VERIFY_PAGE, VERIFY_SCRIPT};

/// One embedded file.
struct Asset {
    name: &'static str,
    kind: &'static str,
    policy: &'static str,
    bytes: &'static [u8],
}

/// What is in `evidence-service/web`.
const ASSETS: &[Asset] = &[
    Asset {
        name: VERIFY,
        kind: "text/javascript; charset=utf-8",
        policy: "default-src 'none'; frame-ancestors 'none'",
        bytes: VERIFY_SCRIPT,
    },
    // Weaker from here than from elsewhere, and better than nothing: `counterfoil verify-page` prints its digest.
    Asset {
        name: "verify.html",
        kind: "text/html; charset=utf-8",
        // It brings a stricter one along, which names its own script by hash.
        policy: "frame-ancestors 'none'",
        bytes: VERIFY_PAGE,
    },
];

/// The script that verifies in the page, if this build has it.
const VERIFY: &str = "verify.js";

/// Where a page finds its script.
pub(super) fn script() -> Option<String> {
    find(VERIFY).map(|asset| format!("/assets/{}", asset.name))
}

fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// One file, by its name alone.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    let asset = find(&name).ok_or(ApiError::NotFound)?;
    let tag = format!("\"{}\"", Digest::of(asset.bytes).hex());
    let tag = HeaderValue::from_str(&tag).expect("hexadecimal digits are header characters");
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|sent| *sent == tag);
    let fixed = HeaderValue::from_static;
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, fixed(asset.kind)),
        (ETAG, tag),
        // Asked for again every time, and answered with nothing while it is the same.
        (CACHE_CONTROL, fixed("no-cache")),
        (CONTENT_SECURITY_POLICY, fixed(asset.policy)),
        (HeaderName::from_static("x-content-type-options"), fixed("nosniff")),
    ]);
    match known {
        true => Ok((StatusCode::NOT_MODIFIED, headers).into_response()),
        false => Ok((headers, asset.bytes).into_response()),
    }
}
