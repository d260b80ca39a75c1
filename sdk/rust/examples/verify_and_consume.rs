//! What one check costs: a token verified, its arguments hashed, its jti used up in memory, in CPU time of this thread.
//!
//!     cargo run --release --example verify_and_consume

use counterfoil_sdk::capability::{Environment, Following, Guard, KeySource, MemoryStore, Params, Place};
use counterfoil_sdk::clock;
use counterfoil_sdk::formats::capability::call_hash;
use counterfoil_sdk::formats::json::canonical;
use counterfoil_sdk::formats::key::{self, Jwk, Purpose, SigningKey};
use counterfoil_sdk::formats::nonce::base64url;
use counterfoil_sdk::verify::KeySet;
use serde_json::json;
use std::time::{Duration, Instant};

const ISSUER: &str = "https://gw.example/p/7-k3m9q2v8";
const PROJECT: &str = "prj_019355a0c0007000800000000000a001";
const CALLS: u32 = 20_000;
const GOAL: Duration = Duration::from_micros(150);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = SigningKey::<key::Capability>::from_seed(&[0x12; 32]);
    let keys = json!({ "iss": ISSUER, "keys": [Jwk::new(key.public(), Purpose::Capability)] });
    let place = Place::parse(ISSUER, PROJECT, "notes", Environment::Live)?;
    let guard = Guard::builder(place, MemoryStore::with_warning(|_| {}))
        .keys(KeySource::Pinned(KeySet::parse(keys.to_string().as_bytes())?))
        .generation(Following::Seen)
        .build()?;
    let calls: Vec<String> = (0..CALLS).map(|at| call(&key, guard.audience(), at)).collect();

    let (began, wall) = (cpu_time(), Instant::now());
    for call in &calls {
        guard.admit(Params::parse(call.as_bytes())?, None).await?;
    }
    let (cpu, wall) = (cpu_time().zip(began).map(|(end, began)| end - began), wall.elapsed() / CALLS);

    let each = cpu.map_or(wall, |cpu| cpu / CALLS);
    let clock = if cpu.is_some() { "CPU" } else { "wall" };
    println!("verify + consume (memory): {each:?} {clock} a call, {wall:?} wall, over {CALLS} calls");
    println!("goal: {GOAL:?}: {}", if each <= GOAL { "met" } else { "missed" });
    Ok(())
}

/// `params` of a call with some 200 bytes of arguments.
fn call(key: &SigningKey<key::Capability>, audience: &str, at: u32) -> String {
    let arguments = json!({ "path": "/notes/2026/11/30/minutes.md", "text": "x".repeat(120), "copies": 3, "tags": ["a", "b"] });
    let iat = clock::now().millis() / 1000;
    let mut jti = [0; 16];
    jti[..4].copy_from_slice(&at.to_be_bytes());
    let claims = json!({
        "iss": ISSUER, "aud": audience, "sub": "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", "jti": base64url(&jti),
        "iat": iat, "nbf": iat - 5, "exp": iat + 60, "txn": "act_019355a0c1007000800000000000b001",
        "dec": format!("sha256:{}", "5f".repeat(32)), "env": "live", "gen": 3, "os": "EIiJJtA4kt3i9xxgGwUUaA",
        "call": { "m": "tools/call", "t": "note_write", "h": call_hash(audience, "tools/call", "note_write", &arguments, None) },
    });
    let header = json!({ "alg": "EdDSA", "typ": "toolcap+jwt", "kid": key.kid() });
    let signed = format!("{}.{}", base64url(&canonical(&header)), base64url(&canonical(&claims)));
    let token = format!("{signed}.{}", base64url(&key.sign(signed.as_bytes())));
    json!({ "name": "note_write", "arguments": arguments, "_meta": { "dev.counterfoil/capability": token } })
        .to_string()
}

/// Of this thread, where the system says so (Linux).
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
