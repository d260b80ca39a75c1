use crate::testing::provider::tools;
use crate::testing::{Behaviour, OTHER_KEY, World, call, read};
use serde_json::{Value, json};

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn modern(method: &str, params: &Value) -> String {
    let mut params = params.clone();
    let meta = params["_meta"].take();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(meta) = meta.as_object() {
        for (key, value) in meta {
            params["_meta"][key] = value.clone();
        }
    }
    json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).to_string()
}

async fn say_modern(
    world: &World,
    path: &str,
    body: String,
    headers: &[(&'static str, &str)],
) -> crate::testing::Reply {
    let mut request = world.host.post(path, body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request).await
}

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

// T3
#[tokio::test]
async fn a_caller_without_a_key_we_know_learns_nothing() {
    let world = World::new().await;

    for key in ["cfk_wrong", "cfs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ""] {
        let host = world.host.with_key(key);
        let request = host.post("/mcp/notes", PING).send().await.expect("an answer");
        assert_eq!(request.status(), 401, "{key}");
        assert_eq!(request.headers()["www-authenticate"], "Bearer");
    }
    world.ledger.change(|snapshot| snapshot.credentials[0].revoked = true);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(world.host.say(PING).await.status, 401);
    assert!(world.decisions().is_empty());
    // No authorization server is announced, and nothing is said to whoever looks for one.
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp/notes",
        "/.well-known/oauth-authorization-server",
    ] {
        let reply = world.host.get(path).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (404, ""));
    }
}

