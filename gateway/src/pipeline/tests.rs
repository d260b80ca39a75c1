use crate::answer::NOT_RECORDED;
use crate::testing::{Behaviour, OTHER_KEY, World, call, read};
use counterfoil_core::receipt::{Trust, verify};
use josekit::jwe::{ECDH_ES_A256KW, deserialize_compact};
use serde_json::{Value, json};
use std::time::Duration;

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;

// G4, P1
#[tokio::test]
async fn an_allowed_call_is_recorded_before_it_runs_and_observed_after() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("note_read", NOTE).await;

    assert_eq!(reply.words(), "ok");
    let decisions = world.decisions();
    assert_eq!(decisions.len(), 1);
    let decision = &decisions[0];
    assert_eq!(decision["verdict"], "ALLOW");
    assert_eq!(decision["rules"], json!(["notes-read"]));
    assert_eq!(decision["tool"], "note_read");
    assert_eq!(decision["origin"], "mcp");
    assert_eq!(reply.receipt()["typ"], "receipt-ref/v1");
    assert_eq!(reply.receipt()["action"], decision["action"]);
    assert_eq!(reply.receipt()["seq"], 0);
    assert_eq!(world.provider_log().len(), 1);
    let observation = &world.ledger.observations(1).await[0];
    assert_eq!(observation["status"], "returned");
    assert_eq!(observation["is_error"], false);
    assert_eq!(observation["decision"], reply.receipt()["digest"]);
    assert!(observation["result"].is_string());
}

// P1: the receipt alone, with keys from our own listener and the log key, is enough.
#[tokio::test]
async fn a_caller_that_keeps_receipts_gets_one_that_verifies_offline() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_read","arguments":{"path":"/notes/a.txt"},"_meta":{"dev.counterfoil/want":"full"}}}"#;

    let receipt = host.say(body).await.receipt();

    assert_eq!(receipt["typ"], "receipt-full/v1");
    let mut keys = host.get("/p/7-k3m9q2v8/gateway-jwks.json").await.json();
    let log = &world.ledger.lock().snapshot.keys.log[0];
    let log = serde_json::to_value(log).expect("JSON");
    keys["keys"].as_array_mut().expect("keys").push(log);
    let trust = Trust::from_jwks(keys.to_string().as_bytes()).expect("keys");
    let verified = verify(receipt["receipt"].to_string().as_bytes(), &trust).expect("verifies");
    assert_eq!(verified.verdict().map(|v| v.as_str()), Some("ALLOW"));
    let names: Vec<&str> = receipt["openings"]
        .as_array()
        .expect("openings")
        .iter()
        .filter_map(|pair| pair[0].as_str())
        .collect();
    assert_eq!(names, ["principal", "args", "noun/0", "facts", "result"]);
}

// G3
#[tokio::test]
async fn a_denied_call_is_recorded_and_never_reaches_the_provider() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("note_write", NOTE).await;

    assert_eq!(reply.result()["isError"], true);
    assert!(reply.words().starts_with("Denied"), "{}", reply.words());
    assert_eq!(reply.receipt()["verdict"], "DENY");
    assert_eq!(world.decisions()[0]["reason"], "rule");
    assert_eq!(world.decisions()[0]["capability"], Value::Null);
    assert!(world.provider_log().is_empty());
}

// G2
#[tokio::test]
async fn what_the_registry_does_not_know_is_held() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    for (tool, arguments, reason) in [
        ("unheard_of", NOTE, "unknown_tool"),
        ("note_read", "{}", "noun_missing"),
        ("note_read", r#"{"path":"/etc/passwd"}"#, "no_rule"),
    ] {
        let reply = host.call(tool, arguments).await;

        assert_eq!(reply.result()["isError"], true);
        assert!(reply.words().contains("A person has to approve it (hld_"), "{}", reply.words());
        assert_eq!(reply.receipt()["verdict"], "STEP_UP");
        assert_eq!(world.decisions().last().expect("one")["reason"], reason);
    }
    assert!(world.provider_log().is_empty());
}

// G2
#[tokio::test]
async fn a_tool_that_nobody_lists_is_refused_and_its_name_is_not_published() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("rm_rf", NOTE).await;

    assert_eq!(reply.status, 200);
    assert_eq!(reply.error()["code"], -32602);
    assert_eq!(reply.error()["message"], "Unknown tool: rm_rf");
    let receipt = &reply.error()["data"]["dev.counterfoil/receipt"];
    assert_eq!(receipt["verdict"], "DENY");
    let decision = &world.decisions()[0];
    assert_eq!(decision["reason"], "no_such_tool");
    assert_eq!((&decision["tool"], &decision["class"]), (&Value::Null, &Value::Null));
}

