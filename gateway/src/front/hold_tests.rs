//! How a held call's caller waits, by what it declares; and what it cannot get by lying.

use crate::testing::{OTHER_KEY, Reply, World, read};
use counterfoil_core::hold::HoldIs;
use counterfoil_core::id::HoldId;
use counterfoil_core::statement::Say;
use serde_json::{Value, json};
use std::time::Duration;

const TASKS: &str = "io.modelcontextprotocol/tasks";
const CONSOLE: &str = "http://console.localhost:8790/";

async fn world() -> World {
    World::with(|config| {
        config.holds.wait_ms = 100;
        config.holds.console_url = Some(CONSOLE.into());
    })
    .await
}

/// A message of 2026-07-28 that declares these capabilities.
async fn say(world: &World, (method, name): (&str, &str), mut params: Value, capabilities: Value) -> Reply {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).to_string();
    let request = world.host.post("/mcp/notes", body);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    read(request.header("mcp-name", name)).await
}

fn held(extra: Value) -> Value {
    let mut params = json!({"name": "note_read", "arguments": {"path": "/etc/passwd"}});
    if let (Some(params), Some(extra)) = (params.as_object_mut(), extra.as_object()) {
        params.extend(extra.clone());
    }
    params
}

async fn round(world: &World, extra: Value) -> Reply {
    say(world, ("tools/call", "note_read"), held(extra), json!({})).await
}

fn state_of(reply: &Reply) -> Value {
    assert_eq!(reply.result()["resultType"], "input_required", "{}", reply.text);
    reply.result()["requestState"].clone()
}

fn the_hold(world: &World) -> HoldId {
    world.ledger.holds()[0].state.hold
}

// G5, G6
#[tokio::test]
async fn a_caller_of_the_newest_revision_comes_again_until_somebody_answers() {
    let world = world().await;
    let first = state_of(&round(&world, json!({})).await);
    let second = state_of(&round(&world, json!({"requestState": first})).await);
    assert_ne!(first, second);
    let hold = world.ledger.holds().remove(0).state;
    let asked = world.decisions();
    assert_eq!((&asked[1]["follows"], &asked[1]["hold"]), (&json!(hold.action), &json!(hold.hold)));

    world.ledger.answer(hold.hold, Say::ApproveOnce);
    let reply = round(&world, json!({"requestState": second})).await;

    assert_eq!(reply.words(), "ok", "{}", reply.text);
    assert_eq!(reply.result()["resultType"], "complete");
    assert_eq!(world.ledger.holds().len(), 1);
    let sent: Value = serde_json::from_str(&world.provider_log()[0]).expect("JSON");
    assert!(sent["requestState"].is_null());
    // An old state opens nothing twice.
    let replayed = round(&world, json!({"requestState": first})).await;
    assert!(replayed.words().contains("somebody else dispatched it"), "{}", replayed.text);
    assert_eq!(world.provider_log().len(), 1);
}

#[tokio::test]
async fn the_ninth_round_is_told_in_words() {
    let world = world().await;
    let mut state = json!({});
    for _ in 0..8 {
        state = json!({"requestState": state_of(&round(&world, state).await)});
    }

    let ninth = round(&world, state).await;

    assert_eq!(ninth.result()["isError"], true, "{}", ninth.text);
    assert!(ninth.words().contains("repeat the identical call"));
    assert_eq!(world.ledger.holds().len(), 1);
}

// G5
#[tokio::test]
async fn a_round_that_comes_back_after_a_no_reads_it() {
    for (is, words) in [(HoldIs::Denied, "a person said no"), (HoldIs::Expired, "nobody answered")] {
        let world = world().await;
        let state = state_of(&round(&world, json!({})).await);
        match is {
            HoldIs::Denied => world.ledger.answer(the_hold(&world), Say::Deny),
            other => world.ledger.end(the_hold(&world), other),
        }

        let reply = round(&world, json!({"requestState": state})).await;

        assert!(reply.words().contains(words), "{}", reply.text);
        assert_eq!(reply.receipt()["verdict"], "DENY");
        assert!(world.provider_log().is_empty());
    }
}

// G5, G13: forged, changed, another agent's, for other arguments or answers: refused and written down.
#[tokio::test]
async fn a_state_that_is_not_of_this_call_and_caller_is_refused_and_recorded() {
    let world = world().await;
    let state = state_of(&round(&world, json!({})).await);
    let text = state.as_str().expect("a state").to_owned();
    world.ledger.answer(the_hold(&world), Say::ApproveOnce);
    let mut turned = text.clone();
    let last = if turned.pop() == Some('A') { 'B' } else { 'A' };
    turned.push(last);
    let other = json!({"requestState": text, "arguments": {"path": "/etc/shadow"}});
    let answers = json!({"requestState": text, "inputResponses": {"q": {"action": "accept"}}});

    for lie in [json!({"requestState": turned}), json!({"requestState": "cfr1.AAAA"}), other, answers] {
        let before = world.decisions().len();
        let reply = round(&world, lie).await;

        assert_eq!((reply.status.as_u16(), &reply.error()["code"]), (400, &json!(-32602)), "{}", reply.text);
        assert_eq!(world.decisions().len(), before + 1);
        assert_eq!(world.decisions()[before]["verdict"], "DENY");
    }
    let stranger = world.with_key(OTHER_KEY);
    let reply = round(&stranger, json!({"requestState": text})).await;
    assert_eq!(reply.error()["code"], -32602, "{}", reply.text);
    assert!(stranger.provider_log().is_empty());
}

