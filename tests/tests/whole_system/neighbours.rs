//! A provider that misbehaves costs its own tools and nobody else's; one whose words change convinces nobody.

use super::moods::{Moods, tools};
use counterfoil_tests::mcp::{Agent, Http};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const GOOD: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
const BAD: [(&str, &str); 4] = [("gone", "dead"), ("mute", "hung"), ("loud", "flooding"), ("liar", "lying")];
const TEXT: &str = r#"{"text":"hello"}"#;
/// Answers take milliseconds; this is for a machine that does much else. The ceiling of a call is three seconds.
const SOON: Duration = Duration::from_secs(3);

// Upholds G2.
#[test]
fn of_ten_providers_one_dead_one_hung_one_flooding_one_lying_the_other_six_answer_as_before() {
    let ids: Vec<&str> = GOOD.into_iter().chain(BAD.map(|(id, _)| id)).collect();
    let mut moods = Moods::start(&ids);
    let http = Http::new().expect("a client");
    let shown = tools(&moods.everywhere(), &http);
    let before = six_answer(&moods, &http);
    assert_eq!(shown.as_array().map(Vec::len), Some(10));
    for (id, _) in BAD {
        assert_eq!(
            echo(&moods.deployment.agent(id), &http, "echo")["content"][0]["text"],
            format!("{id}: hello")
        );
    }

    // They turn while each of them has a call.
    for (id, mood) in BAD {
        moods.turn(id, mood);
    }
    let calls = BAD.map(|(id, _)| {
        let agent = moods.deployment.agent(id);
        std::thread::spawn(move || echo(&agent, &Http::new().expect("a client"), "echo"))
    });
    let meanwhile = six_answer(&moods, &http);
    let ends = calls.map(|call| call.join().expect("an answer"));

    assert_eq!(meanwhile, before);
    for ((id, _), end) in BAD.iter().zip(&ends) {
        assert_eq!(end["isError"], true, "{id}: {end}");
        assert!(!end.to_string().contains("a lie"), "{id}: {end}");
    }

    // And from their first word on.
    moods.restart_gateway();
    let http = Http::new().expect("a client without connections to the old gateway");
    let list = moods.everywhere().list(&http).expect("an answer").json().expect("JSON");

    assert_eq!(names(&list["result"]["tools"]), names_of(&GOOD), "{list}");
    let away = &list["result"]["_meta"]["dev.counterfoil/away"];
    assert!(["gone", "mute", "loud"].iter().all(|id| away[id].is_string()), "{away}");
    assert_eq!(six_answer(&moods, &http), before);
    let held = echo(&moods.deployment.agent("liar"), &http, "echo");
    assert_eq!(held["_meta"]["dev.counterfoil/receipt"]["verdict"], "STEP_UP", "{held}");
}

// Upholds G2.
#[test]
fn a_description_that_changes_between_two_lists_reaches_no_client_and_its_tool_is_held() {
    let moods = Moods::start(&["one"]);
    let http = Http::new().expect("a client");
    let (alone, everywhere) = (moods.deployment.agent("one"), moods.everywhere());
    let before = [tools(&alone, &http), tools(&everywhere, &http)];
    moods.turn("one", "turned");
    // Its answer comes with the news that the list changed.
    assert_ne!(echo(&alone, &http, "echo")["isError"], true);

    // The news stood before the answer in the same pipe, so it was read.
    let after = [tools(&alone, &http), tools(&everywhere, &http)];
    let held = [echo(&alone, &http, "echo"), echo(&everywhere, &http, "one__echo")];

    assert_eq!(before[0][0]["description"], "Echoes, as one.");
    assert_eq!(after, before);
    for held in held {
        assert_eq!(held["_meta"]["dev.counterfoil/receipt"]["verdict"], "STEP_UP", "{held}");
        let seq = held["_meta"]["dev.counterfoil/receipt"]["seq"].as_u64().expect("a place");
        let receipt = moods.deployment.receipt(seq).expect("a receipt");
        let receipt: Value = serde_json::from_slice(&receipt).expect("JSON");
        assert_eq!(receipt["statement"]["payload"]["reason"], "definition_changed");
    }
    let change = until_shown(&moods);
    let words = |sign: &str| {
        let lines = change["lines"].as_array().expect("lines").iter().filter(|line| line["sign"] == sign);
        lines.map(|line| line["text"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(words("-"), ["description = Echoes, as one."], "{change}");
    assert!(words("+").iter().all(|line| line.starts_with("description = ")) && !words("+").is_empty());
}

/// What the page says of the one tool that changed; the gateway tells it behind its answer.
fn until_shown(moods: &Moods) -> Value {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let page: Value = moods.deployment.page_json().expect("a page");
        if page["changes"].as_array().is_some_and(|changes| !changes.is_empty()) {
            return page["changes"][0].clone();
        }
        assert!(Instant::now() < deadline, "the page shows no change: {page}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What each of the six lists and says, at its own address and at that of all.
fn six_answer(moods: &Moods, http: &Http) -> Vec<Value> {
    let everywhere = moods.everywhere();
    let answers = GOOD.map(|id| {
        let alone = moods.deployment.agent(id);
        let began = Instant::now();
        let listed = tools(&alone, http);
        let said = [echo(&alone, http, "echo"), echo(&everywhere, http, &format!("{id}__echo"))];
        let words = said.map(|said| said["content"].clone());
        assert_eq!(words[0][0]["text"], format!("{id}: hello"));
        (began.elapsed(), json!([listed, words]))
    });
    let slowest = answers.iter().map(|(took, _)| *took).max().unwrap_or_default();
    assert!(slowest < SOON, "the slowest took {slowest:?}");
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn echo(agent: &Agent, http: &Http, tool: &str) -> Value {
    agent.call(http, tool, TEXT).expect("an answer").json().expect("JSON")["result"].clone()
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<String> = tools.iter().filter_map(|t| Some(t["name"].as_str()?.to_owned())).collect();
    names.sort();
    names
}

fn names_of(ids: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = ids.iter().map(|id| format!("{id}__echo")).collect();
    names.sort();
    names
}
