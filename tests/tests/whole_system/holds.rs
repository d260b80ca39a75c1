//! Held calls, from agents that wait, give up and come again, to the person who answers on the command line.

use super::world::World;
use counterfoil_tests::deployment::counterfoil;
use counterfoil_tests::foreign::Language;
use counterfoil_tests::mcp::{Http, Want};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long this world's gateway keeps a call waiting.
const WAIT_MS: u32 = 3_000;

fn world() -> World {
    let mut world = World::start();
    let path = world.deployment.folder().join("gateway.toml");
    let config = std::fs::read_to_string(&path).expect("a configuration");
    std::fs::write(&path, config.replace("wait_ms = 0", &format!("wait_ms = {WAIT_MS}"))).expect("written");
    world.deployment.gateway.take().expect("it runs").kill().expect("killed");
    world.deployment.start_gateway().expect("a gateway");
    world
}

/// Somebody at the console of the machine.
struct Person(PathBuf);

impl Person {
    fn of(world: &World) -> Self {
        Self(world.deployment.folder().to_owned())
    }

    fn says(&self, words: &[&str]) -> String {
        let said = counterfoil(words, &[("--dir", &self.0)]).expect("the command runs");
        String::from_utf8(said).expect("text")
    }

    /// The one hold that is open, once there is one.
    fn open(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(hold) = self.says(&["holds", "list"]).split('\t').next().filter(|id| !id.is_empty()) {
                return hold.to_owned();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("nothing is held");
    }

    fn answers(&self, hold: &str, word: &str) {
        let shown = self.says(&["holds", "show", hold]);
        let card = shown.lines().find_map(|line| line.strip_prefix("card      sha256:")).expect("a card");
        self.says(&["holds", "answer", hold, word, "--card", &format!("sha256:{card}")]);
    }
}

fn listing(world: &World) -> String {
    json!({"path": world.files()}).to_string()
}

// Upholds G5: a client that gives up after five seconds gets its result by repeating the call after the approval.
#[test]
fn a_client_that_gave_up_gets_its_result_by_repeating_the_call() {
    let world = world();
    let (person, http) = (Person::of(&world), Http::new().expect("a client"));
    let agent = world.deployment.agent("files");
    let arguments = listing(&world);
    let request = agent.request(&http, "list_directory", &arguments, Want::Reference);
    assert!(http.send(request.timeout(Duration::from_millis(2_000))).is_err(), "it was to give up");

    person.answers(&person.open(), "once");
    let answer = agent.call(&http, "list_directory", &arguments).expect("an answer");

    assert!(answer.says().expect("a text").contains("hello.txt"), "{}", answer.text());
    assert_eq!(answer.receipt().expect("a receipt")["verdict"], "ALLOW");
    assert!(person.says(&["holds", "list"]).is_empty());
    assert!(world.every_receipt_verifies() > 5);
}

// Upholds G5: whoever repeats a call that is held is asked about once.
#[test]
fn repeats_of_a_call_that_is_open_join_one_question() {
    let world = World::start();
    let replica = world.deployment.replica().expect("a second of each");
    let (person, http) = (Person::of(&world), Http::new().expect("a client"));
    let arguments = listing(&world);
    for agent in [world.deployment.agent("files"), replica.agent("files"), world.deployment.agent("files")] {
        let answer = agent.call(&http, "list_directory", &arguments).expect("an answer");
        assert!(answer.says().expect("a text").contains("repeat the identical call"), "{}", answer.text());
    }

    assert_eq!(person.says(&["holds", "list"]).lines().count(), 1);
}

// Upholds G5: one answer, one dispatch, whoever races.
#[test]
fn racing_repeats_of_an_approved_call_dispatch_once() {
    let world = world();
    let person = Person::of(&world);
    let arguments = listing(&world);
    let files = world.deployment.agent("files");
    let http = Http::new().expect("a client");
    files.call(&http, "list_directory", &arguments).expect("an answer");
    person.answers(&person.open(), "once");

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
    let person = Person::of(&world);
    let arguments = listing(&world);
    let agents = [world.deployment.agent("files"), replica.agent("files")];
    for round in 0..3 {
        agents[round % 2]
            .call(&Http::new().expect("a client"), "list_directory", &arguments)
            .expect("an answer");
        person.answers(&person.open(), "once");

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
        // Those that came too late asked a person anew.
        person.answers(&person.open(), "deny");
    }
}

// Upholds G5, G6: unmodified clients wait, get approved, get denied, and read what to do when nobody answers.
#[test]
fn unmodified_clients_wait_for_a_person() {
    let world = world();
    for language in Language::BOTH {
        let approved = waits(&world, language, Some("once"));
        assert!(text(&approved).contains("hello.txt"), "{language:?}: {approved}");

        let denied = waits(&world, language, Some("deny"));
        assert_eq!(denied["isError"], true, "{language:?}");
        assert!(text(&denied).contains("a person said no"), "{language:?}: {denied}");
    }
    let unanswered = waits(&world, Language::Node, None);
    assert_eq!(unanswered["isError"], true);
    assert!(text(&unanswered).contains("repeat the identical call"), "{unanswered}");
}

/// One call of the client, and what the person says to it while it waits.
fn waits(world: &World, language: Language, word: Option<&str>) -> Value {
    let plan = json!({
        "url": world.deployment.mcp_url("files"),
        "key": world.deployment.api_key,
        "calls": { "held": { "tool": "list_directory", "arguments": { "path": world.files() } } },
    });
    let running = std::thread::spawn(move || language.run("client", &plan).expect("the client runs"));
    if let Some(word) = word {
        let person = Person::of(world);
        person.answers(&person.open(), word);
    }
    running.join().expect("no panic")["answers"]["held"]["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