// T8, T11: each refusal with a valid key is one recorded DENY, and none is an ALLOW.
#[tokio::test]
async fn every_bad_input_is_refused_in_its_own_way_and_recorded() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let good = call("note_read", NOTE);
    let post = || host.post("/mcp/notes", good.clone());
    let with = |body: &str| host.post("/mcp/notes", body.to_owned());
    let deep = format!(r#"{{"path":{}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let cases = [
        ("no such provider", host.post("/mcp/nothing", good.clone()), 404, -32600),
        ("host", post().header("host", "evil.example"), 403, -32600),
        ("origin", post().header("origin", "https://evil.example"), 403, -32600),
        ("content type", post().header("content-type", "text/plain"), 415, -32600),
        ("too large", with(&format!("\"{}\"", "x".repeat(5 << 20))), 413, -32600),
        ("not JSON", with("{"), 400, -32700),
        ("not UTF-8", host.post("/mcp/notes", b"\"\xff\"".to_vec()), 400, -32700),
        ("batch", with(&format!("[{good}]")), 400, -32600),
        ("id null", with(&good.replacen("\"id\":7", "\"id\":null", 1)), 400, -32600),
        ("duplicate key", with(&good.replacen("\"id\":7", "\"id\":7,\"id\":8", 1)), 400, -32602),
        ("surrogate", with(&good.replacen("\"id\":7", "\"id\":\"\\ud800\"", 1)), 400, -32602),
        ("name", with(&good.replacen("\"note_read\"", "7", 1)), 400, -32602),
        ("meta", with(&good.replacen("\"name\"", "\"_meta\":[],\"name\"", 1)), 400, -32602),
        ("session", world.host.with_session("AAAA").post("/mcp/notes", good.clone()), 404, -32600),
        ("no session", world.host.post("/mcp/notes", good.clone()), 400, -32600),
        ("revision", post().header("mcp-protocol-version", "1999-01-01"), 400, -32600),
        ("arguments, duplicate", with(&call("note_read", r#"{"a":1,"a":2}"#)), 400, -32602),
        ("arguments, depth", with(&call("note_read", &deep)), 400, -32602),
        ("arguments, integer", with(&call("note_read", r#"{"a":9007199254740993}"#)), 400, -32602),
        ("arguments, no object", with(&call("note_read", "[1]")), 400, -32602),
    ];
    let count = cases.len();

    for (place, (name, request, status, code)) in cases.into_iter().enumerate() {
        let reply = read(request).await;

        assert_eq!(reply.status, status, "{name}: {}", reply.text);
        assert_eq!(reply.error()["code"], code, "{name}");
        let receipt = &reply.error()["data"]["dev.counterfoil/receipt"];
        assert_eq!(receipt["verdict"], "DENY", "{name}: {}", reply.text);
        assert_eq!(world.decisions().len(), place + 1, "{name}");
    }
    let decisions = world.decisions();
    assert_eq!(decisions.len(), count);
    assert!(decisions.iter().all(|decision| decision["verdict"] == "DENY"));
    assert!(world.provider_log().is_empty());
}

#[tokio::test]
async fn a_gateway_that_knows_no_keys_yet_does_not_call_a_key_wrong() {
    let world = World::unready(|config| config.evidence_url = "http://127.0.0.1:9".into()).await;

    let with_key = world.host.post("/mcp/notes", PING).send().await.expect("an answer");
    let without = world.host.with_key("").post("/mcp/notes", PING).send().await.expect("an answer");

    assert_eq!(with_key.status(), 503);
    assert_eq!(with_key.headers()["retry-after"], "1");
    assert_eq!(without.status(), 401);
    assert_eq!(world.host.get("/readyz").await.status, 503);
}

// T8
#[tokio::test]
async fn a_key_that_asks_too_much_is_told_to_wait_and_nothing_is_recorded() {
    let one = std::num::NonZeroU32::MIN;
    let limits = crate::config::Limits { messages_per_second: one, burst: one };
    let world = World::with(|config| config.limits = limits).await;
    let host = world.host.initialize().await;

    let refused = host.post("/mcp/notes", call("note_read", NOTE)).send().await.expect("an answer");

    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().expect("text").parse().expect("a number");
    assert!(wait >= 1);
    assert!(world.decisions().is_empty());
    assert!(world.host.with_key(OTHER_KEY).say(PING).await.status != 429);
}

#[tokio::test]
async fn what_concerns_no_call_leaves_no_entry() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    assert_eq!(host.say(PING).await.result(), json!({}));
    let list = host.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert!(list.text.contains(r#""x-unknown":1.0"#));
    let unknown = host.say(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#).await;
    assert_eq!((unknown.status.as_u16(), &unknown.error()["code"]), (200, &json!(-32601)));
    let bad = host.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#).await;
    assert_eq!(bad.status, 400);
    let notice = host.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((notice.status.as_u16(), notice.text.as_str()), (202, ""));
    let get = read(host.post("/mcp/notes", "").header("x", "y")).await;
    assert_eq!(get.status, 400);

    // The two whose method has no reading might have been calls.
    assert_eq!(world.decisions().len(), 2);
}

#[tokio::test]
async fn a_legacy_session_begins_and_ends() {
    let world = World::new().await;
    let ask = |revision: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}}}}}}"#
        );
        let host = world.host.clone();
        async move { host.say(text).await }
    };
    for (asked, spoken) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999", "2025-11-25"),
    ] {
        let reply = ask(asked).await;
        assert_eq!(reply.result()["protocolVersion"], spoken);
        assert_eq!(reply.result()["instructions"], "be kind");
        assert!(reply.session.is_some());
    }
    let host = world.host.initialize().await;
    let session = host.say(PING).await;
    assert_eq!(session.status, 200);

    assert_eq!(host.delete("/mcp/notes").await.status, 204);

    assert_eq!(host.say(PING).await.status, 404);
    assert_eq!(host.delete("/mcp/notes").await.status, 404);
    assert_eq!(world.host.get("/mcp/notes").await.status, 401);
}

#[tokio::test]
async fn a_session_of_another_key_is_unknown() {
    let world = World::new().await;
    let reply = world
        .host
        .say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#);
    let session = reply.await.session.expect("a session");

    let other = world.host.with_key(OTHER_KEY).with_session(&session);

    assert_eq!(other.say(PING).await.status, 404);
    assert_eq!(world.host.with_session(&session).say(PING).await.status, 200);
}

