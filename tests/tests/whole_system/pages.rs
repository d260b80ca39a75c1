//! What a page shows of calls that were full of somebody's data: nothing of it.

use super::world::{World, action_of};
use counterfoil_tests::foreign::Language;
use serde_json::{Value, json};

/// In arguments, in a noun, in results, in errors, in what a provider says while it works.
const MARK: &str = "MARKED-ann-7f3a91";

// Upholds T4, P9: every public byte of the project, after calls of every outcome.
#[test]
fn marked_personal_data_reaches_no_public_byte() {
    let world = World::start();
    let (http, scripted, files) =
        (&world.deployment.http, world.deployment.agent("scripted"), world.deployment.agent("files"));
    let marked = json!({ "path": format!("/{MARK}"), "amount": MARK }).to_string();
    std::fs::write(world.file(MARK), format!("{MARK} is in it")).expect("a file");
    let noun = json!({ "path": world.file(MARK) }).to_string();
    let calls =
        ["echo", "slow", "fails", "refuses", "nobody-lists-this"].map(|tool| (&scripted, tool, &marked));
    let nouns = ["read_text_file", "write_file", "list_directory"].map(|tool| (&files, tool, &noun));
    let mut said = String::new();
    let mut actions = Vec::new();
    for (agent, tool, arguments) in calls.into_iter().chain(nouns) {
        let answer = agent.call(http, tool, arguments).expect("an answer");
        said.push_str(&answer.text());
        actions.push(action_of(&answer.receipt().expect("a reference")));
    }
    assert!(said.matches(MARK).count() >= 5, "the marks came back to the agent: {said}");

    let base = format!("{}{}", world.deployment.evidence_url(), world.deployment.page());
    let mut below: Vec<String> = [
        "",
        ".json",
        "?from=2020-01-01",
        ".json?from=2020-01-01",
        "/entries.json",
        "/jwks.json",
        "/checkpoint",
    ]
    .map(str::to_owned)
    .to_vec();
    below.extend(actions.iter().flat_map(|action| [format!("/a/{action}"), format!("/a/{action}.json")]));
    below.extend((0..world.chain().links.len()).map(|seq| format!("/receipts/{seq}")));
    let folder = world.files().display().to_string();
    for path in &below {
        let answer = http.get(&format!("{base}{path}"), None).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        for hidden in [MARK, &folder] {
            assert!(!answer.text().contains(hidden), "{path} has {hidden}: {}", answer.text());
        }
    }
}

// Upholds P10: a parser that is not ours, and forgives nothing, reads every kind of page.
#[test]
fn every_page_is_read_by_a_strict_parser_that_is_not_ours() {
    let world = World::start();
    let http = &world.deployment.http;
    let mut actions = Vec::new();
    for tool in ["echo", "fails", "refuses"] {
        let answer = world.deployment.agent("scripted").call(http, tool, "{}").expect("an answer");
        actions.push(action_of(&answer.receipt().expect("a reference")));
    }
    let base = format!("{}{}", world.deployment.evidence_url(), world.deployment.page());
    let mut urls = vec![base.clone(), format!("{base}?from=2020-01-01&below=5&calls=9&findings=3")];
    urls.extend(actions.iter().map(|action| format!("{base}/a/{action}")));

    let pages: Vec<String> = urls.iter().map(|url| http.get(url, None).expect("a page").text()).collect();
    let read = Language::Python.run("pages", &json!({ "pages": pages })).expect("the parser runs");

    assert_eq!(read["errors"], Value::Array(vec![Value::Null; urls.len()]), "{urls:?}");
}
