//! What passes through is not rewritten, and what has two readings is not passed.

use super::world::{World, action_of};
use counterfoil_core::statement::Statement;

/// As the scripted provider writes it; it is not canonical on purpose.
const ODD: &str = concat!(
    r#""content":[{"type":"text","text":"ok","annotations":{"x":[1.0,1e2]},"unknownInBlock":123456789012345678901234567890}],"#,
    r#""structuredContent":{"amount":123456789012345678901234567890,"price":1.50,"tiny":1E-2,"z":1,"a":2},"#,
    r#""isError":false,"unknownAtTop":{"deep":[{"n":-0.0},"\u00e9\/"]}"#
);

#[test]
fn unknown_fields_and_big_numbers_in_a_result_survive_byte_for_byte() {
    let world = World::start();

    let answer =
        world.deployment.agent("scripted").call(&world.deployment.http, "odd", "{}").expect("an answer");

    assert_eq!(answer.status, 200);
    assert!(answer.text().contains(ODD), "{}", answer.text());
}

// Upholds P8: an argument that two readers read differently is bound to nothing.
#[test]
fn an_argument_without_one_reading_is_denied_with_its_path() {
    let world = World::start();
    let agent = world.deployment.agent("scripted");
    let cases = [
        (r#"{"amount":123456789012345678901234567890}"#, "$.amount"),
        (r#"{"path":"a","path":"b"}"#, "$.path"),
        (r#"{"deep":[{"a":"\ud800"}]}"#, "$.deep[0].a"),
    ];

    for (arguments, path) in cases {
        let answer = agent.call_for_receipt(&world.deployment.http, "echo", arguments).expect("an answer");

        let body = answer.json().expect("JSON");
        assert_eq!(body["error"]["code"], -32602, "{body}");
        assert!(body["error"]["data"]["path"].as_str().is_some_and(|p| p.ends_with(&path[1..])), "{body}");
        let receipt = answer.receipt().expect("a receipt");
        let payload = &receipt["receipt"]["statement"]["payload"];
        assert_eq!((&payload["verdict"], &payload["reason"]), (&"DENY".into(), &"not_bindable".into()));
        assert!(payload["args"].is_null());
        world.receipt_verifies(&receipt["receipt"]);
    }
    assert_eq!(world.provider_log().len(), 0, "a call that could not be bound reached the provider");
}

#[test]
fn arguments_reach_the_provider_as_they_were_sent() {
    let world = World::start();
    // Spaces, escapes, a fraction and members out of order.
    let arguments = r#"{ "path" : "\u00e9\/x" , "amount":1.50,"z":1,"a":[ 1e2 ]}"#;

    world.deployment.agent("scripted").call(&world.deployment.http, "echo", arguments).expect("an answer");

    let log = std::fs::read_to_string(world.files().parent().expect("a folder").join("scripted.log"))
        .expect("a log");
    assert!(log.contains(arguments), "{log}");
}

// Upholds G4: a failure afterwards is recorded against the same action, and nothing is retried.
#[test]
fn every_outcome_of_a_call_is_observed_once() {
    let world = World::start();
    let agent = world.deployment.agent("scripted");
    let expected = [("echo", "returned"), ("fails", "returned"), ("refuses", "error")];

    let actions = expected.map(|(tool, _)| {
        let answer = agent.call(&world.deployment.http, tool, "{}").expect("an answer");
        action_of(&answer.receipt().expect("a reference"))
    });

    // Observations ride in a later batch.
    let observed = |world: &World| {
        let chain = world.chain();
        let status = |action| {
            let seen = chain.links.iter().filter_map(|link| match &link.statement {
                Statement::Observation(o) if o.action == action => Some(o.status.to_string()),
                _ => None,
            });
            seen.collect::<Vec<_>>()
        };
        actions.map(status)
    };
    let wanted = expected.map(|(_, status)| vec![status.to_owned()]);
    for _ in 0..100 {
        if observed(&world) == wanted {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(observed(&world), wanted);
    assert_eq!(world.provider_log().len(), 3, "a call was sent more than once");
}
