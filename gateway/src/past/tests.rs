use crate::testing::World;
use counterfoil_core::session::QUIET_MILLIS;
use serde_json::{Value, json};
use std::time::Duration;

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;

/// Two calls a session, and what is read afterwards is denied.
const TWO_CALLS: &str = r#"
@id("enough") forbid (principal, action == Gw::Action::"notes.read", resource) when { context.session.cleared >= 2 };
"#;

async fn world() -> World {
    let world = World::new().await;
    world.publish(|documents| documents.rules.push_str(TWO_CALLS));
    // What was judged by the rules before is stale, as after any publication that takes something away.
    world.ledger.change(|snapshot| {
        snapshot.control += 1;
        snapshot.floor = snapshot.control;
    });
    world
}

fn verdicts(world: &World) -> Vec<(Value, Value)> {
    world.decisions().into_iter().map(|said| (said["verdict"].clone(), said["rules"].clone())).collect()
}

/// G13
#[tokio::test]
async fn what_the_session_did_decides_what_it_may_do() {
    let world = world().await;
    let host = world.host.initialize().await;

    for _ in 0..3 {
        host.call("note_read", NOTE).await;
    }

    let allow = (json!("ALLOW"), json!(["notes-read"]));
    assert_eq!(verdicts(&world), [allow.clone(), allow, (json!("DENY"), json!(["enough"]))]);
    assert_eq!(world.provider_log().len(), 2);
    let decisions = world.decisions();
    let action = decisions[0]["action"].as_str().expect("an action");
    for decision in &decisions {
        assert_eq!(
            decision["session"],
            action.replace("act_", "ses_"),
            "one session, named by its first action"
        );
    }
}

/// G13: a rule that asks is not told by the caller, and a rule that does not ask costs nothing.
#[tokio::test]
async fn a_session_is_named_only_where_the_rules_ask() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    host.call("note_read", NOTE).await;

    assert_eq!(world.decisions()[0]["session"], Value::Null);
}

/// G13
#[tokio::test]
async fn callers_that_race_do_not_get_more_than_the_rules_give() {
    let world = world().await;
    let host = world.host.initialize().await;

    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let host = host.clone();
        racing.spawn(async move { host.call("note_read", NOTE).await.status });
    }
    racing.join_all().await;

    let allowed = verdicts(&world).into_iter().filter(|(verdict, _)| verdict == "ALLOW").count();
    assert_eq!((allowed, world.provider_log().len()), (2, 2));
}

/// G13: another gateway recorded something for the same key after this one asked.
#[tokio::test]
async fn a_call_that_was_judged_on_an_older_past_is_judged_again() {
    let world = world().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.lock().overtake = 1;

    host.call("note_read", NOTE).await;

    // The other gateway's read was the second.
    assert_eq!(verdicts(&world).last(), Some(&(json!("DENY"), json!(["enough"]))));
    assert_eq!(world.provider_log().len(), 1);
}

/// G13, G4: without an answer nothing is judged.
#[tokio::test]
async fn a_ledger_that_does_not_say_what_was_done_lets_nothing_go() {
    let world = world().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.lock().silent_about_sessions = true;

    let reply = host.call("note_read", NOTE).await;

    assert_eq!(reply.error()["data"]["dev.counterfoil/receipt"], Value::Null);
    assert_eq!((world.decisions().len(), world.provider_log().len()), (1, 1));
}

/// G13
#[tokio::test]
async fn half_an_hour_of_quiet_ends_a_session() {
    let world = world().await;
    let host = world.host.initialize().await;
    for _ in 0..2 {
        host.call("note_read", NOTE).await;
    }
    let quiet = Duration::from_millis(u64::try_from(QUIET_MILLIS).expect("positive") + 1000);
    world.ledger.lock().sessions.values_mut().for_each(|running| {
        running.last_at = running.last_at.plus_millis(-i64::try_from(quiet.as_millis()).expect("short"));
    });

    host.call("note_read", NOTE).await;

    let decisions = world.decisions();
    assert_eq!(decisions[2]["verdict"], "ALLOW");
    assert_ne!(decisions[2]["session"], decisions[1]["session"]);
}
