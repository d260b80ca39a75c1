use crate::testing::{World, beginning};
use counterfoil_core::statement::Scope;
use serde_json::json;
use std::time::Duration;

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;

// G7: what is under way is given up, on every replica that hears of the kill.
#[tokio::test]
async fn a_kill_cancels_the_calls_under_way() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn({
        let host = host.clone();
        async move { host.call("slow", NOTE).await }
    });
    while world.provider_log().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    let agent = "agt_019355a0c0007000800000000000d001".parse().map(Scope::Agent).expect("an id");
    world.ledger.change(|snapshot| snapshot.stopped.push(agent));
    let reply = calling.await.expect("an answer");

    assert!(reply.words().starts_with("Cancelled."), "{}", reply.text);
    assert_eq!(world.ledger.observations(1).await[0]["status"], "cancelled");
}

// G7: an agent, a connection or an environment is stopped alone.
#[tokio::test]
async fn what_is_stopped_in_a_project_executes_nothing() {
    for scope in ["agt_019355a0c0007000800000000000d001", "live"] {
        let world = World::new().await;
        let host = world.host.initialize().await;
        world.ledger.change(|snapshot| snapshot.stopped.push(scope.parse().expect("a scope")));
        tokio::time::sleep(Duration::from_millis(300)).await;

        let reply = host.call("note_read", NOTE).await;

        assert_eq!(reply.receipt()["verdict"], "DENY", "{scope}");
        assert_eq!(world.decisions().last().expect("one")["reason"], "killed");
        assert!(world.provider_log().is_empty());
    }
}

// G8: what published rules refuse or hold runs in a shadow window, and says so.
#[tokio::test]
async fn in_a_shadow_window_what_rules_refuse_runs_as_a_rehearsal() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    world.ledger.change(|snapshot| snapshot.shadow_until = Some(beginning().plus_millis(600_000)));
    tokio::time::sleep(Duration::from_millis(300)).await;

    let held = host.call("note_read", r#"{"path":"/elsewhere/a.txt"}"#).await;
    let unknown = host.call("unheard_of", NOTE).await;

    assert_eq!(held.words(), "ok");
    let decisions = world.decisions();
    assert_eq!((&decisions[0]["verdict"], &decisions[0]["effect"]), (&json!("STEP_UP"), &json!("advisory")));
    assert_eq!(
        (&decisions[1]["effect"], &decisions[1]["reason"]),
        (&json!("enforced"), &json!("unknown_tool"))
    );
    assert_eq!((world.provider_log().len(), unknown.receipt()["verdict"].clone()), (1, json!("STEP_UP")));
}

// G8: what nothing allows runs under break-glass with a mark, and what is not known stays held.
#[tokio::test]
async fn under_break_glass_what_nothing_allows_runs_and_is_marked() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    world.ledger.change(|snapshot| snapshot.breakglass_until = Some(beginning().plus_millis(600_000)));
    tokio::time::sleep(Duration::from_millis(300)).await;

    let allowed = host.call("note_read", r#"{"path":"/elsewhere/a.txt"}"#).await;
    let unknown = host.call("unheard_of", NOTE).await;

    assert_eq!((allowed.words().as_str(), &unknown.receipt()["verdict"]), ("ok", &json!("STEP_UP")));
    let decisions = world.decisions();
    assert_eq!((&decisions[0]["verdict"], &decisions[0]["reason"]), (&json!("ALLOW"), &json!("break_glass")));
    assert_eq!((&decisions[0]["marks"], &decisions[1]["marks"]), (&json!(["break_glass"]), &json!([])));
}
