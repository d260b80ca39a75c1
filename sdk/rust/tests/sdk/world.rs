//! A gateway of these tests: its keys, its slips, its key set and generation feed, on a port of its own.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use counterfoil_sdk::capability::{
    Environment, Following, Guard, GuardBuilder, KeySource, MemoryStore, Place,
};
use counterfoil_sdk::clock;
use counterfoil_sdk::execution::SigningKey;
use counterfoil_sdk::formats::capability::call_hash;
use counterfoil_sdk::formats::json::canonical;
use counterfoil_sdk::formats::key::{self, Jwk, Purpose, SigningKey as Key};
use counterfoil_sdk::formats::nonce::base64url;
use counterfoil_sdk::formats::time::Timestamp;
use counterfoil_sdk::verify::KeySet;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub const ISSUER: &str = "https://gw.example/p/7-k3m9q2v8";
pub const PAGE: &str = "/p/7-k3m9q2v8";
pub const AUDIENCE: &str = "urn:counterfoil:7-k3m9q2v8:notes";
pub const PROJECT: &str = "prj_019355a0c0007000800000000000a001";
pub const ACTION: &str = "act_019355a0c1007000800000000000b001";
pub const SEED: &str = "EIiJJtA4kt3i9xxgGwUUaA";

pub type CapabilityKey = Key<key::Capability>;

pub fn capability_key() -> CapabilityKey {
    Key::from_seed(&[0x12; 32])
}

pub fn stranger() -> CapabilityKey {
    Key::from_seed(&[0x77; 32])
}

pub fn execution_key() -> SigningKey {
    SigningKey::from_seed(&[0x21; 32])
}

/// Unlike any other of this process, and of any other process.
pub fn nonce() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&std::process::id().to_be_bytes());
    bytes[8..].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    base64url(&bytes)
}

pub fn now() -> i64 {
    clock::now().millis() / 1000
}

pub fn key_set(keys: &[Jwk]) -> String {
    json!({ "iss": ISSUER, "keys": keys }).to_string()
}

pub fn gateway_keys() -> String {
    key_set(&[Jwk::new(capability_key().public(), Purpose::Capability)])
}

pub fn set(text: &str) -> KeySet {
    KeySet::parse(text.as_bytes()).expect("a good key set")
}

/// The claims of a slip for this call, with these members instead of its own.
pub fn claims(tool: &str, arguments: &Value, changes: Value) -> Value {
    let iat = now();
    let h = call_hash(AUDIENCE, "tools/call", tool, arguments, None);
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", "jti": nonce(),
        "iat": iat, "nbf": iat - 5, "exp": iat + 30, "txn": ACTION, "dec": format!("sha256:{}", "5f".repeat(32)),
        "env": "live", "gen": 3, "os": SEED, "call": { "m": "tools/call", "t": tool, "h": h },
    });
    merge(&mut claims, changes);
    claims
}

pub fn merge(object: &mut Value, changes: Value) {
    let Value::Object(changes) = changes else { return };
    object.as_object_mut().expect("an object").extend(changes);
}

pub fn sign(header: &Value, claims: &Value, key: &CapabilityKey) -> String {
    let signed = format!("{}.{}", base64url(&canonical(header)), base64url(&canonical(claims)));
    format!("{signed}.{}", base64url(&key.sign(signed.as_bytes())))
}

pub fn header(changes: Value) -> Value {
    let mut header = json!({ "alg": "EdDSA", "typ": "toolcap+jwt", "kid": capability_key().kid() });
    merge(&mut header, changes);
    header
}

pub fn token(claims: &Value) -> String {
    sign(&header(json!({})), claims, &capability_key())
}

/// A fresh slip for this call.
pub fn slip(tool: &str, arguments: &Value) -> String {
    token(&claims(tool, arguments, json!({})))
}

/// `params` of a call that presents a slip.
pub fn call(tool: &str, arguments: &Value, capability: impl Into<Value>) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": { "dev.counterfoil/capability": capability.into() } })
}

pub fn request(id: impl Into<Value>, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params })
}

pub fn place() -> Place {
    Place::parse(ISSUER, PROJECT, "notes", Environment::Live).expect("a good place")
}

pub fn silent() -> MemoryStore {
    MemoryStore::with_warning(|_| {})
}

/// A guard with pinned keys that learns of kills from capabilities.
pub fn builder() -> GuardBuilder {
    let keys = KeySource::Pinned(set(&gateway_keys()));
    Guard::builder(place(), silent()).keys(keys).generation(Following::Seen)
}

/// A clock that a test moves.
#[derive(Clone, Default)]
pub struct Skew(Arc<Mutex<i64>>);

impl Skew {
    pub fn add(&self, millis: i64) {
        *self.0.lock().expect("no test broke off inside") += millis;
    }

    pub fn clock(&self) -> clock::Clock {
        let skew = self.0.clone();
        Arc::new(move || clock::now().plus_millis(*skew.lock().expect("no test broke off inside")))
    }

    pub fn now(&self) -> Timestamp {
        (self.clock())()
    }
}

/// What the gateway says; changed while it runs.
pub struct Said {
    pub keys: String,
    pub generation: u64,
    pub is_silent: bool,
    pub asked: u32,
}

pub struct Gateway {
    pub said: Arc<Mutex<Said>>,
    pub address: String,
}

impl Gateway {
    /// Ends with the runtime of its test.
    pub async fn start() -> Self {
        let said = Said { keys: gateway_keys(), generation: 3, is_silent: false, asked: 0 };
        let said = Arc::new(Mutex::new(said));
        let app = Router::new()
            .route(&format!("{PAGE}/gateway-jwks.json"), get(keys))
            .route(&format!("{PAGE}/gen"), get(generation))
            .with_state(said.clone());
        Self { said, address: serve(app).await }
    }

    pub fn say(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said.lock().expect("no test broke off inside"));
    }

    pub fn asked(&self) -> u32 {
        self.said.lock().expect("no test broke off inside").asked
    }
}

pub async fn serve(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

async fn keys(State(said): State<Arc<Mutex<Said>>>) -> Result<String, StatusCode> {
    let mut said = said.lock().expect("no test broke off inside");
    said.asked += 1;
    if said.is_silent { Err(StatusCode::SERVICE_UNAVAILABLE) } else { Ok(said.keys.clone()) }
}

async fn generation(State(said): State<Arc<Mutex<Said>>>) -> Result<String, StatusCode> {
    let said = said.lock().expect("no test broke off inside");
    if said.is_silent {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let iat = now();
    let claims = json!({ "exp": iat + 10, "gen": said.generation, "iat": iat, "iss": ISSUER });
    Ok(sign(&header(json!({ "typ": "toolgen+jwt" })), &claims, &capability_key()))
}