// G4
#[tokio::test]
async fn without_a_record_nothing_reaches_the_provider() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.settled(1).await;

    for behaviour in [Behaviour::Unavailable, Behaviour::Forging, Behaviour::Confused, Behaviour::Forgetful] {
        world.ledger.behave(behaviour);

        let reply = host.call("note_read", NOTE).await;

        assert_eq!(reply.words(), NOT_RECORDED, "{behaviour:?}");
        assert_eq!(reply.result()["isError"], true);
        assert_eq!(world.provider_log().len(), 1, "{behaviour:?}");
    }
    world.ledger.behave(Behaviour::Sound);

    assert_eq!(host.call("note_read", NOTE).await.words(), "ok");
    // The three that the ledger has all the same are owned up to.
    let seen = world.ledger.observations(5).await;
    let unsent: Vec<&Value> = seen.iter().filter(|o| o["status"] == "not_sent").collect();
    assert_eq!(unsent.len(), 3);
    assert!(unsent.iter().all(|o| o["reason"] == "ack_unknown" && o["sent_at"].is_null()));
}

// G4
#[tokio::test]
async fn a_call_judged_by_narrower_rules_meanwhile_is_judged_again() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;

    // The rules narrow, and the gateway has not heard of it yet.
    world.ledger.change(|snapshot| {
        snapshot.control = 4;
        snapshot.floor = 4;
    });
    let reply = host.call("note_read", NOTE).await;

    assert_eq!(reply.words(), "ok");
    assert_eq!(world.decisions().last().expect("one")["control"], 4);
}

// G7
#[tokio::test]
async fn a_killed_project_executes_nothing() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;

    world.ledger.change(|snapshot| {
        snapshot.killed = true;
        snapshot.generation = 1;
    });
    let reply = host.call("note_read", NOTE).await;

    assert_eq!(reply.receipt()["verdict"], "DENY");
    assert_eq!(world.decisions().last().expect("one")["reason"], "killed");
    assert_eq!(world.provider_log().len(), 1);
}

