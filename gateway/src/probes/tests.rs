//! P10, C1: what providers do with capabilities that must be refused is told, of tools that are marked and of no other.

use crate::testing::World;
use counterfoil_core::probe::{OF_A_GATEWAY, ToldProbe};
use counterfoil_core::statement::ProbeOutcome;
use serde_json::Value;
use std::time::Duration;

/// A world that probes at once, whose registry marks this tool.
async fn probing(tool: &str, change: impl Fn(&mut String)) -> World {
    let soon = |config: &mut crate::Config| {
        config.probes = crate::config::ProbesConfig { hours: 24, first_after_seconds: 1 };
    };
    let world = World::with(soon).await;
    let head = format!("[provider.notes.tool.{tool}]\n");
    world.publish(|documents| {
        documents.registry = documents.registry.replace(&head, &format!("{head}harmless = true\n"));
        change(&mut documents.registry);
    });
    world
}

async fn told(world: &World) -> ToldProbe {
    for _ in 0..1000 {
        if let Some(told) = world.ledger.lock().probes.first() {
            return told.clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no probe was told");
}

fn outcomes(told: &ToldProbe) -> Vec<ProbeOutcome> {
    told.cases.iter().map(|tried| tried.outcome).collect()
}

#[tokio::test]
async fn every_case_is_tried_once_and_leaves_no_decision() {
    let world = probing("guarded", |_| {}).await;

    let told = told(&world).await;

    assert_eq!(outcomes(&told), [ProbeOutcome::Refused; 16]);
    assert_eq!(told.cases.iter().map(|tried| tried.case).collect::<Vec<_>>(), OF_A_GATEWAY);
    assert_eq!((told.provider.as_str(), told.tool.as_str()), ("notes", "guarded"));
    assert!(world.decisions().is_empty());
    let calls = world.provider_log();
    assert_eq!(calls.len(), 16);
    for call in calls {
        let call: Value = serde_json::from_str(&call).expect("JSON");
        assert_eq!(call["name"], "guarded");
    }
}

#[tokio::test]
async fn a_provider_that_looks_at_nothing_is_told_with_each_case_that_passed() {
    let world = probing("note_read", |_| {}).await;

    assert_eq!(outcomes(&told(&world).await), [ProbeOutcome::Passed; 16]);
}

#[tokio::test]
async fn an_error_that_is_no_refusal_counts_for_nothing() {
    let world = probing("fail", |_| {}).await;

    assert_eq!(outcomes(&told(&world).await), [ProbeOutcome::Unclear; 16]);
}

#[tokio::test]
async fn a_provider_that_dies_half_way_is_not_asked_on_and_not_taken_for_a_refusal() {
    let world = probing("die", |_| {}).await;

    assert_eq!(outcomes(&told(&world).await), [ProbeOutcome::Unclear]);
}

// C1: capabilities go to providers that are obliged to look at them, and to nobody else.
#[tokio::test]
async fn a_provider_that_demands_none_is_called_once_and_without_one() {
    let world = probing("note_read", |registry| {
        *registry = registry.replace("capability = true", "capability = false")
    })
    .await;

    assert_eq!(outcomes(&told(&world).await), [ProbeOutcome::Passed]);
    assert!(!world.provider_log()[0].contains("dev.counterfoil/capability"));
}

#[tokio::test]
async fn nothing_is_called_that_is_not_marked_or_not_as_it_is_pinned_or_killed() {
    let unmarked = probing("no_such", |_| {}).await;
    let changed = probing("note_read", |_| {}).await;
    changed.twist();
    let killed = probing("note_read", |_| {}).await;
    killed.ledger.change(|snapshot| (snapshot.killed, snapshot.generation) = (true, 1));

    tokio::time::sleep(Duration::from_secs(3)).await;

    for world in [unmarked, changed, killed] {
        assert!(world.ledger.lock().probes.is_empty());
        assert!(world.provider_log().is_empty());
    }
}

// A prober that ends half way tells nothing, and the next one begins anew.
#[tokio::test]
async fn a_gateway_that_stops_half_way_tells_nothing() {
    let mut world = probing("slow", |_| {}).await;
    for _ in 0..500 {
        if !world.provider_log().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    world.stop().await;

    assert_eq!(world.provider_log().first().map(String::is_empty), Some(false), "it had begun");
    assert!(world.ledger.lock().probes.is_empty());
}
