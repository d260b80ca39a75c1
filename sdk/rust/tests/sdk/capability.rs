//! C1: no fresh capability, no execution. Every way to misuse one is refused with a reason of its own.

use super::ledger::{Ledger, decision, pinned_keys};
use super::world::*;
use counterfoil_sdk::capability::{
    Advisory, FileStore, Guard, GuardBuilder, KeySource, Params, PostgresStore, PostgresValues, RedisStore,
    Refusal, Store, StoreError,
};
use counterfoil_sdk::fetch::Later;
use counterfoil_sdk::formats::key::{Jwk, Purpose};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

fn args() -> Value {
    json!({ "path": "/notes/été.txt", "n": 3, "tags": ["a"], "nested": "{\"a\":1}" })
}

fn params(value: &Value) -> Params {
    Params::parse(value.to_string().as_bytes()).expect("one reading")
}

async fn outcome(guard: &Guard, call: &Value, header: Option<&str>) -> String {
    let refused = |refusal: Refusal| refusal.code().as_str().to_owned();
    guard.admit(params(call), header).await.map_or_else(refused, |_| "admitted".to_owned())
}

/// Asks a guard once, and checks that a refusal was reported under the same code.
async fn reason_with(builder: GuardBuilder, call: &Value, header: Option<&str>) -> String {
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = told.clone();
    let tell = move |refusal: &Refusal| telling.lock().expect("unbroken").push(refusal.code().to_string());
    let guard = builder.on_refusal(tell).build().expect("a guard");
    let outcome = outcome(&guard, call, header).await;
    let told = told.lock().expect("unbroken").clone();
    let wanted = if outcome == "admitted" { vec![] } else { vec![outcome.clone()] };
    assert_eq!(told, wanted, "every refusal is reported, once");
    outcome
}

async fn reason(call: &Value) -> String {
    reason_with(builder(), call, None).await
}

fn claimed(changes: Value) -> Value {
    call("note_write", &args(), token(&claims("note_write", &args(), changes)))
}

#[tokio::test]
async fn an_honest_call_is_admitted() {
    assert_eq!(reason(&call("note_write", &args(), slip("note_write", &args()))).await, "admitted");
    let without = json!({ "name": "note_list", "_meta": { "dev.counterfoil/capability": slip("note_list", &json!({})) } });
    assert_eq!(reason(&without).await, "admitted", "absent arguments are {{}}");
    let bare = json!({ "name": "note_write", "arguments": args() });
    let header = slip("note_write", &args());
    assert_eq!(reason_with(builder(), &bare, Some(&header)).await, "admitted", "the header alone is enough");
}

/// What a decoder would make of the arguments is not asked: the bytes are.
#[tokio::test]
async fn arguments_are_those_of_the_wire() {
    let wire = br#"{"name":"t","arguments":{ "b":1e2, "a":"\u00e9" },"_meta":{"dev.counterfoil/capability":"TOKEN"}}"#;
    let token = slip("t", &json!({ "a": "é", "b": 100 }));
    let text = String::from_utf8_lossy(wire).replace("TOKEN", &token);
    let guard = builder().build().expect("a guard");
    let admitted =
        guard.admit(Params::parse(text.as_bytes()).expect("one reading"), None).await.expect("ours");
    assert_eq!(admitted.arguments()["b"].as_f64(), Some(100.0));
    for two_readings in [r#"{"name":"t","arguments":{"a":1,"a":2}}"#, r#"{"arguments":{"a":"\ud800"}}"#] {
        let refusal = Refusal::from(Params::parse(two_readings.as_bytes()).expect_err("two readings"));
        assert_eq!(refusal.code().as_str(), "capability_not_bindable");
    }
}

