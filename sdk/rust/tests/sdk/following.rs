//! C1: kills and keys are followed, and where they cannot be, the answer is no.

use super::world::*;
use counterfoil_sdk::capability::{Following, Guard, Params};
use serde_json::{Value, json};

fn args() -> Value {
    json!({ "path": "/notes/a" })
}

async fn outcome(guard: &Guard, capability: String) -> String {
    let text = call("note_write", &args(), capability).to_string();
    let params = Params::parse(text.as_bytes()).expect("one reading");
    let admitted = guard.admit(params, None).await;
    admitted.map_or_else(|refusal| refusal.code().to_string(), |_| "admitted".to_owned())
}

fn of_generation(generation: u64, iat: i64) -> String {
    let times = json!({ "gen": generation, "iat": iat, "nbf": iat - 5, "exp": iat + 30 });
    token(&claims("note_write", &args(), times))
}

fn following(gateway: &Gateway, skew: &Skew, how: Following) -> Guard {
    let builder = Guard::builder(place(), silent()).gateway(&gateway.address).generation(how);
    builder.clock(skew.clock()).build().expect("a guard")
}

#[tokio::test]
async fn the_kill_generation_is_followed_and_its_silence_is_a_no() {
    let (gateway, skew) = (Gateway::start().await, Skew::default());
    let guard = following(&gateway, &skew, Following::Feed);
    assert_eq!(outcome(&guard, of_generation(3, now())).await, "admitted");

    gateway.say(|said| said.generation = 4);
    skew.add(3_000);
    assert_eq!(outcome(&guard, of_generation(3, now())).await, "capability_killed");
    assert_eq!(outcome(&guard, of_generation(4, now())).await, "admitted");

    gateway.say(|said| said.is_silent = true);
    skew.add(20_000);
    let late = skew.now().millis() / 1000;
    assert_eq!(outcome(&guard, of_generation(4, late)).await, "capability_generation");
}

#[tokio::test]
async fn a_feed_that_was_never_heard_is_a_no() {
    let (gateway, skew) = (Gateway::start().await, Skew::default());
    let guard = following(&gateway, &skew, Following::Feed);
    gateway.say(|said| said.is_silent = true);
    assert_eq!(outcome(&guard, of_generation(3, now())).await, "capability_keys");
    gateway.say(|said| said.is_silent = false);
    skew.add(1_500);
    assert_eq!(outcome(&guard, of_generation(3, now())).await, "admitted");
}

#[tokio::test]
async fn the_first_calls_wait_for_one_key_set_together() {
    let (gateway, skew) = (Gateway::start().await, Skew::default());
    let guard = following(&gateway, &skew, Following::Feed);
    let calls = (0..20).map(|_| outcome(&guard, of_generation(3, now())));
    let outcomes = futures_util::future::join_all(calls).await;
    assert!(outcomes.iter().all(|outcome| outcome == "admitted"), "{outcomes:?}");
    assert_eq!(gateway.asked(), 1);
}

#[tokio::test]
async fn an_unknown_key_causes_one_fetch_and_a_refusal() {
    use counterfoil_sdk::formats::key::{Jwk, Purpose};
    let (gateway, skew) = (Gateway::start().await, Skew::default());
    let guard = following(&gateway, &skew, Following::Seen);
    assert_eq!(outcome(&guard, of_generation(3, now())).await, "admitted");
    let forged = || {
        let claims = claims("note_write", &args(), json!({}));
        sign(&header(json!({ "kid": stranger().kid() })), &claims, &stranger())
    };
    let asked = gateway.asked();
    for _ in 0..20 {
        assert_eq!(outcome(&guard, forged()).await, "capability_key");
    }
    assert!(gateway.asked() <= asked + 1, "{} fetches", gateway.asked() - asked);

    skew.add(11_000);
    let both = [capability_key(), stranger()];
    let both = both.map(|key| Jwk::new(key.public(), Purpose::Capability));
    gateway.say(|said| said.keys = key_set(&both));
    assert_eq!(outcome(&guard, forged()).await, "admitted");

    gateway.say(|said| said.is_silent = true);
    skew.add(59 * 60_000);
    let late = skew.now().millis() / 1000;
    assert_eq!(outcome(&guard, of_generation(3, late)).await, "admitted", "a set counts for an hour");
    skew.add(2 * 60_000);
    let late = skew.now().millis() / 1000;
    assert_eq!(outcome(&guard, of_generation(3, late)).await, "capability_keys", "and not longer");
}
