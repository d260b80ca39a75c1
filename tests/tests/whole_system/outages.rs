//! With nothing to record a decision, nothing runs; afterwards everything does, without a gap or a fork.

use super::world::World;

const NOT_RECORDED: &str =
    "Not executed. The decision could not be recorded, so nothing was sent to the tool. Try again later.";

fn refuses(world: &World) {
    let sent = world.provider_log().len();
    for _ in 0..3 {
        let answer =
            world.deployment.agent("scripted").call(&world.deployment.http, "echo", "{}").expect("an answer");
        assert!(answer.is_error().expect("a result"), "{}", answer.text());
        assert_eq!(answer.says().expect("a text"), NOT_RECORDED);
    }
    assert_eq!(world.provider_log().len(), sent, "a call ran that nobody recorded");
}

fn runs(world: &World) {
    let before = world.provider_log().len();
    let answer =
        world.deployment.agent("scripted").call(&world.deployment.http, "echo", "{}").expect("an answer");
    assert!(!answer.is_error().expect("a result"), "{}", answer.text());
    assert_eq!(world.provider_log().len(), before + 1);
    world.chain();
}

// Upholds G4.
#[test]
fn without_the_database_nothing_runs_and_afterwards_the_chain_goes_on() {
    let mut world = World::start();
    runs(&world);

    world.deployment.postgres.kill().expect("stopped");
    refuses(&world);

    world.deployment.postgres.restart().expect("started");
    world.deployment.until_ready().expect("ready");
    runs(&world);
}

// Upholds G4.
#[test]
fn without_the_evidence_service_nothing_runs_and_afterwards_the_chain_goes_on() {
    let mut world = World::start();
    runs(&world);

    world.deployment.evidence.take().expect("runs").stop().expect("stopped");
    refuses(&world);

    world.deployment.start_evidence().expect("started");
    world.deployment.until_ready().expect("ready");
    runs(&world);
}

// Upholds G4: no acknowledgement, no call; a decision that is committed afterwards all the same was never sent.
#[test]
fn while_the_evidence_service_is_paused_nothing_runs() {
    let mut world = World::start();
    runs(&world);

    let evidence = world.deployment.evidence.as_ref().expect("runs");
    evidence.pause().expect("paused");
    let answer = world.deployment.agent("scripted").call(&world.deployment.http, "echo", "{}");
    assert_eq!(answer.expect("an answer").says().expect("a text"), NOT_RECORDED);
    assert_eq!(world.provider_log().len(), 1);

    evidence.resume().expect("resumed");
    world.deployment.until_ready().expect("ready");
    runs(&world);
    assert_eq!(world.provider_log().len(), 2, "what was refused ran later");
}
