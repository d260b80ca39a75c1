//! Who is not known learns nothing.

use super::world::World;
use counterfoil_core::statement::{Statement, Verdict};
use counterfoil_tests::mcp::{Agent, Want};

// Upholds T3, T1.
#[test]
fn no_key_and_an_unknown_key_get_the_same_answer() {
    let world = World::start();
    let (http, url) = (&world.deployment.http, world.deployment.mcp_url("scripted"));
    let unknown = format!("cfk_{}", "A".repeat(43));

    let answers: Vec<_> = ["", "nonsense", &unknown]
        .iter()
        .map(|key| Agent::new(url.clone(), key).call(http, "echo", "{}").expect("an answer"))
        .collect();

    for answer in &answers {
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert_eq!(answer.body, answers[0].body);
    }
    assert_eq!(world.provider_log().len(), 0);
}

// Upholds T1.
#[test]
fn a_provider_that_is_not_there_is_not_found() {
    let world = World::start();

    let answer =
        world.deployment.agent("nothing").call(&world.deployment.http, "echo", "{}").expect("an answer");

    assert_eq!(answer.status, 404, "{}", answer.text());
}

// Upholds T11: a refusal under a valid key is one DENY, and never an ALLOW.
#[test]
fn a_foreign_host_or_origin_is_refused_everywhere() {
    let world = World::start();
    let http = &world.deployment.http;
    let before = world.chain().links.len();
    let urls = [
        world.deployment.mcp_url("scripted"),
        format!("{}{}", world.deployment.evidence_url(), world.deployment.page()),
    ];

    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        for url in &urls {
            let agent = Agent::new(url.clone(), &world.deployment.api_key);
            let request = agent.request(http, "echo", "{}", Want::Reference).header(name, value);
            let answer = http.send(request).expect("an answer");
            assert_eq!(answer.status, 403, "{name} {value} at {url}: {}", answer.text());
        }
    }

    let chain = world.chain();
    for link in &chain.links[before..] {
        match &link.statement {
            Statement::Decision(decision) => assert_eq!(decision.verdict, Verdict::Deny),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.provider_log().len(), 0);
}
