//! Rules that ask what a session did, with two of everything.

use super::crowd::is_clean;
use super::world::World;
use counterfoil_tests::mcp::Http;

const FIVE: &str = r#"
@id("five-a-session")
forbid (principal, action, resource) when { context.session.cleared >= 5 };
"#;

// Upholds G13: whoever races, over whichever gateway, gets no more than the rules give to one session.
#[test]
fn two_gateways_give_one_key_no_more_than_its_session_may() {
    let world = World::start();
    let replica = world.deployment.replica().expect("a second of each");
    let agents = [world.deployment.agent("scripted"), replica.agent("scripted")];
    world.deployment.publish_rules(&(world.rules() + FIVE)).expect("published");

    let verdicts: Vec<String> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|caller| {
                let agent = agents[caller % 2].clone();
                scope.spawn(move || {
                    let http = Http::new().expect("a client");
                    let said = |_| {
                        let answer = agent.call_for_receipt(&http, "echo", "{}").expect("an answer");
                        // A call that was overtaken too often was not recorded, and says so.
                        let receipt = answer.receipt().expect("JSON");
                        let statement = &receipt["receipt"]["statement"]["payload"];
                        statement["verdict"].as_str().unwrap_or("unrecorded").to_owned()
                    };
                    (0..4).map(said).collect::<Vec<_>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect()
    });

    let count = |verdict: &str| verdicts.iter().filter(|said| *said == verdict).count();
    assert_eq!((count("ALLOW"), verdicts.len()), (5, 32), "{verdicts:?}");
    assert!(count("DENY") > 20, "{verdicts:?}");
    assert_eq!(world.provider_log().len(), 5);
    is_clean(&world);
}
