use super::*;
use crate::testing::{Behaviour, PROJECT, TOKEN, World};
use counterfoil_core::key::{Execution, SigningKey};
use serde_json::{Value, json};
use std::time::Duration;

fn returned(meta: &str) -> Seen {
    Seen::Returned(format!(r#"{{"content":[],"_meta":{meta}}}"#))
}

#[test]
fn a_statement_is_found_in_a_result_and_in_an_errors_data() {
    let one = r#"{"a":1 , "b":1.0}"#;
    let key = EXECUTION;
    assert_eq!(stated(&returned(&format!(r#"{{"{key}":{one},"x":1}}"#))).as_deref(), Some(one));
    let error = Seen::Failed(format!(r#"{{"code":1,"message":"no","data":{{"{key}":{one}}}}}"#));
    assert_eq!(stated(&error).as_deref(), Some(one));
    for none in
        [returned("{}"), returned("[]"), returned("null"), Seen::Returned("{}".into()), Seen::TimedOut]
    {
        assert_eq!(stated(&none), None, "{none:?}");
    }
}

/// T8: what waits is bounded both ways, and what is too much is counted.
#[test]
fn both_queues_are_bounded() {
    let evidence = crate::evidence::ServiceToken::parse(TOKEN).expect("a token");
    let instance = "gwi_019355a0c0007000800000000000a001".parse().expect("an id");
    let evidence = Arc::new(Evidence::new("http://127.0.0.1:9", evidence, instance).expect("a client"));
    let project = PROJECT.parse().expect("an id");
    let (executions, _messenger) = Executions::new(project, instance, evidence);
    let notes: ProviderId = "notes".parse().expect("an id");
    let other: ProviderId = "mail".parse().expect("an id");

    for _ in 0..WAITING + 3 {
        executions.hand_in(&notes, &returned(r#"{"dev.counterfoil/execution":{}}"#));
    }
    let huge = "x".repeat(LARGEST);
    executions.hand_in(&notes, &returned(&format!(r#"{{"dev.counterfoil/execution":"{huge}"}}"#)));
    executions.put_back(&notes, (0..KEPT + 5).map(|n| n.to_string()).collect());

    assert_eq!(executions.dropped(), 4);
    assert!(executions.take_accepted(&other).is_empty());
    let taken = executions.take_accepted(&notes);
    assert_eq!(taken, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    executions.put_back(&notes, taken);
    assert_eq!(executions.take_accepted(&notes)[0], "0");
    let mut left = CARRIED;
    while !executions.take_accepted(&notes).is_empty() {
        left += CARRIED;
    }
    assert_eq!(left, KEPT);
}

/// What the world's provider is told to put into the result of its next call.
fn statement() -> Value {
    let payload = json!({
        "typ": "execution/v1", "iss": "notes", "project": PROJECT,
        "action": "act_019355a0c1007000800000000000b001", "provider": "notes", "tool": "note_read",
        "decision": format!("sha256:{}", "0".repeat(64)), "capability": null, "args": null, "outcome": "EXECUTED",
        "result": null, "error_code": null, "charged": null, "started_at": null,
        "executed_at": "2026-11-30T11:20:00.138Z", "nonce": "AwMDAwMDAwMDAwMDAwMDAw", "seen": null,
    });
    let key = SigningKey::<Execution>::from_seed(&[0x21; 32]);
    let signed = counterfoil_core::envelope::Signed::sign(payload, &key);
    serde_json::from_slice(signed.bytes()).expect("JSON")
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}

/// P3: out of the result, into the record, and the acceptance back to the provider; the agent sees neither.
#[tokio::test]
async fn a_statement_in_a_result_is_handed_in_and_its_acceptance_comes_with_the_next_call() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    world.states(&statement());

    let first = host.call("note_read", r#"{"path":"/notes/a"}"#).await;
    until("the statement", || world.ledger.lock().executions.len() == 1).await;
    // The messenger hears the answer a moment after the ledger has it.
    let mut accepted = None;
    for _ in 0..100 {
        host.call("note_read", r#"{"path":"/notes/a"}"#).await;
        let log = world.provider_log();
        let last: Value = serde_json::from_str(log.last().expect("a call")).expect("JSON");
        if let Some(found) = last["_meta"].get("dev.counterfoil/accepted") {
            accepted = Some(found.clone());
            break;
        }
    }

    let meta = &first.result()["_meta"];
    assert!(meta.get("dev.counterfoil/execution").is_none(), "{meta}");
    assert!(meta.get("dev.counterfoil/receipt").is_some());
    let (provider, handed_in) = world.ledger.lock().executions[0].clone();
    assert_eq!(provider.as_str(), "notes");
    assert_eq!(serde_json::from_str::<Value>(&handed_in).expect("JSON"), statement());
    let accepted = accepted.expect("an acceptance");
    let receipt: Receipt = serde_json::from_str(&accepted[0].to_string()).expect("a receipt");
    assert!(receipt.statement().contains("received/v1"));
}

/// P3: an evidence service that is away or in doubt costs no call, and gets the statement later.
#[tokio::test]
async fn a_statement_waits_for_a_ledger_that_is_in_doubt() {
    let world = World::new().await;
    let host = world.host.initialize().await;
    world.states(&statement());
    host.call("note_read", r#"{"path":"/notes/a"}"#).await;
    until("the statement", || !world.ledger.lock().executions.is_empty()).await;
    let before = world.ledger.lock().executions.len();

    // In doubt about executions alone: the calls themselves are recorded.
    world.ledger.behave(Behaviour::DoubtingExecutions);
    let answer = host.call("note_read", r#"{"path":"/notes/a"}"#).await;
    assert_eq!(answer.result()["isError"], false, "{}", answer.text);
    world.ledger.behave(Behaviour::Sound);

    until("the statement, after all", || world.ledger.lock().executions.len() > before).await;
}

/// P3: a gateway that is told to stop delivers what it holds.
#[tokio::test]
async fn a_stopping_gateway_delivers_the_statements_that_it_holds() {
    let mut world = World::new().await;
    let host = world.host.initialize().await;
    world.states(&statement());
    for _ in 0..5 {
        host.call("note_read", r#"{"path":"/notes/a"}"#).await;
    }

    world.stop().await;

    assert_eq!(world.ledger.lock().executions.len(), 5);
}