#[tokio::test]
async fn a_slip_for_another_environment_or_provider_is_refused() {
    let cases = [
        (json!({ "iss": "https://gw.example/p/9-zzzzzzzz" }), "capability_issuer"),
        (json!({ "iss": "https://elsewhere.example" }), "capability_issuer"),
        (json!({ "aud": "urn:another" }), "capability_audience"),
        (json!({ "aud": [AUDIENCE] }), "capability_malformed"),
        (json!({ "env": "test" }), "capability_environment"),
        (json!({ "env": "prod" }), "capability_environment"),
        (json!({ "cnf": {} }), "capability_unsupported"),
        (json!({ "cnf": null }), "capability_malformed"),
        (json!({ "adv": true }), "capability_unsupported"),
        (json!({ "gen": -1 }), "capability_malformed"),
        (json!({ "extra": 1 }), "capability_malformed"),
    ];
    for (changes, wanted) in cases {
        assert_eq!(reason(&claimed(changes.clone())).await, wanted, "{changes}");
    }
    let advisory = claimed(json!({ "adv": true }));
    assert_eq!(reason_with(builder().advisory(Advisory::Run), &advisory, None).await, "admitted");
    let other = slip("note_write", &args());
    assert_eq!(reason_with(builder(), &claimed(json!({})), Some(&other)).await, "capability_twice");
    let receipt = call("note_write", &args(), json!({ "typ": "receipt/v1" }));
    assert_eq!(reason(&receipt).await, "capability_malformed", "a receipt is no capability");
}

#[tokio::test]
async fn a_slip_outside_its_life_is_refused() {
    // A clock that stands still, or a slow machine would judge between two seconds.
    let stopped = counterfoil_sdk::clock::now();
    let now = stopped.millis() / 1000;
    let at = |iat: i64, exp: i64| claimed(json!({ "iat": iat, "nbf": iat - 5, "exp": exp }));
    let cases = [
        (at(now - 40, now - 5), "capability_time"),
        (at(now - 40, now - 4), "admitted"),
        (at(now + 5, now + 40), "admitted"),
        (at(now + 6, now + 40), "capability_time"),
        (at(now, now + 60), "admitted"),
        (at(now, now + 61), "capability_life"),
        (at(now, now), "capability_life"),
    ];
    for (call, wanted) in cases {
        assert_eq!(reason_with(builder().clock(Arc::new(move || stopped)), &call, None).await, wanted);
    }
    let an_hour_ago = counterfoil_sdk::clock::now().plus_millis(-3_600_000);
    let retired = Jwk::new(capability_key().public(), Purpose::Capability).valid_until(an_hour_ago);
    let keys = KeySource::Pinned(set(&key_set(&[retired])));
    assert_eq!(reason_with(builder().keys(keys), &claimed(json!({})), None).await, "capability_time");
}

#[tokio::test]
async fn a_refused_call_uses_nothing_up() {
    let guard = builder().build().expect("a guard");
    let capability = slip("note_write", &args());
    let other = call("note_write", &json!({}), capability.clone());
    assert_eq!(outcome(&guard, &other, None).await, "capability_arguments");
    assert_eq!(outcome(&guard, &call("note_write", &args(), capability), None).await, "admitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_1600_racing_presentations_of_50_slips_to_two_guards_50_run() {
    let shared = Arc::new(silent());
    let guard = || {
        let keys = KeySource::Pinned(set(&gateway_keys()));
        let builder = Guard::builder(place(), shared.clone()).keys(keys);
        builder.generation(counterfoil_sdk::capability::Following::Seen).build().expect("a guard")
    };
    let guards = [guard(), guard()];
    let calls: Vec<_> =
        (0..50).map(|_| params(&call("note_write", &args(), slip("note_write", &args())))).collect();
    let racing: Vec<_> = (0..1600)
        .map(|at| {
            let (guard, call) = (guards[at % 2].clone(), calls[(at / 2) % 50].clone());
            tokio::spawn(async move { guard.admit(call, None).await.is_ok() })
        })
        .collect();
    let mut admitted = 0;
    for presentation in racing {
        admitted += u32::from(presentation.await.expect("nothing broke off"));
    }
    assert_eq!(admitted, 50);
}

struct Away;

impl Store for Away {
    fn consume<'s>(&'s self, _: &'s str, _: &'s str, _: i64) -> Later<'s, Result<bool, StoreError>> {
        Box::pin(async { Err(StoreError("connection refused".to_owned())) })
    }
}

#[tokio::test]
async fn without_its_store_nothing_runs() {
    let guard = builder().build().expect("a guard");
    let presented = claimed(json!({}));
    let refusal = guard.admit_in(params(&presented), None, &Away).await.map(drop).expect_err("no store");
    assert_eq!(refusal.code().as_str(), "capability_store");
    assert_eq!(outcome(&guard, &presented, None).await, "admitted", "nothing was used up");
}

