//! What happens to a call that only a person can allow.

use crate::testing::{Behaviour, OTHER_KEY, World, call, read};
use counterfoil_core::hold::HoldIs;
use counterfoil_core::statement::Say;
use serde_json::{Value, json};
use std::time::Duration;

const ELSEWHERE: &str = r#"{"path":"/etc/passwd"}"#;
const WORDS: &str = "Held, not executed: no rule of this project allows it. A person has to approve it (hld_";

async fn patient() -> World {
    World::with(|config| config.holds.wait_ms = 5_000).await
}

fn of_verdict(world: &World, verdict: &str) -> Vec<Value> {
    world.decisions().into_iter().filter(|decision| decision["verdict"] == verdict).collect()
}

// G5
#[tokio::test]
async fn an_approved_call_is_dispatched_as_it_was_parked() {
    let world = patient().await;
    let host = world.host.initialize().await;
    let body = call("note_read", r#"{"path":"/etc/passwd","x" : 1.0,"y":1e2}"#);
    let calling = tokio::spawn(async move { host.say(body).await });
    let hold = world.ledger.held(1).await.remove(0);
    assert!(world.provider_log().is_empty());

    world.ledger.answer(hold.state.hold, Say::ApproveOnce);
    let reply = calling.await.expect("an answer");

    assert_eq!(reply.words(), "ok");
    assert_eq!(world.provider_log().len(), 1);
    assert!(world.provider_log()[0].contains(r#""arguments":{"path":"/etc/passwd","x" : 1.0,"y":1e2}"#));
    let decisions = world.decisions();
    let (asked, allowed) = (&decisions[0], &decisions[1]);
    assert_eq!((&asked["verdict"], &asked["hold"]), (&json!("STEP_UP"), &json!(hold.state.hold)));
    assert_eq!((&allowed["verdict"], &allowed["reason"]), (&json!("ALLOW"), &json!("approved")));
    for same in ["action", "args", "principal", "class", "agent", "provider", "tool"] {
        assert_eq!(asked[same], allowed[same], "{same}");
    }
    assert_eq!(allowed["supersedes"], json!(hold.state.decision));
    assert_eq!(allowed["answers"]["hold"], json!(hold.state.hold));
    assert_eq!(allowed["answers"]["decision"], json!(hold.state.decision));
    assert_eq!(allowed["hold"], Value::Null);
    let sent: Value = serde_json::from_str(&world.provider_log()[0]).expect("JSON");
    let token = sent["_meta"]["dev.counterfoil/capability"].as_str().expect("a capability").to_owned();
    let claims =
        counterfoil_core::nonce::unbase64url(token.split('.').nth(1).expect("claims")).expect("base64url");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!(claims["apv"], allowed["answers"]["answer"]);
    assert_eq!(reply.receipt()["verdict"], "ALLOW");
    let observation = &world.ledger.observations(1).await[0];
    assert_eq!(observation["decision"], reply.receipt()["digest"]);
}

// G5
#[tokio::test]
async fn a_card_shows_what_the_registry_says_and_nothing_that_the_agent_says() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    host.call("note_read", r#"{"path":"/etc/passwd","reason":"please approve, the boss said so"}"#).await;

    let hold = world.ledger.held(1).await.remove(0);
    let card = json!(hold.card);
    assert_eq!(card["class"]["nouns"], json!([{"type": "path", "value": "/etc/passwd"}]));
    assert_eq!(card["class"]["fields"], json!({}));
    assert_eq!(card["reason"], "no_rule");
    assert!(!card.to_string().contains("boss"));
    assert!(!hold.sealed.contains("boss") && !hold.sealed.contains("passwd"));
    let lifetime = hold.card.expires_at.millis() - hold.card.asked_at.millis();
    assert_eq!(lifetime, 3_600_000);
}

// G5
#[tokio::test]
async fn a_call_repeated_after_its_approval_is_executed_once() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let first = host.call("note_read", ELSEWHERE).await;
    assert!(first.words().starts_with(WORDS), "{}", first.words());
    let joins = host.call("note_read", r#"{ "path" : "/etc/passwd" }"#).await;
    assert!(joins.words().starts_with(WORDS), "{}", joins.words());
    let hold = world.ledger.held(1).await.remove(0).state;
    let asked = of_verdict(&world, "STEP_UP");
    assert_eq!((&asked[1]["hold"], &asked[1]["follows"]), (&json!(hold.hold), &json!(hold.action)));

    world.ledger.answer(hold.hold, Say::ApproveOnce);
    let reply = host.call("note_read", ELSEWHERE).await;
    let after = host.call("note_read", ELSEWHERE).await;

    assert_eq!(reply.words(), "ok");
    assert_eq!(of_verdict(&world, "ALLOW")[0]["action"], json!(hold.action));
    assert!(after.words().starts_with(WORDS), "{}", after.words());
    assert_eq!((world.provider_log().len(), world.ledger.holds().len()), (1, 2));
}

// G5
#[tokio::test]
async fn racing_repeats_dispatch_once() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", ELSEWHERE).await;
    world.ledger.answer(world.ledger.holds()[0].state.hold, Say::ApproveOnce);

    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let host = host.clone();
        calls.spawn(async move { host.call("note_read", ELSEWHERE).await.words() });
    }
    let words = calls.join_all().await;

    assert_eq!(words.iter().filter(|words| *words == "ok").count(), 1, "{words:?}");
    assert_eq!(world.provider_log().len(), 1);
    let other = |words: &&String| words.starts_with(WORDS) || words.contains("somebody else dispatched it");
    assert_eq!(words.iter().filter(other).count(), 19, "{words:?}");
}

// G5, G7
#[tokio::test]
async fn a_call_that_nobody_approved_is_denied_and_says_why() {
    let world = patient().await;
    let host = world.host.initialize().await;
    for (place, (is, reason, words)) in [
        (HoldIs::Denied, "answered_no", "a person said no"),
        (HoldIs::Expired, "hold_expired", "nobody answered in time"),
        (HoldIs::Swept, "killed", "a person stopped this project"),
    ]
    .into_iter()
    .enumerate()
    {
        let calling = tokio::spawn({
            let host = host.clone();
            async move { host.call("note_read", ELSEWHERE).await }
        });
        let hold = world.ledger.held(place + 1).await.remove(place).state;

        match is {
            HoldIs::Denied => world.ledger.answer(hold.hold, Say::Deny),
            other => world.ledger.end(hold.hold, other),
        }
        let reply = calling.await.expect("an answer");

        assert!(reply.words().contains(words), "{}", reply.words());
        let denied = of_verdict(&world, "DENY").remove(place);
        assert_eq!((&denied["reason"], &denied["action"]), (&json!(reason), &json!(hold.action)));
        assert_eq!(denied["supersedes"], json!(hold.decision));
        assert_eq!(denied["answers"].is_null(), is != HoldIs::Denied);
        assert_eq!(
            denied["args"],
            world.ledger.holds()[place].decision.args.map_or(Value::Null, |c| json!(c))
        );
    }
    assert!(world.provider_log().is_empty());
}

// G5
#[tokio::test]
async fn changed_arguments_are_another_call() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", ELSEWHERE).await;
    world.ledger.answer(world.ledger.holds()[0].state.hold, Say::ApproveOnce);

    let changed = host.call("note_read", r#"{"path":"/etc/shadow"}"#).await;
    let added = host.call("note_read", r#"{"path":"/etc/passwd","n":1}"#).await;

    assert!(changed.words().starts_with(WORDS) && added.words().starts_with(WORDS));
    assert!(world.provider_log().is_empty());
    assert_eq!(world.ledger.holds().len(), 3);
}

// G5, T1
#[tokio::test]
async fn another_agent_or_principal_takes_up_nobodys_hold() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", ELSEWHERE).await;
    world.ledger.answer(world.ledger.holds()[0].state.hold, Say::ApproveOnce);

    for change in [
        |snapshot: &mut counterfoil_core::control::Snapshot| {
            snapshot.credentials[1].principal = Some("u-99".into());
        },
        |snapshot: &mut counterfoil_core::control::Snapshot| {
            snapshot.credentials[1].agent = "agt_019355a0c0007000800000000000d002".parse().expect("an id");
        },
    ] {
        world.ledger.change(change);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let other = world.host.with_key(OTHER_KEY).initialize().await;
        assert!(other.call("note_read", ELSEWHERE).await.words().starts_with(WORDS));
    }

    assert!(world.provider_log().is_empty());
    assert_eq!(world.ledger.holds().len(), 3);
}

// G5: whoever runs the evidence service cannot have another call dispatched than the one that was approved.
#[tokio::test]
async fn what_was_parked_for_another_hold_is_not_dispatched() {
    let world = patient().await;
    let host = world.host.initialize().await;
    let calling = |path: &str| {
        let (host, arguments) = (host.clone(), json!({"path": path}).to_string());
        tokio::spawn(async move { host.call("note_read", &arguments).await })
    };
    let one = calling("/etc/passwd");
    let first = world.ledger.held(1).await.remove(0);
    let other = calling("/etc/shadow");
    let second = world.ledger.held(2).await.remove(1);

    world.ledger.change_hold(first.state.hold, |held| held.state.sealed = Some(second.sealed.clone()));
    world.ledger.answer(first.state.hold, Say::ApproveOnce);
    // A whole other hold under the first one's name is no better.
    world.ledger.change_hold(second.state.hold, |held| {
        held.state.action = first.state.action;
        held.state.sealed = Some(first.sealed.clone());
    });
    world.ledger.answer(second.state.hold, Say::ApproveOnce);

    for calling in [one, other] {
        let words = calling.await.expect("an answer").words();
        assert!(words.contains("does not open here"), "{words}");
    }
    assert!(world.provider_log().is_empty());
    assert!(of_verdict(&world, "ALLOW").is_empty());
}

// G5, G7
#[tokio::test]
async fn an_approval_after_a_kill_dispatches_nothing() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", ELSEWHERE).await;
    world.ledger.answer(world.ledger.holds()[0].state.hold, Say::ApproveOnce);

    // The gateway has not heard of it.
    world.ledger.change(|snapshot| {
        snapshot.killed = true;
        snapshot.generation = 1;
    });
    let reply = host.call("note_read", ELSEWHERE).await;

    assert_eq!(reply.receipt()["verdict"], "DENY", "{}", reply.text);
    assert!(world.provider_log().is_empty());
}

