use crate::testing::{Behaviour, World};
use std::time::Duration;

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;

// Natural batching: what waits while a request is under way goes into the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_wait_share_a_request() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.settled(1).await;
    world.ledger.behave(Behaviour::Slow(Duration::from_millis(300)));
    let before = world.ledger.lock().batches.len();

    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let host = host.clone();
        calls.spawn(async move { host.call("note_read", NOTE).await.words() });
    }
    while let Some(words) = calls.join_next().await {
        assert_eq!(words.expect("an answer"), "ok");
    }

    let state = world.ledger.lock();
    let batches = &state.batches[before..];
    assert!(batches.iter().max() > Some(&20), "{batches:?}");
    assert!(batches.len() < 20, "{batches:?}");
    let mut actions: Vec<_> = state.statements.iter().filter(|s| s["typ"] == "decision/v1").collect();
    assert_eq!(actions.len(), 41);
    actions.dedup_by_key(|s| s["action"].clone());
    assert_eq!(actions.len(), 41);
}

// G4: an outage loses no observation.
#[tokio::test]
async fn observations_outlive_an_outage() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn({
        let host = host.clone();
        async move { host.call("slow", NOTE).await }
    });
    while world.provider_log().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.ledger.behave(Behaviour::Unavailable);
    calling.await.expect("an answer");
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(world.ledger.of_type("observation/v1").is_empty());

    world.ledger.behave(Behaviour::Sound);

    assert_eq!(world.ledger.observations(1).await[0]["status"], "timeout");
}

#[tokio::test]
async fn an_answer_waits_for_its_decision_and_never_for_observations() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    host.call("note_read", NOTE).await;
    world.ledger.settled(1).await;

    host.call("note_read", NOTE).await;
    world.ledger.behave(Behaviour::Slow(Duration::from_secs(3)));

    // The observation of that call takes three seconds; its answer is here already.
    assert_eq!(world.decisions().len(), 2);
    assert!(world.ledger.of_type("observation/v1").len() < 3);
    assert_eq!(world.provider_log().len(), 2);
}

// What the ledger cannot use must not stand in the way of what it can.
#[tokio::test]
async fn a_request_that_is_refused_as_such_is_not_sent_for_ever() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    let calling = tokio::spawn({
        let host = host.clone();
        async move { host.call("slow", NOTE).await }
    });
    while world.provider_log().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.ledger.behave(Behaviour::Picky);
    calling.await.expect("an answer");
    tokio::time::sleep(Duration::from_millis(700)).await;

    world.ledger.behave(Behaviour::Sound);

    assert_eq!(host.call("note_read", NOTE).await.words(), "ok");
    let seen = world.ledger.observations(1).await;
    assert_eq!((seen.len(), &seen[0]["status"]), (1, &serde_json::json!("returned")));
}