#[tokio::test]
async fn the_stores_say_yes_once() {
    let rows = Arc::new(Mutex::new(HashSet::new()));
    let execute = move |_: &'static str, values: PostgresValues| {
        let is_new = rows.lock().expect("unbroken").insert((values.audience, values.jti));
        async move { Ok(u64::from(is_new)) }
    };
    let names = Arc::new(Mutex::new(HashSet::new()));
    let command = move |words: Vec<String>| {
        assert_eq!((words[0].as_str(), words[3].as_str()), ("SET", "NX"));
        let is_new = names.lock().expect("unbroken").insert(words[1].clone());
        async move { Ok(is_new.then(|| "OK".to_owned())) }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = || FileStore::open(folder.path().join("used")).expect("a store");
    let stores: [Box<dyn Store>; 4] = [
        Box::new(silent()),
        Box::new(PostgresStore::new(execute)),
        Box::new(RedisStore::new(command)),
        Box::new(file()),
    ];
    for store in &stores {
        assert_eq!(store.consume("a", "j", now() + 60).await, Ok(true));
        assert_eq!(store.consume("a", "j", now() + 60).await, Ok(false));
        assert_eq!(store.consume("b", "j", 1).await, Ok(true));
    }
    // Another process sees what this one used, and forgets what no clock accepts.
    assert_eq!(file().consume("a", "j", now() + 60).await, Ok(false));
    assert_eq!(std::fs::read_dir(folder.path().join("used")).expect("the folder").count(), 1);
}

#[tokio::test]
async fn a_slip_of_before_a_kill_is_refused() {
    let guard = builder().build().expect("a guard");
    assert_eq!(outcome(&guard, &claimed(json!({ "gen": 4 })), None).await, "admitted");
    assert_eq!(outcome(&guard, &claimed(json!({ "gen": 3 })), None).await, "capability_killed");
}

#[tokio::test]
async fn a_key_of_another_purpose_signs_no_capability() {
    let keys = KeySource::Pinned(set(&key_set(&[Jwk::new(capability_key().public(), Purpose::Decision)])));
    assert_eq!(reason_with(builder().keys(keys), &claimed(json!({})), None).await, "capability_key");
    let lost = KeySource::File("/nowhere/jwks.json".into());
    assert_eq!(reason_with(builder().keys(lost), &claimed(json!({})), None).await, "capability_keys");
}

#[tokio::test]
async fn in_mode_proof_a_slip_alone_is_not_enough() {
    let made = claims("note_write", &args(), json!({}));
    let receipt = |changes: Value| {
        let mut about = decision(&args(), json!({ "capability": made["jti"] }));
        merge(&mut about, changes);
        Ledger::new().append(&about)
    };
    let ask = async |receipt: Option<Value>, dec: Option<&str>| {
        let digest = receipt.as_ref().map(|receipt| receipt["entry"]["body"].clone());
        let mut claims = made.clone();
        claims["dec"] = dec.map(Value::from).or(digest).unwrap_or_else(|| made["dec"].clone());
        let mut presented = call("note_write", &args(), token(&claims));
        presented["_meta"]["dev.counterfoil/receipt"] = receipt.unwrap_or_default();
        reason_with(builder().proof(set(&pinned_keys())), &presented, None).await
    };

    assert_eq!(ask(Some(receipt(json!({}))), None).await, "admitted");
    let rehearsed = json!({ "verdict": "DENY", "reason": "no_rule", "effect": "advisory" });
    assert_eq!(ask(Some(receipt(rehearsed)), None).await, "admitted");
    for (forged, what) in [
        (None, "no receipt"),
        (Some(receipt(json!({ "verdict": "DENY", "reason": "no_rule" }))), "a DENY"),
        (
            Some(Ledger::by_a_stranger().append(&decision(&args(), json!({ "capability": made["jti"] })))),
            "a stranger's log",
        ),
        (Some(receipt(json!({ "capability": null }))), "another capability"),
        (Some(receipt(json!({ "action": "act_019355a0c1007000800000000000b002" }))), "another action"),
    ] {
        assert_eq!(ask(forged, None).await, "capability_receipt", "{what}");
    }
    let elsewhere = format!("sha256:{}", "0".repeat(64));
    assert_eq!(ask(Some(receipt(json!({}))), Some(&elsewhere)).await, "capability_receipt");
}
