//! P10, C1: a provider that checks all is told from one that checks something and from one that checks nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::{Jwk, JwkSet, Purpose};
use counterfoil_core::statement::Environment;
use serde_json::json;
use tokio::sync::Mutex as AsyncMutex;

use super::*;
use crate::provider::{Guard, KeySource, Pinned};

const ISSUER: &str = "https://gw.example/p/7-k3m9q2v8";
const AUDIENCE: &str = "urn:counterfoil:7-k3m9q2v8:notes";

/// What stands in front of the tool.
#[derive(Clone)]
enum Door {
    Guarded(Arc<AsyncMutex<Guard>>),
    /// As the guard, and it forgets what was used.
    Forgetful(Arc<dyn Fn() -> Guard + Send + Sync>),
    Open,
    /// It fails whatever comes.
    Broken,
}

#[derive(Clone)]
struct Server {
    door: Door,
    ran: Arc<Mutex<u32>>,
}

async fn answer(State(server): State<Server>, body: String) -> Json<Value> {
    let message = json::parse(body.as_bytes(), Profile::Foreign).unwrap();
    let refused = |reason: &str| json!({ "code": 4030, "message": "no", "data": { "reason": reason } });
    let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
    if message["method"] != "tools/call" {
        answer["result"] = json!({ "protocolVersion": "2025-06-18" });
        return Json(answer);
    }
    let params = &message["params"];
    let spent = match &server.door {
        Door::Guarded(guard) => {
            guard.lock().await.spend(params, "note_list", &params["arguments"], clock::now()).await
        }
        Door::Forgetful(guard) => {
            guard().spend(params, "note_list", &params["arguments"], clock::now()).await
        }
        Door::Broken => {
            answer["error"] = json!({ "code": -32603, "message": "capability_missing" });
            return Json(answer);
        }
        Door::Open => {
            *server.ran.lock().unwrap() += 1;
            answer["result"] = json!({ "content": [] });
            return Json(answer);
        }
    };
    match spent {
        Ok(_) => {
            *server.ran.lock().unwrap() += 1;
            answer["result"] = json!({ "content": [] });
        }
        Err(refusal) => answer["error"] = refused(refusal.code()),
    }
    Json(answer)
}

struct Scene {
    key: SigningKey<Capability>,
    url: String,
    ran: Arc<Mutex<u32>>,
    _folder: tempfile::TempDir,
}

async fn scene(door: impl FnOnce(Arc<dyn Fn() -> Guard + Send + Sync>) -> Door) -> Scene {
    let folder = tempfile::TempDir::new().unwrap();
    let key = SigningKey::<Capability>::from_seed(&[0x12; 32]);
    let jwks = folder.path().join("gateway-jwks.json");
    let set =
        JwkSet { iss: ISSUER.parse().unwrap(), keys: vec![Jwk::new(key.public(), Purpose::Capability)] };
    std::fs::write(&jwks, serde_json::to_vec(&set).unwrap()).unwrap();
    let guard = move || {
        let pinned =
            Pinned { issuer: ISSUER.parse().unwrap(), audience: AUDIENCE.to_owned(), env: Environment::Live };
        Guard::new(pinned, KeySource::File(jwks.clone()))
    };
    let ran = Arc::new(Mutex::new(0));
    let server = Server { door: door(Arc::new(guard)), ran: Arc::clone(&ran) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer)).with_state(server);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Scene { key, url, ran, _folder: folder }
}

/// The cases that were not refused, of how many; and whether the honest call ran.
async fn not_refused(
    scene: &Scene,
    knows_the_key: bool,
) -> (Result<bool, String>, BTreeSet<&'static str>, usize) {
    let (arguments, stranger) = (json!({}), SigningKey::from_seed(&[0x77; 32]));
    let target = Target {
        issuer: ISSUER,
        audience: AUDIENCE,
        env: Environment::Live,
        generation: 0,
        tool: "note_list",
        arguments: &arguments,
    };
    let table = Table { target, known: knows_the_key.then_some(&scene.key), stranger: &stranger };
    let mut caller = Caller::open(&scene.url).await.unwrap();
    let honest = table.honest(&mut caller).await;
    let spent = honest.clone().ok().flatten();
    let rows = table.ask(&mut caller, spent.as_deref()).await;
    let loud = rows.iter().filter(|row| row.outcome != ProbeOutcome::Refused).map(|row| row.case.as_str());
    (honest.map(|token| token.is_some()), loud.collect(), rows.len())
}

#[tokio::test]
async fn a_guard_refuses_every_case_and_the_tool_runs_for_the_honest_call_alone() {
    let scene = scene(|guard| Door::Guarded(Arc::new(AsyncMutex::new(guard())))).await;

    let (honest, loud, tried) = not_refused(&scene, true).await;

    assert_eq!((honest, loud, tried), (Ok(true), BTreeSet::new(), ProbeCase::ALL.len()));
    assert_eq!(*scene.ran.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_provider_that_demands_nothing_passes_every_case() {
    let scene = scene(|_| Door::Open).await;

    let (_, loud, tried) = not_refused(&scene, true).await;

    assert_eq!((loud.len(), tried), (ProbeCase::ALL.len(), ProbeCase::ALL.len()));
}

#[tokio::test]
async fn a_provider_that_forgets_what_was_used_is_told_by_its_replay() {
    let scene = scene(Door::Forgetful).await;

    let (honest, loud, _) = not_refused(&scene, true).await;

    assert_eq!((honest, loud), (Ok(true), BTreeSet::from(["replayed"])));
    assert_eq!(*scene.ran.lock().unwrap(), 2);
}

#[tokio::test]
async fn a_provider_that_fails_whatever_comes_is_not_taken_for_one_that_refuses() {
    let scene = scene(|_| Door::Broken).await;

    let (honest, loud, tried) = not_refused(&scene, true).await;

    assert_eq!(honest, Err("capability_missing".to_owned()));
    assert_eq!(loud.len(), tried);
}

#[tokio::test]
async fn without_a_key_that_the_provider_pins_only_a_strangers_cases_are_tried() {
    let scene = scene(|guard| Door::Guarded(Arc::new(AsyncMutex::new(guard())))).await;

    assert_eq!(not_refused(&scene, false).await, (Ok(false), BTreeSet::new(), 5));
}

#[tokio::test]
async fn a_check_serves_its_keys_and_its_generation_as_a_gateway_does() {
    let issuing = Issuing::start(ISSUER.parse().unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let get = async |path: &str| {
        let url = format!("http://{}/p/7-k3m9q2v8/{path}", issuing.address());
        reqwest::get(url).await.unwrap().text().await.unwrap()
    };

    let set = JwkSet::parse(get("gateway-jwks.json").await.as_bytes()).unwrap();
    let feed = get("gen").await;

    assert!(set.find(issuing.key().kid(), Purpose::Capability).is_some());
    let (text, signature) = feed.rsplit_once('.').unwrap();
    let signature = counterfoil_core::nonce::unbase64url_exact::<64>(signature).unwrap();
    assert!(issuing.key().public().verify(text.as_bytes(), &signature).is_ok());
}
