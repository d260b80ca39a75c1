//! P4: once, whoever compares, however often, and whoever dies in between.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::statement::{ObservationStatus, Outcome};

use super::packed::assert_complete;
use super::world::{World, value};
use crate::clock;
use crate::reconciliation::follow;
use crate::reconciliation::terms::Registries;
use crate::reconciliation::turn::{self, Left};
use crate::setup::{Which, open_ledger};

/// Calls in pairs: one that agrees, one whose gateway forwarded something else. Under the real clock.
async fn calls(world: &mut World, pairs: usize) {
    for _ in 0..pairs {
        for forwarded in ["args", "other"] {
            world.now = clock::now();
            let call = world.allow().await;
            world.observe(world.observation(call, ObservationStatus::Returned)).await;
            let mut said = world.execution(call, Outcome::Executed);
            said.args = Some(value(forwarded));
            world.state(said).await;
        }
    }
}

async fn assert_each_was_found_once(world: &World, pairs: usize) {
    let found = world.findings().await;
    assert_eq!(found.iter().filter(|(code, _)| code == "ARGUMENTS_DIFFER").count(), pairs);
    assert_eq!(found.len(), pairs);
    world.assert_sums().await;
    assert_complete(world, Some(600_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_services_that_compare_one_project_find_everything_once() {
    let mut world = World::new().await;
    let services = [open_ledger(&world.config).await.unwrap(), open_ledger(&world.config).await.unwrap()];
    let project = world.id();
    let (stop, stopped) = tokio::sync::watch::channel(());
    let racing = services.map(|ledger| {
        let stopped = stopped.clone();
        tokio::spawn(async move {
            let (mut registries, mut given_up) = (Registries::default(), 0);
            while stopped.has_changed().is_ok() {
                match turn::take(&ledger, project, &mut registries, clock::now()).await {
                    Ok(Left::More | Left::Little) => {}
                    Ok(Left::Nothing { .. }) => tokio::task::yield_now().await,
                    Err(_) => given_up += 1,
                }
            }
            given_up
        })
    });

    calls(&mut world, 40).await;
    drop(stop);
    for race in racing {
        race.await.unwrap();
    }
    while world.take().await == Left::More {}

    assert_each_was_found_once(&world, 40).await;
}

/// A turn that stops at any of its steps left nothing, or everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_that_dies_at_any_moment_neither_loses_nor_repeats() {
    let mut world = World::new().await;
    calls(&mut world, 20).await;
    let mut died = 0;
    for micros in (0..).step_by(1500) {
        let ledger = Arc::clone(&world.ledger);
        let turn = turn::take(&ledger, world.project.id, &mut world.registries, clock::now());
        match tokio::time::timeout(Duration::from_micros(micros), turn).await {
            Err(_) => died += 1,
            Ok(Ok(Left::Nothing { .. })) => break,
            Ok(Ok(Left::More | Left::Little)) => calls(&mut world, 1).await,
            // A lock that a dead one still holds for a moment.
            Ok(Err(_)) => {}
        }
        world.registries = Registries::default();
        if died > 3 && micros > 60_000 {
            while world.take().await == Left::More {}
            break;
        }
    }

    assert!(died > 3, "{died}");
    let found = world.findings().await;
    assert_each_was_found_once(&world, found.len()).await;
    assert!(found.len() >= 20);
}

/// T8: a project with much to compare keeps no other one waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flood_in_one_project_does_not_keep_another_waiting() {
    let mut flooded = World::new().await;
    flooded.now = clock::now();
    let stranger = super::world::fresh();
    let call = flooded.allow().await;
    let mut bodies = Vec::new();
    for _ in 0..3000 {
        bodies.push(flooded.wrapped(flooded.execution(call, Outcome::Failed), &stranger));
    }
    for some in bodies.chunks(200) {
        flooded.enter_all(some.to_vec()).await;
    }
    let mut other = World::new().await;
    calls(&mut other, 1).await;
    let ledger = open_ledger(&other.config).await.unwrap();
    let following = tokio::spawn(follow(ledger));

    while other.findings().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let upto = flooded.upto().await;
    following.abort();

    assert!(upto < 3000, "the other project waited for {upto} entries of the flood");
}

/// A person's note changes nothing but that there is one.
#[tokio::test(flavor = "multi_thread")]
async fn a_resolution_is_a_note_and_hides_nothing() {
    let mut world = World::new().await;
    calls(&mut world, 1).await;
    while world.take().await == Left::More {}
    let [before] = world.setup.findings(world.id(), u64::MAX, 10).await.unwrap().try_into().unwrap();
    let which = Which::Digest(before.digest);

    let first = world.setup.resolve_finding(world.id(), which, "Looked at", "operator-1").await.unwrap();
    let again =
        world.setup.resolve_finding(world.id(), Which::Entry(before.seq), "A retry", "operator-1").await;
    while world.take().await == Left::More {}

    let [after] = world.setup.findings(world.id(), u64::MAX, 10).await.unwrap().try_into().unwrap();
    assert_eq!((after.seq, after.cleared), (before.seq, None));
    assert_eq!(after.resolved, Some(again.unwrap()));
    assert!(after.resolved > Some(first));
    assert_each_was_found_once(&world, 1).await;
    let personal = world.setup.resolve_finding(world.id(), which, "ask jo@example.com", "operator-1").await;
    assert!(personal.unwrap_err().to_string().contains("without an address"));
    let unknown = world.setup.resolve_finding(world.id(), Which::Entry(0), "No", "operator-1").await;
    assert!(unknown.unwrap_err().to_string().contains("is no finding"));
}
