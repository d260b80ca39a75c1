//! Processes that stop where it hurts and go on later: nothing that was late is sent, nobody else waits long.
//!
//! `COUNTERFOIL_PAUSES` makes the long forms of scripts/soak.

use super::world::World;
use counterfoil_core::statement::{ObservationStatus, Statement, Verdict};
use counterfoil_tests::mcp::{Agent, Http};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn pauses(short: usize) -> usize {
    std::env::var("COUNTERFOIL_PAUSES").ok().and_then(|n| n.parse().ok()).unwrap_or(short)
}

/// Callers that go on until told to stop, whatever they are answered.
struct Load {
    stop: AtomicBool,
    answered: AtomicUsize,
}

impl Load {
    fn new() -> Self {
        Self { stop: AtomicBool::new(false), answered: AtomicUsize::new(0) }
    }

    fn call_until_stopped(&self, agent: &Agent) {
        let http = Http::new().expect("a client");
        while !self.stop.load(Ordering::Relaxed) {
            if agent
                .call(&http, "echo", "{}")
                .is_ok_and(|answer| !answer.text().contains("could not be recorded"))
            {
                self.answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How long until another call is answered.
    fn until_next(&self) -> Duration {
        let (began, before) = (Instant::now(), self.answered.load(Ordering::Relaxed));
        while self.answered.load(Ordering::Relaxed) == before {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing was answered in 30 s");
            std::thread::sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }
}

// Upholds G7, T8: the head row is not held hostage by a replica that stopped inside its transaction.
#[test]
fn an_evidence_service_stopped_inside_its_transaction_holds_nobody_up() {
    let world = World::start();
    let replica = world.deployment.replica().expect("a second of each");
    let (here, there) = (world.deployment.agent("scripted"), replica.agent("scripted"));
    let (ours, theirs) = (Load::new(), Load::new());
    let mut longest = Duration::ZERO;

    std::thread::scope(|scope| {
        // Ours is busy all the time, so that it is inside a transaction whenever it is stopped.
        (0..8).for_each(|_| drop(scope.spawn(|| ours.call_until_stopped(&here))));
        (0..2).for_each(|_| drop(scope.spawn(|| theirs.call_until_stopped(&there))));
        for round in 0..pauses(6) {
            theirs.until_next();
            std::thread::sleep(Duration::from_millis(40 + (round as u64 * 53) % 100));
            let evidence = world.deployment.evidence.as_ref().expect("runs");
            evidence.pause().expect("stopped");
            longest = longest.max(theirs.until_next());
            evidence.resume().expect("goes on");
        }
        ours.stop.store(true, Ordering::Relaxed);
        theirs.stop.store(true, Ordering::Relaxed);
    });

    println!("longest wait for the other replica: {longest:?}");
    assert!(longest < Duration::from_secs(4), "another replica waited {longest:?}");
    world.chain();
}

// Upholds C1, G4: a decision lives fifteen seconds.
#[test]
fn a_gateway_stopped_between_commit_and_mint_sends_nothing_late() {
    let world = World::start();
    let agent = world.deployment.agent("scripted");
    let load = Load::new();

    std::thread::scope(|scope| {
        (0..16).for_each(|_| drop(scope.spawn(|| load.call_until_stopped(&agent))));
        for _ in 0..pauses(1) {
            load.until_next();
            std::thread::sleep(Duration::from_millis(500));
            let gateway = world.deployment.gateway.as_ref().expect("runs");
            gateway.pause().expect("stopped");
            std::thread::sleep(Duration::from_secs(if pauses(1) > 1 { 60 } else { 17 }));
            gateway.resume().expect("goes on");
        }
        load.until_next();
        load.stop.store(true, Ordering::Relaxed);
    });

    let given_up = given_up(&world);
    println!("{given_up} calls were recorded before the pause and given up after it");
    assert!(given_up > 0, "the pause met no call between commit and mint");
}

/// Every call that was given up, as too late or as never acknowledged, reached nobody; returns how many there were.
fn given_up(world: &World) -> usize {
    let chain = observed(world);
    let sent: Vec<String> = world.provider_log().iter().map(decision_of).collect();
    let mut given_up = 0;
    for link in &chain.links {
        let Statement::Observation(seen) = &link.statement else { continue };
        let reached = sent.contains(&seen.decision.to_string());
        let was_sent = seen.status != ObservationStatus::NotSent;
        assert_eq!(reached, was_sent, "the provider's log and observation {} disagree", link.entry.seq);
        given_up += usize::from(!was_sent);
    }
    given_up
}

/// The chain once every allowed call has its observation.
fn observed(world: &World) -> counterfoil_tests::chain::Chain {
    let began = Instant::now();
    loop {
        let chain = world.chain();
        let seen = |wanted: fn(&Statement) -> bool| {
            chain.links.iter().filter(|link| wanted(&link.statement)).count()
        };
        let allowed = seen(|s| matches!(s, Statement::Decision(d) if d.verdict == Verdict::Allow));
        if seen(|s| matches!(s, Statement::Observation(_))) == allowed {
            return chain;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "an allowed call was never observed");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn decision_of(call: &serde_json::Value) -> String {
    use base64::Engine as _;
    let slip = call["params"]["_meta"]["dev.counterfoil/capability"].as_str().expect("a capability");
    let body = slip.split('.').nth(1).expect("three parts");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(body).expect("base64url");
    let claims: serde_json::Value = serde_json::from_slice(&claims).expect("JSON");
    claims["dec"].as_str().expect("a decision").to_owned()
}