// G7: killed between the commit and the sending.
#[tokio::test]
async fn a_kill_that_is_heard_before_sending_stops_the_call() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.settled(1).await;
    world.ledger.behave(Behaviour::Slow(Duration::from_millis(2500)));

    let calling = tokio::spawn({
        let host = host.clone();
        async move { host.call("note_read", NOTE).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.ledger.change(|snapshot| {
        snapshot.killed = true;
        snapshot.generation = 1;
    });
    let reply = calling.await.expect("an answer");

    assert!(reply.words().contains("stopped"), "{}", reply.words());
    assert_eq!(world.provider_log().len(), 1);
    world.ledger.behave(Behaviour::Sound);
    let seen = world.ledger.observations(2).await;
    assert_eq!((&seen[1]["status"], &seen[1]["reason"]), (&json!("not_sent"), &json!("killed")));
}

// P1
#[tokio::test]
async fn arguments_that_cannot_be_bound_are_denied_with_their_path() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("note_read", r#"{"path":"/notes/a.txt","n":123456789012345678901234567890}"#).await;

    assert_eq!(reply.error()["code"], -32602);
    let data = &reply.error()["data"];
    assert_eq!(data["path"], "$.params.arguments.n");
    assert_eq!(data["hint"], "send it as a string");
    assert_eq!(data["dev.counterfoil/receipt"]["verdict"], "DENY");
    let decision = &world.decisions()[0];
    assert_eq!(decision["reason"], "not_bindable");
    assert_eq!(decision["args"], Value::Null);
    assert_eq!(decision["tool"], "note_read");
    assert!(world.provider_log().is_empty());
}

// C1: what is hashed is what is sent.
#[tokio::test]
async fn null_arguments_go_out_as_the_empty_object_that_was_judged() {
    let world = World::new().await;
    world.publish(|documents| {
        documents.registry =
            documents.registry.replace(r#"{ type = "path", at = "/path" }"#, r#"{ type = "tool" }"#);
        documents.rules = r#"@id("r") permit (principal, action == Gw::Action::"notes.read",
            resource == Gw::Tool::"notes/note_read") when { context.now < datetime("2027-06-30T00:00:00Z") };"#
            .into();
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let host = world.host.initialize().await;

    assert_eq!(host.call("note_read", "null").await.words(), "ok");

    let sent: Value = serde_json::from_str(&world.provider_log()[0]).expect("JSON");
    assert_eq!(sent["arguments"], json!({}));
}

#[tokio::test]
async fn arguments_and_results_pass_byte_for_byte_and_only_meta_is_touched() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"task":{"a" : 1},"name":"note_read","#,
        r#""arguments":{"path":"/notes/a.txt","x" : 1.0,"y":1e2,"z":"\u0061"},"#,
        r#""_meta":{"dev.counterfoil/capability":"forged","traceparent":"00-a","progressToken":1}}}"#
    );

    let reply = host.say(body).await;

    let sent = &world.provider_log()[0];
    assert!(sent.contains(r#""arguments":{"path":"/notes/a.txt","x" : 1.0,"y":1e2,"z":"\u0061"}"#), "{sent}");
    assert!(sent.contains(r#""task":{"a" : 1}"#), "{sent}");
    assert!(sent.contains(r#""traceparent":"00-a""#), "{sent}");
    assert!(!sent.contains("forged") && !sent.contains("progressToken"), "{sent}");
    assert!(
        reply.text.contains(
            r#"{"content":[{"type":"text","text":"ok","x":1e2}],"n":123456789012345678901234567890,"#
        )
    );
    assert_eq!(reply.result()["_meta"]["theirs"], 1);
    assert_eq!(reply.receipt()["verdict"], "ALLOW");
}

// C1
#[tokio::test]
async fn the_provider_gets_a_capability_that_the_decision_names() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("note_read", NOTE).await;

    let sent: Value = serde_json::from_str(&world.provider_log()[0]).expect("JSON");
    let token = sent["_meta"]["dev.counterfoil/capability"].as_str().expect("a capability").to_owned();
    let claims = token.split('.').nth(1).expect("claims");
    let claims = counterfoil_core::nonce::unbase64url(claims).expect("base64url");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!(claims["jti"], world.decisions()[0]["capability"]);
    assert_eq!(claims["dec"], reply.receipt()["digest"]);
    assert_eq!(claims["aud"], "urn:counterfoil:7-k3m9q2v8:notes");
    assert_eq!(claims["call"]["t"], "note_read");
}

// T4, P9
#[tokio::test]
async fn openings_reach_the_vendor_sealed_and_open_the_decision() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let digest = host.call("note_read", NOTE).await.receipt()["digest"].clone();
    world.ledger.settled(1).await;

    let openings = world.ledger.lock().openings.clone();
    let (decision, jwe) = openings.iter().next().expect("an opening");

    assert_eq!(json!(decision), digest);
    let key = world.disclosure.to_jwk_private_key();
    let decrypter = ECDH_ES_A256KW.decrypter_from_jwk(&key).expect("a decrypter");
    let (text, _) = deserialize_compact(jwe, &decrypter).expect("opens");
    let opened: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(opened["values"]["noun/0"], "/notes/a.txt");
    assert_eq!(opened["values"]["principal"], "u-88");
    assert_eq!(opened["facts"]["tool"], "note_read");
    let public = world.decisions()[0].to_string();
    assert!(!public.contains("/notes/a.txt") && !public.contains("u-88"));
}

// T4
#[tokio::test]
async fn what_the_registry_keeps_as_a_shape_is_sealed_to_nobody() {
    let mut world = World::new().await;
    let host = world.host.initialize().await;
    world.publish(|documents| {
        let shape = "[provider.notes.tool.note_read]\nstore = \"shape\"";
        documents.registry = documents.registry.replace("[provider.notes.tool.note_read]", shape);
    });
    let failed =
        |reply: crate::testing::Reply| reply.error()["data"]["dev.counterfoil/receipt"]["digest"].clone();
    let before = failed(host.call("fail", NOTE).await);
    let followed = |world: &World| {
        let policies: std::collections::HashSet<String> =
            world.decisions().iter().map(|decision| decision["policy"].to_string()).collect();
        policies.len() > 1
    };
    let mut shaped = host.call("note_read", NOTE).await.receipt()["digest"].clone();
    while !followed(&world) {
        shaped = host.call("note_read", NOTE).await.receipt()["digest"].clone();
    }
    let after = failed(host.call("fail", NOTE).await);
    world.stop().await;

    let state = world.ledger.lock();
    let kept: Vec<Value> = state.openings.keys().map(|decision| json!(decision)).collect();

    assert!(kept.contains(&before) && kept.contains(&after));
    assert!(!kept.contains(&shaped), "nothing opens it, not even the vendor");
}

#[tokio::test]
async fn how_a_call_ended_is_observed_whatever_it_was() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    for (place, (tool, status)) in [
        ("fail", "error"),
        ("odd", "error"),
        ("slow", "timeout"),
        ("flood", "error"),
        ("note_read", "returned"),
        ("die", "error"),
    ]
    .into_iter()
    .enumerate()
    {
        // After a death the next start waits a moment.
        let mut reply = host.call(tool, NOTE).await;
        while reply.words().contains("died a moment ago") {
            tokio::time::sleep(Duration::from_millis(100)).await;
            reply = host.call(tool, NOTE).await;
        }

        let seen = world.ledger.observations(place + 1).await;
        assert_eq!(seen[place]["status"], status, "{tool}");
    }
    let seen = world.ledger.of_type("observation/v1");
    assert!(seen[0]["error"].is_string());
    assert!(seen[2]["result"].is_null() && seen[2]["is_error"].is_null());
}

#[tokio::test]
async fn a_providers_own_error_reaches_the_agent_with_our_receipt() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let reply = host.call("fail", NOTE).await;

    assert_eq!(reply.error()["code"], 4031);
    assert_eq!(reply.error()["message"], "no such note");
    assert!(reply.text.contains(r#""n":123456789012345678901234567890"#));
    assert_eq!(reply.error()["data"]["dev.counterfoil/receipt"]["verdict"], "ALLOW");
}

#[tokio::test]
async fn a_host_that_hangs_up_cancels_its_call() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let request = host.post("/mcp/notes", call("slow", NOTE)).timeout(Duration::from_millis(500));
    assert!(request.send().await.is_err());

    let seen = world.ledger.observations(1).await;
    assert_eq!(seen[0]["status"], "cancelled");
    for _ in 0..100 {
        if world.provider_log().contains(&"cancelled".to_owned()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the provider was not told");
}

#[tokio::test]
async fn a_legacy_host_cancels_by_request_id() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn({
        let host = host.clone();
        async move { host.call("slow", NOTE).await }
    });
    while world.provider_log().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    let notice = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(host.say(notice).await.status, 202);

    calling.await.expect("an answer");
    assert_eq!(world.ledger.observations(1).await[0]["status"], "cancelled");
}

#[tokio::test]
async fn every_key_has_a_child_of_its_own() {
    let world = World::new().await;
    let one = world.host.initialize().await;
    let other = world.host.with_key(OTHER_KEY).initialize().await;

    // The first key's child dies; the other's goes on.
    assert_eq!(other.call("note_read", NOTE).await.words(), "ok");
    one.call("die", NOTE).await;

    assert_eq!(other.call("note_read", NOTE).await.words(), "ok");
    let vias: Vec<Value> = world.decisions().iter().map(|d| d["via"].clone()).collect();
    assert_ne!(vias[0], vias[1]);
}

#[tokio::test]
async fn a_session_has_a_child_of_its_own_where_the_operator_says_so() {
    let world = World::with(|config| {
        let notes = config.providers.values_mut().next().expect("one");
        notes.sharing = crate::upstream::Sharing::Session;
    })
    .await;
    let one = world.host.initialize().await;
    let other = world.host.initialize().await;

    // The first session's child dies; the other's answers at once, though a dead one is given a rest.
    assert_eq!(other.call("note_read", NOTE).await.words(), "ok");
    one.call("die", NOTE).await;
    assert_eq!(other.call("note_read", NOTE).await.words(), "ok");

    assert_eq!(other.delete("/mcp/notes").await.status, 204);
    assert_eq!(other.call("note_read", NOTE).await.status, 404);
}

#[tokio::test]
async fn a_stopping_gateway_delivers_what_it_still_has_to_say() {
    let mut world = World::new().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn(async move { read(host.post("/mcp/notes", call("slow", NOTE))).await });
    while world.provider_log().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    world.stop().await;

    calling.await.expect("an answer");
    assert_eq!(world.ledger.of_type("observation/v1").len(), 1);
    assert_eq!(world.ledger.lock().openings.len(), 1);
}
