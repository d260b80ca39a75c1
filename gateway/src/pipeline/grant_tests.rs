//! What people did about what may run, from the snapshot to the provider.

use crate::testing::{World, beginning};
use counterfoil_core::control::{GrantDocument, Snapshot};
use counterfoil_core::statement::Scope;
use serde_json::{Value, json};
use std::time::Duration;

const ELSEWHERE: &str = r#"{"path":"/elsewhere/a.txt"}"#;
const AGENT: &str = "agt_019355a0c0007000800000000000d001";

fn grant(agent: &str, until: Value) -> GrantDocument {
    let document = json!({ "v": 1, "nonce": "AQEBAQEBAQEBAQEBAQEBAQ", "grant": "grt_019355a0c0007000800000000000e001",
        "agent": agent, "service": "notes", "verb": "read", "noun": { "type": "path", "value": "/elsewhere/a.txt" },
        "fields": {}, "until": until });
    serde_json::from_value(document).expect("a document")
}

/// The decision on a call of /elsewhere/a.txt, once the gateway has heard of the change.
async fn judged_after(world: &World, change: impl FnOnce(&mut Snapshot), verdict: &str) -> Value {
    let host = world.host.initialize().await;
    let mut control = 0;
    world.ledger.change(|snapshot| {
        snapshot.control += 1;
        control = snapshot.control;
        change(snapshot);
    });
    for _ in 0..300 {
        host.call("note_read", ELSEWHERE).await;
        let last = world.decisions().pop().expect("a decision");
        if last["control"] == control {
            assert_eq!(last["verdict"], verdict);
            return last;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the gateway heard nothing of control {control}");
}

/// G3
#[tokio::test]
async fn a_grant_allows_one_agent_one_noun_and_a_taken_one_no_more() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", ELSEWHERE).await;
    assert_eq!(world.decisions()[0]["reason"], "no_rule");
    let later = json!(beginning().plus_millis(600_000));

    let given = vec![grant(AGENT, later.clone())];
    let allowed = judged_after(&world, |s| s.grants.grants = given, "ALLOW").await;

    assert_eq!(allowed["reason"], "grant");
    assert_eq!(allowed["rules"], json!(["grt_019355a0c0007000800000000000e001"]));
    let snapshot = world.ledger.lock().snapshot.clone();
    let agent = AGENT.parse().expect("an agent");
    assert_eq!(allowed["grants"], json!(snapshot.grants.digest_for(agent)));
    assert_eq!(world.provider_log().len(), 1);
    // Another noun, and what a rule denies.
    host.call("note_read", r#"{"path":"/elsewhere/b.txt"}"#).await;
    host.call("note_write", ELSEWHERE).await;
    let reasons: Vec<Value> = world.decisions().iter().rev().take(2).map(|d| d["verdict"].clone()).collect();
    assert_eq!(reasons, ["DENY", "STEP_UP"]);
    assert_eq!(world.provider_log().len(), 1);

    let ended = vec![grant(AGENT, json!(beginning()))];
    let held = judged_after(&world, |s| s.grants.grants = ended, "STEP_UP").await;
    assert_eq!(held["reason"], "no_rule");
    let others = "agt_019355a0c0007000800000000000d002";
    let theirs = vec![grant(others, later)];
    let before = world.provider_log().len();
    judged_after(&world, |s| s.grants.grants = theirs, "STEP_UP").await;
    assert_eq!(world.provider_log().len(), before);
}

/// G7: a kill of one agent, key or environment beats every grant.
#[tokio::test]
async fn a_kill_of_a_part_stops_the_calls_that_it_covers() {
    let world = World::new().await;
    let later = json!(beginning().plus_millis(600_000));
    let given = vec![grant(AGENT, later)];
    judged_after(&world, |s| s.grants.grants = given, "ALLOW").await;

    for scope in [AGENT, "key_019355a0c0007000800000000000c001", "live"] {
        let stopped: Scope = scope.parse().expect("a scope");
        let denied = judged_after(&world, |s| s.stopped = vec![stopped], "DENY").await;
        assert_eq!(denied["reason"], "killed", "{scope}");
        judged_after(&world, |s| s.stopped = Vec::new(), "ALLOW").await;
    }
    let elsewhere = ["agt_019355a0c0007000800000000000d002", "key_019355a0c0007000800000000000c002", "test"];
    let stopped: Vec<Scope> = elsewhere.iter().map(|scope| scope.parse().expect("a scope")).collect();
    judged_after(&world, |s| s.stopped = stopped, "ALLOW").await;
}

/// G3: a narrowing or a need is told, and nothing is sent.
#[tokio::test]
async fn what_may_be_asked_narrower_or_later_says_how() {
    for (verdict, annotation, words) in [
        ("MODIFY", "@narrow(\"below /notes/public\")", "Not executed like this: below /notes/public."),
        ("DEFER", "@needs(\"a ticket\")", "Not executed yet: it needs a ticket."),
    ] {
        let world = World::new().await;
        let host = world.host.initialize().await;
        world.publish(|documents| {
            documents.rules += &format!(
                "@id(\"other\") @verdict(\"{verdict}\") {annotation}\n\
                 forbid (principal, action == Gw::Action::\"notes.read\", resource in Gw::Path::\"/elsewhere\");\n"
            );
        });
        let said = judged_after(&world, |_| (), verdict).await;
        assert_eq!((&said["reason"], &said["rules"]), (&json!("rule"), &json!(["other"])));
        let reply = host.call("note_read", ELSEWHERE).await;
        assert!(reply.words().starts_with(words), "{}", reply.words());
        assert_eq!(reply.result()["isError"], true);
        assert!(world.provider_log().is_empty());
    }
}
