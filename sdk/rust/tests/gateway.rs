//! C1, C2, P3, P5, P7: a real gateway, and the example provider behind it. Ignored unless asked for: it needs `target/debug/counterfoil`
//! and a Postgres. `scripts/test sdks` asks.

mod gateway {
    pub mod deployment;
}

use counterfoil_sdk::execution::{Envelope, SigningKey};
use counterfoil_sdk::fetch::Http;
use counterfoil_sdk::formats::statement::Statement;
use counterfoil_sdk::receipts::ReceiptStore;
use counterfoil_sdk::verdict::{
    Agent, Cleared, GuardError, OriginalRequest, Principal, Proposal, Session, Tool, VerdictOptions, Verdicts,
};
use counterfoil_sdk::verify::{KeySet, Verified, verify_receipt};
use gateway::deployment::{Deployment, SEED};
use serde_json::{Value, json};
use std::time::Duration;

/// One deployment at a time: two would look for free ports in each other's way.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

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
    let _alone = ALONE.lock().await;
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

fn proposal(seq: u64, path: &str) -> Proposal {
    let arguments = json!({ "path": path, "text": "x" });
    Proposal::new("run-1", seq, Tool::named("note_write").of("notes"), &arguments)
        .expect("arguments")
        .disclosed()
}

/// The vendor's own call of the provider.
async fn present(world: &Deployment, cleared: &Cleared) -> Value {
    let meta = json!({ "dev.counterfoil/capability": cleared.capability().expect("a capability") });
    let params =
        json!({ "name": "note_write", "arguments": { "path": "/notes/b.txt", "text": "x" }, "_meta": meta });
    world.around(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await
}

async fn verdicts(world: &Deployment) -> Verdicts {
    let pinned =
        KeySet::parse(world.get(&format!("{}/jwks.json", world.page)).await.as_bytes()).expect("a key set");
    let project = world.project.parse().expect("an id");
    let env = serde_json::from_value(json!("live")).expect("an environment");
    let options = VerdictOptions::new(&world.gateway, &world.api_key, project, env, pinned);
    Verdicts::new(options.signer(SigningKey::from_text(SEED).expect("a key"))).expect("a client")
}

#[tokio::test]
#[ignore = "needs target/debug/counterfoil and a Postgres"]
async fn a_vendor_that_asks_a_real_gateway_runs_what_is_allowed_once_and_nothing_else() {
    let _alone = ALONE.lock().await;
    let mut world = Deployment::start().await;
    let verdicts = verdicts(&world).await;
    let session = Session {
        external_id: "run-1".into(),
        agent: Agent { external_id: "a-1".into(), name: None, version: None },
        principal: Principal { kind: "service".into(), reference: "p-1".into() },
        original_request: OriginalRequest { hash: format!("sha256:{}", "0".repeat(64)), anchors: vec![] },
    };
    verdicts.open(&session).await.expect("opened");

    let done = verdicts
        .guard(&proposal(0, "/notes/b.txt"), async |cleared: Cleared| {
            let first = present(&world, &cleared).await;
            Ok::<_, String>((first, present(&world, &cleared).await))
        })
        .await
        .expect("it runs");
    assert_eq!(done.0["result"]["content"][0]["text"], "wrote /notes/b.txt");
    assert_eq!(done.1["error"]["data"]["reason"], "capability_used");
    let accepted = acceptance(&world).await;
    assert_eq!(accepted["signature_valid"], json!(true), "the report of the call");

    let refused = verdicts.guard(&proposal(1, "/elsewhere/b.txt"), nothing_runs).await;
    assert!(matches!(refused, Err(GuardError::NotCleared(_))), "{refused:?}");
    world.stop();
    let silent = verdicts.guard(&proposal(2, "/notes/c.txt"), nothing_runs).await;
    assert!(matches!(silent, Err(GuardError::NoVerdict(_))), "{silent:?}");
    assert_eq!(world.lines("notes.jsonl").len(), 1);
}

async fn nothing_runs(_: Cleared) -> Result<(), String> {
    panic!("it ran")
}
