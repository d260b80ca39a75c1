//! C1, P3, P5, P7: a real gateway, and the example provider behind it. Ignored unless asked for: it needs `target/debug/counterfoil`
//! and a Postgres. `scripts/test sdks` asks.

mod gateway {
    pub mod deployment;
}

use counterfoil_sdk::execution::{Envelope, SigningKey};
use counterfoil_sdk::fetch::Http;
use counterfoil_sdk::formats::statement::Statement;
use counterfoil_sdk::receipts::ReceiptStore;
use counterfoil_sdk::verify::{KeySet, Verified, verify_receipt};
use gateway::deployment::{Deployment, SEED};
use serde_json::{Value, json};
use std::time::Duration;

fn args() -> Value {
    json!({ "path": "/notes/a.txt", "text": "{\"a\": 1}" })
}

/// The receipt of an entry near this one whose statement is an observation.
async fn observation(world: &Deployment, decision: &Verified, pinned: &KeySet) -> Value {
    for _ in 0..100 {
        for seq in decision.entry.seq + 1..=decision.entry.seq + 2 {
            let text = world.get(&format!("/v1/receipts/{seq}")).await;
            if let Ok(Statement::Observation(seen)) =
                verify_receipt(text.as_bytes(), pinned).map(|v| v.statement)
            {
                return json!(seen);
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no observation came");
}

/// What the provider's statement, out of its result, became.
async fn acceptance(world: &Deployment) -> Value {
    for _ in 0..100 {
        let told: Value = serde_json::from_str(&world.get("/v1/acceptances").await).unwrap_or_default();
        if let Some(first) = told["acceptances"].get(0) {
            return first.clone();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no acceptance came");
}

#[tokio::test]
#[ignore = "needs target/debug/counterfoil and a Postgres"]
async fn behind_a_real_gateway_both_halves_match_and_a_replay_is_refused() {
    let mut world = Deployment::start().await;
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "e2e", "version": "1" } });
    world.ask(0, "initialize", hello).await;
    let want = json!({ "dev.counterfoil/want": "full" });
    let answer =
        world.ask(1, "tools/call", json!({ "name": "note_write", "arguments": args(), "_meta": want })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "wrote /notes/a.txt", "{answer}");
    assert_eq!(world.lines("notes.jsonl"), [args()]);

    let pinned =
        KeySet::parse(world.get(&format!("{}/jwks.json", world.page)).await.as_bytes()).expect("a key set");
    let folder = tempfile::tempdir().expect("a folder");
    let store = ReceiptStore::open(folder.path(), pinned.clone()).expect("a store");
    let receipt = &answer["result"]["_meta"]["dev.counterfoil/receipt"]["receipt"];
    let decided = store.keep(receipt.to_string().as_bytes()).expect("ours");
    let Statement::Decision(decision) = &decided.statement else { panic!("no decision") };

    let statement =
        Envelope::parse(world.lines("executions.jsonl")[0].to_string().as_bytes()).expect("an envelope");
    let key = SigningKey::from_text(SEED).expect("a key");
    assert_eq!(statement.verify(key.public()), Ok(()));
    let said = statement.payload();
    assert_eq!((&said["action"], &said["decision"]), (&json!(decision.action), &json!(decided.digest)));
    assert_eq!(said["args"], json!(decision.args), "both sides commit to the arguments alike");
    let seen = observation(&world, &decided, &pinned).await;
    assert_eq!(
        (&seen["status"], &seen["result"]),
        (&json!("returned"), &said["result"]),
        "and to the result"
    );
    store.expect_acceptance(&statement).expect("written");
    let accepted = acceptance(&world).await;
    assert_eq!((&accepted["provider"], &accepted["signature_valid"]), (&json!("notes"), &json!(true)));
    store.accept(accepted["receipt"].to_string().as_bytes()).expect("ours");
    let checked =
        store.check(&format!("{}{}", world.evidence, world.page), &Http::new().expect("a client")).await;
    let checked = checked.expect("there");
    assert_eq!((checked.found, checked.alarm), (2, None));

    let asked = world.lines("asked.jsonl");
    let first = asked.iter().find(|message| message["method"] == "tools/call").expect("it was asked");
    assert_eq!(world.around(first).await["error"]["data"]["reason"], "capability_used");
    let direct = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "note_write", "arguments": args() } });
    assert_eq!(world.around(&direct).await["error"]["data"]["reason"], "capability_missing");
    let elsewhere = json!({ "name": "note_write", "arguments": { "path": "/elsewhere/a.txt", "text": "x" } });
    world.ask(2, "tools/call", elsewhere).await;
    assert_eq!(world.lines("notes.jsonl").len(), 1, "what the rules do not allow never reaches the provider");
}
