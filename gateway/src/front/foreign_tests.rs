//! Providers of somebody else's project.

use crate::testing::{World, read};
use serde_json::Value;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The routes under which a caller can name somebody else's provider, read out of the router's own text. One that is
/// in neither list fails the test.
fn routes_that_name_something() -> Vec<&'static str> {
    /// The caller's own project, or nobody's; the last two answer with public keys.
    const NAME_NOTHING: [&str; 14] = [
        "/mcp",
        "/stdio",
        "/v1/actions",
        "/v1/sessions",
        // A session belongs to the key that declared it; the evidence service looks it up under the key.
        "/v1/sessions/{external}/close",
        "/v1/tool-catalog",
        "/v1/executions",
        "/v1/acceptances",
        "/v1/coverage",
        "/metrics",
        "/healthz",
        "/readyz",
        "/p/{name}/gateway-jwks.json",
        "/p/{name}/gen",
    ];
    let routes = include_str!("../front.rs").split(".route(\"").skip(1);
    let routes: Vec<&str> = routes.map(|rest| rest.split('"').next().expect("a path")).collect();
    let naming: Vec<&str> = routes.into_iter().filter(|route| !NAME_NOTHING.contains(route)).collect();
    assert_eq!(naming, ["/mcp/{provider}", "/stdio/{provider}"]);
    naming
}

/// Each refusal is an entry of its own; all else is the same.
fn without_receipt(text: &str) -> Value {
    let mut reply: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    if let Some(receipt) = reply.pointer_mut("/error/data/dev.counterfoil~1receipt") {
        assert_eq!(receipt["verdict"], "DENY");
        receipt.take();
    }
    reply
}

// T1
#[tokio::test]
async fn a_provider_of_another_project_is_as_unknown_as_any() {
    let world = World::with(|config| {
        let other = "prj_019355a0c0007000800000000000a002".parse().expect("an id");
        config.projects.push(crate::config::ProjectConfig { id: other, log_key: None });
        let mut foreign = config.providers.values().next().expect("one").clone();
        foreign.project = other;
        config.providers.insert("mail".parse().expect("an id"), foreign);
    })
    .await;

    for route in routes_that_name_something() {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"] {
            let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
            let at = |provider: &str| {
                let request = world.host.ask(method.clone(), &route.replace("{provider}", provider));
                if method == reqwest::Method::POST { request.body(PING) } else { request }
            };
            let (foreign, absent) = (read(at("mail")).await, read(at("nothing")).await);
            assert!(!foreign.status.is_success(), "{method} {route}: {}", foreign.status);
            assert_eq!(foreign.status, absent.status, "{method} {route}");
            assert_eq!(without_receipt(&foreign.text), without_receipt(&absent.text), "{method} {route}");
        }
    }
    assert_eq!(read(world.host.post("/mcp/mail", PING)).await.status.as_u16(), 404);
    let decisions = world.decisions();
    assert!(decisions.iter().all(|d| d["provider"].is_null() && d["verdict"] == "DENY"), "{decisions:?}");
}
