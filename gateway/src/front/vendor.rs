//! What a vendor asks of the evidence service, at the address that it has anyway: ours.
//!
//! Promised: a caller whose key we do not know gets no further; one whose key asks too much waits; what is passed on is
//! the body as it came, and what comes back is the evidence service's own answer. It knows the key as well and decides.
//! Not promised: anything about the body. Nothing in it is read here.
//!
//!     POST /v1/sessions        POST /v1/sessions/{id}/close            PUT /v1/tool-catalog
//!     POST /v1/executions      GET /v1/acceptances?after=41&limit=50      PUT /v1/coverage

use super::auth;
use crate::evidence::{NoAnswer, Passed};
use crate::house::House;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;

/// As much as the evidence service reads, and a little: it says best what is too large.
const LARGEST: usize = 128 * 1024;
const WITHIN: Duration = Duration::from_secs(30);

pub async fn pass(
    State(house): State<Arc<House>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let caller = match auth::caller(&house, &headers) {
        Ok(caller) => caller,
        Err(turned) => return auth::turn_away(turned),
    };
    if let Err(much) = house.rates.admit(caller.key) {
        let wait = much.seconds().to_string();
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, wait)]).into_response();
    }
    let Ok(read) = tokio::time::timeout(WITHIN, to_bytes(body, LARGEST)).await else {
        return StatusCode::REQUEST_TIMEOUT.into_response();
    };
    let Ok(body) = read else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let target = uri.path_and_query().map_or(uri.path(), |target| target.as_str());
    match house.evidence.pass(method, target, &headers, body).await {
        Ok(Passed { status, headers, body }) => (status, headers, body).into_response(),
        // Each of these may be asked again: the same statement, session or catalogue is one entry.
        Err(NoAnswer::NotTaken(_) | NoAnswer::Unusable(_) | NoAnswer::InDoubt(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Behaviour, KEY, World, read};

    /// P3: as it came, under the vendor's own key, and the evidence service's own answer.
    #[tokio::test]
    async fn a_vendors_request_passes_unchanged_and_so_does_the_answer() {
        let world = World::new().await;
        let body = r#"{"action_id":"act_…" , "b":1.0}"#;

        let asked = world.host.post("/v1/executions?a=%2F", body).header("cookie", "c");
        let answer = asked.send().await.expect("an answer");

        assert_eq!(answer.status().as_u16(), 429);
        assert_eq!(answer.headers().get("retry-after").expect("a wait"), "7");
        assert!(answer.headers().get("x-inside").is_none());
        let seen: serde_json::Value = answer.json().await.expect("JSON");
        assert_eq!(seen["target"], "/v1/executions?a=%2F");
        assert_eq!((&seen["method"], &seen["body"]), (&"POST".into(), &body.into()));
        assert_eq!(seen["authorization"], format!("Bearer {KEY}"));
        assert_eq!((&seen["type"], &seen["cookie"]), (&"application/json".into(), &"".into()));
    }

    /// The id is the vendor's own: no spelling of it is changed on the way.
    #[tokio::test]
    async fn sessions_and_catalogues_pass_as_they_are_spelled() {
        let world = World::new().await;
        for (method, path) in [
            (reqwest::Method::POST, "/v1/sessions"),
            (reqwest::Method::POST, "/v1/sessions/order%2F17%20a/close"),
            (reqwest::Method::PUT, "/v1/tool-catalog"),
        ] {
            let asked = world.host.ask(method.clone(), path).body("{}");
            let seen: serde_json::Value = asked.send().await.expect("an answer").json().await.expect("JSON");
            assert_eq!((&seen["target"], &seen["method"]), (&path.into(), &method.as_str().into()));
        }
    }

    /// T3, T8, T11
    #[tokio::test]
    async fn who_may_not_ask_is_not_passed_on() {
        let world = World::with(|config| {
            config.limits.burst = std::num::NonZeroU32::new(2).expect("not zero");
            config.limits.messages_per_second = std::num::NonZeroU32::MIN;
        })
        .await;
        let stranger = world.host.with_key("cfk_ccccccccccccccccccccccccccccccccccccccccccc");
        let other = world.host.with_key(crate::testing::OTHER_KEY);

        let unknown = read(stranger.post("/v1/executions", "{}")).await;
        let foreign = read(world.host.post("/v1/executions", "{}").header("host", "evil.example")).await;
        let page =
            read(world.host.post("/v1/executions", "{}").header("origin", "https://evil.example")).await;
        let large = read(other.post("/v1/executions", "x".repeat(200_000))).await;
        let wrong = read(world.host.post("/v1/acceptances", "{}")).await;
        let absent = read(world.host.post("/v1/everything", "{}")).await;

        let codes = [&unknown, &foreign, &page, &large, &wrong, &absent].map(|reply| reply.status.as_u16());
        assert_eq!(codes, [401, 403, 403, 413, 405, 404]);
        for _ in 0..2 {
            assert!(read(world.host.post("/v1/executions", "{}")).await.text.contains("target"));
        }
        let too_much = read(world.host.post("/v1/executions", "{}")).await;
        assert_eq!((too_much.status.as_u16(), too_much.text.as_str()), (429, ""));
    }

    /// Nothing is known to be stored, so the vendor asks again.
    #[tokio::test]
    async fn an_evidence_service_that_is_away_is_said() {
        let world = World::new().await;
        world.ledger.behave(Behaviour::Gone);

        let answer = world.host.post("/v1/executions", "{}").send().await.expect("an answer");

        assert_eq!(answer.status().as_u16(), 503);
        assert_eq!(answer.headers().get("retry-after").expect("a wait"), "1");
    }
}