#[tokio::test]
async fn the_modern_era_needs_no_session() {
    let world = World::new().await;

    let discover = say_modern(
        &world,
        "/mcp/notes",
        modern("server/discover", &json!({})),
        &[VERSION, ("mcp-method", "server/discover")],
    )
    .await;
    let list = say_modern(
        &world,
        "/mcp/notes",
        modern("tools/list", &json!({})),
        &[VERSION, ("mcp-method", "tools/list")],
    )
    .await;
    let params = json!({"name": "note_read", "arguments": {"path": "/notes/a.txt"}});
    let called = say_modern(
        &world,
        "/mcp/notes",
        modern("tools/call", &params),
        &[VERSION, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?bm90ZV9yZWFk?=")],
    )
    .await;

    assert_eq!(discover.result()["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discover.result()["resultType"], "complete");
    assert!(discover.result()["ttlMs"].is_number() && discover.session.is_none());
    assert_eq!(list.result()["cacheScope"], "private");
    assert_eq!(list.result()["tools"].as_array().map(Vec::len), Some(tools().len()));
    assert_eq!(called.words(), "ok", "{}", called.text);
    assert_eq!(called.result()["resultType"], "complete");
    assert_eq!(called.receipt()["verdict"], "ALLOW");
    let sent = &world.provider_log()[0];
    assert!(!sent.contains("io.modelcontextprotocol"), "{sent}");
}

#[tokio::test]
async fn headers_that_contradict_the_body_are_refused() {
    let world = World::new().await;
    let params = json!({"name": "note_read", "arguments": {"path": "/notes/a.txt"}});
    let body = modern("tools/call", &params);
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "note_read"));
    for headers in [
        vec![method, name],
        vec![VERSION, name],
        vec![VERSION, method],
        vec![("mcp-protocol-version", "2025-11-25"), method, name],
        vec![VERSION, ("mcp-method", "tools/list"), name],
        vec![VERSION, method, ("mcp-name", "note_write")],
        vec![VERSION, method, ("mcp-name", "Note_read")],
        vec![VERSION, method, ("mcp-name", "=?base64?!?=")],
    ] {
        let reply = say_modern(&world, "/mcp/notes", body.clone(), &headers).await;
        assert_eq!((reply.status.as_u16(), &reply.error()["code"]), (400, &json!(-32020)), "{headers:?}");
        assert_eq!(reply.error()["data"]["dev.counterfoil/receipt"]["verdict"], "DENY");
    }
    assert!(world.provider_log().is_empty());

    // A bridge has no headers to send; what it sends still has to agree.
    let bridged = say_modern(&world, "/stdio/notes", body.clone(), &[]).await;
    assert_eq!(bridged.words(), "ok", "{}", bridged.text);
    assert_eq!(world.decisions().last().expect("one")["origin"], "stdio");
    let lying = say_modern(&world, "/stdio/notes", body, &[("mcp-name", "other")]).await;
    assert_eq!(lying.error()["code"], -32020);
}

#[tokio::test]
async fn the_modern_era_has_its_own_errors() {
    let world = World::new().await;
    let ask = |method: &'static str, body: String, version: &'static str| {
        let world = &world;
        async move {
            let headers = [("mcp-protocol-version", version), ("mcp-method", method)];
            say_modern(world, "/mcp/notes", body, &headers).await
        }
    };
    let newer = modern("tools/list", &json!({})).replace("2026-07-28", "2027-01-01");

    let unsupported = ask("tools/list", newer, "2027-01-01").await;
    let removed = ask("ping", modern("ping", &json!({})), "2026-07-28").await;
    let bare = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}"#.to_owned();
    let no_meta = ask("tools/list", bare, "2026-07-28").await;
    let half = modern("tools/list", &json!({"_meta": {"io.modelcontextprotocol/clientCapabilities": null}}));
    let no_capabilities = ask("tools/list", half, "2026-07-28").await;

    assert_eq!((unsupported.status.as_u16(), &unsupported.error()["code"]), (400, &json!(-32022)));
    assert_eq!(unsupported.error()["data"], json!({"supported": ["2026-07-28"], "requested": "2027-01-01"}));
    assert_eq!((removed.status.as_u16(), &removed.error()["code"]), (404, &json!(-32601)));
    assert_eq!((no_meta.status.as_u16(), &no_meta.error()["code"]), (400, &json!(-32602)));
    assert_eq!((no_capabilities.status.as_u16(), &no_capabilities.error()["code"]), (400, &json!(-32602)));
    assert!(world.decisions().is_empty());
}

