//! Both services and the database are killed under load. What the provider saw, what agents hold and what the ledger says
//! must agree.

use super::world::World;
use counterfoil_core::id::ActionId;
use counterfoil_tests::mcp::{Agent, Http};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `COUNTERFOIL_KILLS` makes the long form of scripts/soak.
fn kills() -> usize {
    std::env::var("COUNTERFOIL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// Agents that call as fast as they are answered, until told to stop; what they were given is kept.
struct Load {
    stop: AtomicBool,
    held: Mutex<Vec<Value>>,
}

impl Load {
    fn new() -> Self {
        Self { stop: AtomicBool::new(false), held: Mutex::new(Vec::new()) }
    }

    fn call_until_stopped(&self, agent: &Agent) {
        let http = Http::new().expect("a client");
        while !self.stop.load(Ordering::Relaxed) {
            match agent.call(&http, "echo", "{}") {
                Ok(answer) => {
                    let receipt = answer.receipt().unwrap_or(Value::Null);
                    if !receipt.is_null() {
                        self.held.lock().expect("no agent panics").push(receipt);
                    }
                }
                // The gateway is away just now.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

fn under_load(world: &mut World, mut kill: impl FnMut(&mut World)) -> Vec<Value> {
    let load = Load::new();
    let agent = world.deployment.agent("scripted");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load.call_until_stopped(&agent));
        }
        for round in 0..kills() {
            // Different moments of a call, the same in every run.
            std::thread::sleep(Duration::from_millis(120 + (round as u64 * 37) % 150));
            kill(world);
        }
        std::thread::sleep(Duration::from_millis(300));
        load.stop.store(true, Ordering::Relaxed);
    });
    load.held.into_inner().expect("no agent panics")
}

fn agrees(world: &World, held: &[Value]) {
    let chain = world.chain();
    assert!(held.len() > kills(), "only {} calls were answered", held.len());
    for receipt in held {
        let digest = receipt["digest"].as_str().expect("a digest");
        assert_eq!(chain.position(digest), receipt["seq"].as_u64(), "acknowledged and missing: {receipt}");
    }
    let allowed = chain.allowed();
    let mut seen: BTreeSet<ActionId> = BTreeSet::new();
    for call in world.provider_log() {
        let slip =
            claims(call["params"]["_meta"]["dev.counterfoil/capability"].as_str().expect("a capability"));
        let action: ActionId = slip["txn"].as_str().expect("an action").parse().expect("an action id");
        let decided = chain.position(slip["dec"].as_str().expect("a decision"));
        assert!(decided.is_some(), "the provider saw {action}, whose decision was never committed");
        assert_eq!(
            decided,
            allowed.get(&action).copied(),
            "the provider saw {action}, which was not allowed"
        );
        assert!(seen.insert(action), "the provider saw {action} twice");
    }
    assert!(!seen.is_empty());
}

fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let body = token.split('.').nth(1).expect("three parts");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(body).expect("base64url");
    serde_json::from_slice(&claims).expect("JSON")
}

// Upholds P2, G4.
#[test]
fn a_gateway_killed_under_load_leaves_no_call_without_its_allow() {
    let mut world = World::start();

    let held = under_load(&mut world, |world| {
        world.deployment.gateway.take().expect("runs").kill().expect("killed");
        world.deployment.start_gateway().expect("started");
    });

    agrees(&world, &held);
}

// Upholds P2, G4.
#[test]
fn an_evidence_service_killed_under_load_loses_nothing_it_acknowledged() {
    let mut world = World::start();

    let held = under_load(&mut world, |world| {
        world.deployment.evidence.take().expect("runs").kill().expect("killed");
        world.deployment.start_evidence().expect("started");
        world.deployment.until_ready().expect("ready");
    });

    agrees(&world, &held);
}

// Upholds P2, G4.
#[test]
fn a_database_killed_under_load_loses_nothing_it_acknowledged() {
    let mut world = World::start();

    let held = under_load(&mut world, |world| {
        world.deployment.postgres.kill().expect("stopped");
        world.deployment.postgres.restart().expect("started");
        world.deployment.until_ready().expect("ready");
    });

    agrees(&world, &held);
}