// G3, G5
#[tokio::test]
async fn an_approval_does_not_lift_a_deny_that_was_published_meanwhile() {
    let world = patient().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn(async move { host.call("note_read", ELSEWHERE).await });
    let hold = world.ledger.held(1).await.remove(0).state;
    world.publish(|documents| {
        documents
            .rules
            .push_str(r#"@id("no") forbid (principal, action == Gw::Action::"notes.read", resource);"#);
    });
    tokio::time::sleep(Duration::from_millis(700)).await;

    world.ledger.answer(hold.hold, Say::ApproveOnce);
    let reply = calling.await.expect("an answer");

    let denied = of_verdict(&world, "DENY").remove(0);
    assert_eq!(
        (&denied["rules"], &denied["action"]),
        (&json!(["no"]), &json!(hold.action)),
        "{}",
        reply.text
    );
    assert!(world.provider_log().is_empty());
}

// G5
#[tokio::test]
async fn a_caller_that_goes_away_stops_the_dispatch_and_not_the_question() {
    let world = patient().await;
    let host = world.host.initialize().await;
    let request = host.post("/mcp/notes", call("note_read", ELSEWHERE)).timeout(Duration::from_millis(600));
    assert!(request.send().await.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;

    world.ledger.answer(world.ledger.held(1).await[0].state.hold, Say::ApproveOnce);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(world.provider_log().is_empty());

    assert_eq!(host.call("note_read", ELSEWHERE).await.words(), "ok");
    assert_eq!(world.provider_log().len(), 1);
}

// G5
#[tokio::test]
async fn a_call_too_large_to_be_parked_is_asked_of_nobody() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let arguments = json!({"path": "/etc/passwd", "x": "x".repeat(256 * 1024)}).to_string();

    let reply = host.call("note_read", &arguments).await;

    assert!(reply.words().contains("256 KiB"), "{}", reply.words());
    let decision = &world.decisions()[0];
    assert_eq!((&decision["verdict"], &decision["hold"]), (&json!("STEP_UP"), &Value::Null));
    assert!(world.ledger.holds().is_empty());
}

#[tokio::test]
async fn nobody_is_kept_waiting_by_a_gateway_that_stops() {
    let mut world = World::with(|config| config.holds.wait_ms = 60_000).await;
    let host = world.host.initialize().await;
    let calling =
        tokio::spawn(async move { read(host.post("/mcp/notes", call("note_read", ELSEWHERE))).await });
    world.ledger.held(1).await;

    world.stop().await;

    assert!(calling.await.expect("an answer").words().starts_with(WORDS));
}

// G5, G4: the yes was used for a call that nobody waits for any more: nothing is sent, that is written down, and the next
// such call asks a person again.
#[tokio::test]
async fn a_caller_that_hangs_up_after_the_yes_was_recorded_gets_nothing_sent() {
    let world = patient().await;
    let host = world.host.initialize().await;
    let calling = {
        let host = host.clone();
        tokio::spawn(async move { host.call("note_read", ELSEWHERE).await })
    };
    let hold = world.ledger.held(1).await.remove(0);
    world.ledger.behave(Behaviour::Slow(Duration::from_millis(800)));
    world.ledger.answer(hold.state.hold, Say::ApproveOnce);
    for _ in 0..200 {
        if !of_verdict(&world, "ALLOW").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    // The decision is committed, and its answer is on the way.
    calling.abort();
    let seen = world.ledger.observations(1).await.remove(0);

    assert_eq!((&seen["status"], &seen["reason"]), (&json!("not_sent"), &json!("client_gone")));
    assert!(world.provider_log().is_empty());
    world.ledger.behave(Behaviour::Sound);
    let again = tokio::spawn(async move { host.call("note_read", ELSEWHERE).await });
    assert_eq!(world.ledger.held(2).await.len(), 2);
    again.abort();
    assert!(world.provider_log().is_empty());
}
