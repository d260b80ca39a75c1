//! Held calls, from agents that wait, give up and come again, to the person who answers on the command line.

use super::world::World;
use counterfoil_tests::mcp::{Http, Want};
use counterfoil_tests::person::Person;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long this world's gateway keeps a call waiting.
const WAIT_MS: u32 = 3_000;

fn world() -> World {
    let mut world = World::start();
    world.deployment.keep_waiting(WAIT_MS).expect("a gateway");
    world
}

fn person_of(world: &World) -> Person {
    Person::of(world.deployment.folder())
}

/// The one hold that is open, once there is one.
fn open(person: &Person) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let open = person.open().expect("the command runs");
        if let Some(hold) = open.first().and_then(|line| line.split('\t').next()) {
            return hold.to_owned();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing is held");
}

/// Answers the one hold that is open, once there is one.
fn answers(person: &Person, word: &str) {
    person.answers(&open(person), word).expect("answered");
}

fn listing(world: &World) -> String {
    json!({"path": world.files()}).to_string()
}

// Upholds G5: a client that gives up after five seconds gets its result by repeating the call after the approval.
#[test]
fn a_client_that_gave_up_gets_its_result_by_repeating_the_call() {
    let world = world();
    let (person, http) = (person_of(&world), Http::new().expect("a client"));
    let agent = world.deployment.agent("files");
    let arguments = listing(&world);
    let request = agent.request(&http, "list_directory", &arguments, Want::Reference);
    assert!(http.send(request.timeout(Duration::from_millis(2_000))).is_err(), "it was to give up");

    answers(&person, "once");
    let answer = agent.call(&http, "list_directory", &arguments).expect("an answer");

    assert!(answer.says().expect("a text").contains("hello.txt"), "{}", answer.text());
    assert_eq!(answer.receipt().expect("a receipt")["verdict"], "ALLOW");
    assert!(person.open().expect("the command runs").is_empty());
    assert!(world.every_receipt_verifies() > 5);
}

// Upholds G5: whoever repeats a call that is held is asked about once.
#[test]
fn repeats_of_a_call_that_is_open_join_one_question() {
    let world = World::start();
    let replica = world.deployment.replica().expect("a second of each");
    let (person, http) = (person_of(&world), Http::new().expect("a client"));
    let arguments = listing(&world);
    for agent in [world.deployment.agent("files"), replica.agent("files"), world.deployment.agent("files")] {
        let answer = agent.call(&http, "list_directory", &arguments).expect("an answer");
        assert!(answer.says().expect("a text").contains("repeat the identical call"), "{}", answer.text());
    }

    assert_eq!(person.open().expect("the command runs").len(), 1);
}

// Upholds G5: one answer, one dispatch, whoever races.
#[test]
fn racing_repeats_of_an_approved_call_dispatch_once() {
    let world = world();
    let person = person_of(&world);
    let arguments = listing(&world);
    let files = world.deployment.agent("files");
    let http = Http::new().expect("a client");
    files.call(&http, "list_directory", &arguments).expect("an answer");
    answers(&person, "once");

    let racing: Vec<_> = (0..16)
        .map(|_| {
            let (files, arguments) = (files.clone(), arguments.clone());
            std::thread::spawn(move || {
                let http = Http::new().expect("a client");
                files.call(&http, "list_directory", &arguments).expect("an answer").text()
            })
        })
        .collect();
    let texts: Vec<String> = racing.into_iter().map(|thread| thread.join().expect("no panic")).collect();

    let listed = texts.iter().filter(|text| text.contains("hello.txt")).count();
    assert_eq!(listed, 1, "{texts:?}");
}

// Upholds G5: one answer, one dispatch, over whichever gateway the repeats come.
#[test]
fn two_gateways_racing_for_one_approved_hold_dispatch_it_once() {
    let world = world();
    let replica = world.deployment.replica().expect("a second of each");
    let person = person_of(&world);
    let arguments = listing(&world);
    let agents = [world.deployment.agent("files"), replica.agent("files")];
    for round in 0..3 {
        agents[round % 2]
            .call(&Http::new().expect("a client"), "list_directory", &arguments)
            .expect("an answer");
        answers(&person, "once");

        let racing: Vec<_> = (0..12)
            .map(|caller| {
                let (agent, arguments) = (agents[caller % 2].clone(), arguments.clone());
                std::thread::spawn(move || {
                    let http = Http::new().expect("a client");
                    agent.call(&http, "list_directory", &arguments).expect("an answer").text()
                })
            })
            .collect();
        let texts: Vec<String> = racing.into_iter().map(|thread| thread.join().expect("no panic")).collect();

        let listed = texts.iter().filter(|text| text.contains("hello.txt")).count();
        assert_eq!(listed, 1, "round {round}: {texts:?}");
        // Of those that came too late some found it gone, and some asked a person anew.
        for line in person.open().expect("the command runs") {
            let hold = line.split('\t').next().expect("a line begins with the hold");
            person.answers(hold, "deny").expect("answered");
        }
    }
}
