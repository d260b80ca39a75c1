//! What each client makes of a call that a person has to answer.

use super::servers::Servers;
use counterfoil_tests::foreign::{Language, Rust};
use counterfoil_tests::person::Person;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the gateway keeps a call waiting that is answered, and one that is not; some clients come again eight times.
const ANSWERED_MS: u32 = 10_000;
const UNANSWERED_MS: u32 = 300;
/// Tools that nobody published, so that a call of one is a question; what the person says to it, and what the caller reads.
const ANSWERED: [(&str, &str); 2] = [("list_directory", "hello.txt"), ("get_file_info", "a person said no")];
const UNANSWERED: [(&str, &str); 1] = [("directory_tree", "repeat the identical call")];

// Upholds G5: every client waits, gets approved and gets the result; gets denied and reads why; is not answered and reads
// what to do.
#[test]
fn every_client_waits_for_a_person_and_reads_what_was_said() {
    let mut servers = Servers::start();
    let rust = Rust::build().expect("its own crates build");
    let mut faults = Vec::new();
    for (patience, calls) in [(ANSWERED_MS, &ANSWERED[..]), (UNANSWERED_MS, &UNANSWERED[..])] {
        servers.deployment.keep_waiting(patience).expect("a gateway");
        let clients = with_a_person(&servers, &rust, calls);
        println!("\nheld calls: {}", clients.keys().cloned().collect::<Vec<_>>().join(", "));
        faults.extend(clients.iter().flat_map(|(name, cells)| faults_of(name, cells, calls)));
        assert_eq!(clients.len(), 10);
    }

    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What every client got of every call, while somebody answers.
fn with_a_person(servers: &Servers, rust: &Rust, calls: &[(&str, &str)]) -> Map<String, Value> {
    let plan = json!({ "key": servers.deployment.api_key, "cells": cells(servers, calls) });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| answer_all(&Person::of(servers.deployment.folder()), &done));
        let programs = [Language::Node, Language::Python].map(|language| language.run("matrix", &plan));
        let said: Vec<_> = programs.into_iter().chain([rust.run(&plan)]).collect();
        done.store(true, Ordering::Release);
        let said = said.into_iter().map(|said| said.expect("the clients run"));
        said.flat_map(|said| said.as_object().expect("clients").clone()).collect()
    })
}

fn cells(servers: &Servers, calls: &[(&str, &str)]) -> Vec<Value> {
    let url = servers.deployment.mcp_url("files");
    let cell = |(tool, _): &(&str, &str)| json!({ "provider": tool, "url": url, "tool": tool, "arguments": { "path": servers.place() } });
    calls.iter().map(cell).collect()
}

/// Answers whatever waits, until the clients are done.
fn answer_all(person: &Person, done: &AtomicBool) {
    let words = [("list_directory", "once"), ("get_file_info", "deny")];
    let mut answered = HashSet::new();
    while !done.load(Ordering::Acquire) {
        for line in person.open().expect("the command runs") {
            let hold = line.split('\t').next().unwrap_or_default().to_owned();
            let word = words.iter().find(|(tool, _)| line.contains(tool)).map(|(_, word)| *word);
            if let (Some(word), true) = (word, answered.insert(hold.clone())) {
                person.answers(&hold, word).expect("answered");
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn faults_of(client: &str, cells: &Value, calls: &[(&str, &str)]) -> Vec<String> {
    let fault = |(tool, words): &(&str, &str)| {
        let text = cells[tool]["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let is_error = cells[tool]["result"]["isError"] == true;
        let holds = text.contains(words) && is_error != (*tool == "list_directory");
        (!holds).then(|| format!("{client}, {tool}: {}", cells[tool]))
    };
    calls.iter().filter_map(fault).collect()
}
