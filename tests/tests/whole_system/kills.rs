//! A person stops what is running, from the command line, while it runs.
//!
//! `COUNTERFOIL_SECONDS` makes the long form of scripts/soak.

use super::crowd::{crowd, is_clean, length};
use super::world::World;
use counterfoil_core::statement::{Scope, Statement};
use counterfoil_tests::deployment::counterfoil;
use counterfoil_tests::mcp::{Answer, Http};
use std::time::Duration;

/// Runs the program on the world's deployment.
fn act(world: &World, words: &[&str]) -> String {
    let folder = world.deployment.folder().to_owned();
    let said = counterfoil(words, &[("--dir", &folder)]).expect("done");
    String::from_utf8(said).expect("a text")
}

/// The place of the newest kill or resumption, and of every cleared decision.
fn places(world: &World) -> (u64, Vec<u64>) {
    let (mut act, mut cleared) = (0, Vec::new());
    for link in world.chain().links {
        match &link.statement {
            Statement::Kill(_) | Statement::Resume(_) => act = link.entry.seq,
            Statement::Decision(decision) if decision.is_cleared() => cleared.push(link.entry.seq),
            _ => {}
        }
    }
    (act, cleared)
}

fn is_stopped(answer: &Answer) -> bool {
    answer.is_error().expect("a result") && answer.says().expect("a text").contains("a person stopped")
}

// Upholds G7: from the commit of a kill on there is no ALLOW, on any replica; and no call without one.
#[test]
fn under_load_on_two_gateways_no_allow_stands_after_a_kill() {
    let world = World::start();
    let replica = world.deployment.replica().expect("a second of each");
    let agents = [world.deployment.agent("scripted"), replica.agent("scripted")];
    let time = length(6);

    let answers: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = agents.iter().map(|agent| scope.spawn(|| crowd(32, time, agent))).collect();
        std::thread::sleep(time / 3);
        act(&world, &["kill", "--reason", "a drill"]);
        callers.into_iter().flat_map(|caller| caller.join().expect("no caller panics")).collect()
    });

    let (killed, cleared) = places(&world);
    assert!(!cleared.is_empty() && cleared.iter().all(|seq| *seq < killed), "an ALLOW stands after {killed}");
    let stopped = answers.iter().filter(|(answer, _)| is_stopped(answer)).count();
    println!("{} calls went out before the kill, {stopped} were denied after it", cleared.len());
    assert!(stopped > 0, "nobody was told");
    is_clean(&world);
}

// Upholds G7: what is resumed runs again, and only that.
#[test]
fn a_connection_that_is_killed_is_refused_until_it_is_resumed() {
    let world = World::start();
    let (http, agent) = (Http::new().expect("a client"), world.deployment.agent("scripted"));
    let call = || agent.call(&http, "echo", "{}").expect("an answer");
    assert!(!call().is_error().expect("a result"));
    let chain = world.chain();
    let decision = chain.links.iter().find_map(|link| match &link.statement {
        Statement::Decision(decision) => Some(decision.clone()),
        _ => None,
    });
    let decision = decision.expect("one call was decided");
    let scopes: [(&str, String); 3] = [
        ("--agent", decision.agent.to_string()),
        ("--connection", decision.via.clone()),
        ("--environment", decision.env.to_string()),
    ];

    for (option, id) in scopes {
        let scope: Scope = id.parse().expect("a scope");
        assert!(act(&world, &["kill", option, &id]).contains(&scope.to_string()));
        until("it is stopped", || is_stopped(&call()));
        act(&world, &["resume", option, &id, "--reason", "the drill is over"]);
        until("it runs again", || !call().is_error().expect("a result"));
    }
    is_clean(&world);
}

// Upholds G7: what is under way is given up, and the record says so.
#[test]
fn a_call_under_way_is_cancelled_by_a_kill() {
    let world = World::start();
    let agent = world.deployment.agent("scripted");

    let answer = std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let http = Http::new().expect("a client");
            agent.call(&http, "slow", r#"{"ms":20000}"#).expect("an answer")
        });
        std::thread::sleep(Duration::from_secs(2));
        act(&world, &["kill"]);
        slow.join().expect("no panic")
    });

    assert!(answer.says().expect("a text").starts_with("Cancelled."), "{}", answer.text());
}

fn until(what: &str, done: impl Fn() -> bool) {
    // A gateway follows within two seconds.
    for _ in 0..100 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: it never came");
}