#[tokio::test]
async fn readiness_says_what_is_missing() {
    let world = World::new().await;
    assert_eq!(world.host.get("/healthz").await.status, 200);
    assert_eq!(world.host.get("/readyz").await.status, 200);

    world.ledger.behave(Behaviour::Unavailable);
    for _ in 0..100 {
        let reply = world.host.get("/readyz").await;
        if reply.status == 503 {
            assert_eq!(reply.json()["faults"][0]["fault"], "evidence_away");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("still ready");
}

#[tokio::test]
async fn a_snapshot_whose_documents_are_not_its_policy_is_not_followed() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    world.ledger.change(|snapshot| {
        let documents = snapshot.documents.as_mut().expect("documents");
        documents.rules = documents.rules.replace("/notes", "/etc");
    });

    for _ in 0..100 {
        let reply = world.host.get("/readyz").await;
        if reply.json()["faults"][0]["fault"] == "policy_mismatch" {
            // The old rules stand, and what they do not allow is still not allowed.
            let held = host.call("note_read", r#"{"path":"/etc/passwd"}"#).await;
            assert_eq!(held.receipt()["verdict"], "STEP_UP");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the snapshot was followed");
}

// C1
#[tokio::test]
async fn providers_fetch_our_keys_and_the_kill_generation_from_us() {
    let world = World::new().await;

    let keys = world.host.get("/p/7-k3m9q2v8/gateway-jwks.json").await.json();
    let feed = world.host.get("/p/7-k3m9q2v8/gen").await;

    assert_eq!(keys["iss"], "https://gw.example/p/7-k3m9q2v8");
    let purposes: Vec<&str> =
        keys["keys"].as_array().expect("keys").iter().filter_map(|key| key["purpose"].as_str()).collect();
    assert_eq!(purposes, ["decision", "capability"]);
    assert_eq!(keys["keys"][1]["alg"], "EdDSA");
    let claims = counterfoil_core::nonce::unbase64url(feed.text.split('.').nth(1).expect("claims"));
    let claims: Value = serde_json::from_slice(&claims.expect("base64url")).expect("JSON");
    assert_eq!(claims["gen"], 0);
    assert_eq!(claims["exp"].as_i64(), claims["iat"].as_i64().map(|iat| iat + 10));
    assert_eq!(world.host.get("/p/8-k3m9q2v8/gen").await.status, 404);
}

#[tokio::test]
async fn an_operator_on_this_machine_reads_counts_without_a_word_of_anybody() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    host.call("note_write", NOTE).await;
    host.say("[]").await;
    world.ledger.settled(1).await;

    let text = world.host.get("/metrics").await.text;

    for line in [
        "decisions_total{verdict=\"ALLOW\"} 1",
        "decisions_total{verdict=\"DENY\"} 2",
        "observations_total{status=\"returned\"} 1",
        "answers_total{status=\"400\"} 1",
        "unrecorded_total 0",
        "dropped_total 0",
        "waiting_decisions 0",
    ] {
        assert!(text.contains(&format!("counterfoil_gateway_{line}\n")), "{line}: {text}");
    }
    for word in ["note_read", "prj_", "key_", "/notes/"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[tokio::test]
async fn metrics_with_a_listener_of_their_own_are_nowhere_else() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let world = World::with(|config| config.metrics_listen = Some(port)).await;

    let elsewhere = reqwest::get(format!("http://{port}/metrics")).await.expect("an answer");

    assert_eq!(world.host.get("/metrics").await.status, 404);
    assert!(elsewhere.text().await.expect("text").contains("counterfoil_gateway_decisions_total"));
}