// G6: it shows where, and approves nothing.
#[tokio::test]
async fn a_host_that_shows_pages_is_shown_the_consoles_and_opening_it_approves_nothing() {
    let world = world().await;
    let capabilities = json!({"elicitation": {"url": {}}});
    let call = |extra| say(&world, ("tools/call", "note_read"), held(extra), capabilities.clone());

    let reply = call(json!({})).await;

    let state = state_of(&reply);
    let asked = &reply.result()["inputRequests"]["dev.counterfoil/approval"];
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["mode"], "url");
    let hold = the_hold(&world);
    assert_eq!(asked["params"]["url"], format!("http://console.localhost:8790/holds/{hold}"));
    let opened = json!({"dev.counterfoil/approval": {"action": "accept"}});
    let again = call(json!({"requestState": state, "inputResponses": opened})).await;
    assert!(again.result()["inputRequests"].is_null(), "{}", again.text);
    assert!(world.provider_log().is_empty());

    world.ledger.answer(hold, Say::ApproveOnce);
    let opened = json!({"dev.counterfoil/approval": {"action": "accept"}});
    let done = call(json!({"requestState": state_of(&again), "inputResponses": opened})).await;

    assert_eq!(done.words(), "ok", "{}", done.text);
    assert!(!world.provider_log()[0].contains("inputResponses"));
}

// G6
#[tokio::test]
async fn a_legacy_host_that_shows_pages_gets_the_error_for_it_once() {
    let world = world().await;
    let reply = world
        .host
        .say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"h","version":"1"}}}"#)
        .await;
    let host = world.host.with_session(&reply.session.expect("a session"));
    let arguments = r#"{"path":"/etc/passwd"}"#;

    let shown = host.call("note_read", arguments).await;
    let held = host.call("note_read", arguments).await;

    assert_eq!(shown.error()["code"], -32042, "{}", shown.text);
    let page = &shown.error()["data"]["elicitations"][0];
    assert_eq!(page["url"], format!("http://console.localhost:8790/holds/{}", the_hold(&world)));
    assert_eq!(shown.error()["data"]["dev.counterfoil/receipt"]["verdict"], "STEP_UP");
    assert!(held.words().starts_with("Held, not executed"), "{}", held.text);
    world.ledger.answer(the_hold(&world), Say::ApproveOnce);
    assert_eq!(host.call("note_read", arguments).await.words(), "ok");
}

async fn ask_task(world: &World, method: &str, id: &str) -> Reply {
    let params = json!({"taskId": id, "inputResponses": {}});
    say(world, (method, id), params, json!({"extensions": { TASKS: {} }})).await
}

async fn begin_task(world: &World) -> String {
    let reply =
        say(world, ("tools/call", "note_read"), held(json!({})), json!({"extensions": { TASKS: {} }})).await;
    let result = reply.result();
    assert_eq!(
        (&result["resultType"], &result["status"]),
        (&json!("task"), &json!("working")),
        "{}",
        reply.text
    );
    assert_eq!(reply.receipt()["verdict"], "STEP_UP");
    result["taskId"].as_str().expect("an id").to_owned()
}

async fn ended(world: &World, id: &str) -> Value {
    for _ in 0..300 {
        let reply = ask_task(world, "tasks/get", id).await;
        assert_eq!(reply.result()["resultType"], "complete", "{}", reply.text);
        if reply.result()["status"] != "working" {
            return reply.result();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the task did not end");
}

// G5
#[tokio::test]
async fn a_task_runs_once_it_is_approved_and_outlives_its_request() {
    let world = world().await;
    let id = begin_task(&world).await;
    assert_eq!(ask_task(&world, "tasks/get", &id).await.result()["status"], "working");

    world.ledger.answer(the_hold(&world), Say::ApproveOnce);
    let done = ended(&world, &id).await;

    assert_eq!(done["status"], "completed");
    assert_eq!(done["result"]["content"][0]["text"], "ok");
    assert_eq!(done["result"]["_meta"]["dev.counterfoil/receipt"]["verdict"], "ALLOW");
    assert_eq!(world.provider_log().len(), 1);
}

// G5
#[tokio::test]
async fn a_task_that_was_refused_or_given_up_runs_nothing() {
    let world = world().await;
    let id = begin_task(&world).await;
    world.ledger.answer(the_hold(&world), Say::Deny);
    let denied = ended(&world, &id).await;
    assert_eq!((&denied["status"], &denied["result"]["isError"]), (&json!("completed"), &json!(true)));

    let id = begin_task(&world).await;
    let cancelled = ask_task(&world, "tasks/cancel", &id).await;
    assert_eq!(cancelled.result()["resultType"], "complete");
    let hold = world.ledger.held(2).await[1].state.hold;
    world.ledger.answer(hold, Say::ApproveOnce);
    tokio::time::sleep(Duration::from_millis(300)).await;

    assert_eq!(ended(&world, &id).await["status"], "cancelled");
    assert!(world.provider_log().is_empty());
}

// G5, T1
#[tokio::test]
async fn a_task_is_asked_about_by_nobody_but_who_began_it() {
    let world = world().await;
    let id = begin_task(&world).await;
    let undeclared = say(&world, ("tasks/get", &id), json!({"taskId": id}), json!({})).await;
    assert_eq!(undeclared.error()["code"], -32021, "{}", undeclared.text);

    let before = world.decisions().len();
    let stranger = world.with_key(OTHER_KEY);
    for (method, id) in [("tasks/get", id.as_str()), ("tasks/cancel", &id), ("tasks/get", "cft1.AAAA")] {
        let reply = ask_task(&stranger, method, id).await;
        assert_eq!(reply.error()["code"], -32602, "{}", reply.text);
    }

    assert_eq!(stranger.decisions().len(), before + 3);
    assert_eq!(stranger.decisions()[before]["verdict"], "DENY");
}
