//! P4: honest traffic raises nothing, however it is interleaved, and what nobody signs is counted as that.

use counterfoil_core::statement::{ObservationStatus, Outcome, Verdict};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::packed::assert_complete;
use super::world::{Call, World};

/// How a call ends when nobody lies: what the gateway sees, whether as an error, and what the provider signs.
type End = (ObservationStatus, bool, &'static [Outcome]);

fn honest_ends() -> Vec<End> {
    use ObservationStatus as Saw;
    use Outcome::{Abandoned, Blocked, Escalated, Executed, Failed, NotAttempted, Skipped};
    vec![
        (Saw::Returned, false, &[Executed]),
        (Saw::Returned, false, &[Abandoned, Executed]),
        (Saw::Returned, true, &[Failed]),
        (Saw::Returned, true, &[Blocked]),
        (Saw::Timeout, false, &[Executed]),
        (Saw::Timeout, false, &[Abandoned]),
        (Saw::Cancelled, false, &[Abandoned, Executed]),
        (Saw::Cancelled, false, &[Skipped]),
        (Saw::Error, false, &[Failed]),
        (Saw::Error, false, &[]),
        (Saw::Refused, false, &[Blocked]),
        (Saw::NotSent, false, &[]),
        (Saw::NotSent, false, &[NotAttempted]),
        (Saw::Asked, false, &[]),
        (Saw::Asked, false, &[Escalated]),
    ]
}

#[derive(Clone, Debug)]
struct Plan {
    end: End,
    /// Streamed, uncomparable or oversized: the gateway, or the provider, has no result to compare.
    ours: bool,
    theirs: bool,
    /// The last statement comes again so many times.
    retries: usize,
}

fn plan() -> impl Strategy<Value = Plan> {
    (select(honest_ends()), any::<bool>(), any::<bool>(), 0..3usize)
        .prop_map(|(end, ours, theirs, retries)| Plan { end, ours, theirs, retries })
}

/// One call under way, and what is still to be said of it.
struct Under {
    call: Call,
    plan: Plan,
    observed: bool,
    said: usize,
}

impl Under {
    fn is_over(&self) -> bool {
        self.observed && self.said >= self.statements()
    }

    fn statements(&self) -> usize {
        let outcomes = self.plan.end.2.len();
        if outcomes == 0 { 0 } else { outcomes + self.plan.retries }
    }

    /// Says the next thing; `observation_first` where both are still to come.
    async fn step(&mut self, world: &World, observation_first: bool) {
        let all_said = self.said >= self.statements();
        if !self.observed && (observation_first || all_said) {
            let (status, is_error, _) = self.plan.end;
            let mut seen = world.observation(self.call, status);
            seen.is_error = (status == ObservationStatus::Returned).then_some(is_error);
            seen.result = seen.result.filter(|_| self.plan.ours && !is_error);
            world.observe(seen).await;
            self.observed = true;
        } else if !all_said {
            let outcomes = self.plan.end.2;
            let outcome = outcomes[self.said.min(outcomes.len() - 1)];
            let mut said = world.execution(self.call, outcome);
            said.result = said.result.filter(|_| self.plan.theirs);
            world.state(said).await;
            self.said += 1;
        }
    }
}

/// Concurrent, retried, slow, cancelled, streamed, uncomparable: whatever is compared when, nothing is found, and the
/// sums are right after every comparison.
#[tokio::test(flavor = "multi_thread")]
async fn honest_traffic_in_any_interleaving_raises_nothing() {
    let mut world = World::new().await;
    let mut runner = TestRunner::default();
    let moves = prop::collection::vec((0..6usize, any::<bool>(), 0..20_000i64, 0..4u8), 60);
    for _ in 0..12 {
        let plans = prop::collection::vec(plan(), 1..6).new_tree(&mut runner).unwrap().current();
        let moves = moves.new_tree(&mut runner).unwrap().current();
        let mut under = Vec::new();
        for plan in &plans {
            let call = world.allow().await;
            under.push(Under { call, plan: plan.clone(), observed: false, said: 0 });
        }
        for (which, observation_first, millis, compare) in moves {
            under.retain(|call| !call.is_over());
            let Some(at) = under.len().checked_sub(1).map(|last| which.min(last)) else { break };
            world.wait(millis / 2);
            under[at].step(&world, observation_first).await;
            if compare == 0 {
                world.compare().await;
                world.assert_sums().await;
            }
        }
        for call in &mut under {
            while !call.is_over() {
                call.step(&world, true).await;
            }
        }
        world.compare().await;
        assert_eq!(world.findings().await, [], "{plans:?}");
    }
    world.wait(2 * 3_600_000);
    world.compare().await;
    world.allow().await;
    world.compare().await;

    assert_eq!(world.findings().await, []);
    assert_complete(&world, Some(600_000)).await;
    world.assert_sums().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unmodified_providers_are_counted_as_unsigned_and_raise_nothing() {
    let mut world = World::signing("signs = false").await;
    let mut calls = Vec::new();
    for status in ObservationStatus::ALL {
        let call = world.allow().await;
        world.observe(world.observation(call, *status)).await;
        calls.push((call, *status));
    }
    let denied = world.decide(world.decision(Verdict::Deny)).await;
    world.compare().await;
    world.wait(2 * 3_600_000);
    world.compare().await;

    assert_eq!(world.findings().await, []);
    for (call, status) in calls {
        let wanted = match status {
            ObservationStatus::Returned | ObservationStatus::Timeout | ObservationStatus::Cancelled => {
                "unsigned"
            }
            _ => "matched",
        };
        assert_eq!(world.stands(call).await.1, wanted, "{status}");
    }
    assert_eq!(world.stands(denied).await.1, "matched");
    world.assert_sums().await;
}

/// A gateway that waited in vain says `not_sent`; its word may be numbered before the decision, a turn before.
#[tokio::test(flavor = "multi_thread")]
async fn an_observation_that_overtook_its_decision_counts() {
    let mut world = World::new().await;
    let (early, decision) = world.signed_decision(Verdict::Allow);
    world.observe(world.observation(early, ObservationStatus::NotSent)).await;
    world.compare().await;
    world.enter_decision(&decision).await;
    world.compare().await;
    world.wait(2 * 24 * 3_600_000);
    world.sweep().await;
    world.compare().await;
    world.allow().await;
    world.compare().await;

    assert_eq!(world.findings().await, []);
    assert_eq!(world.stands(early).await.1, "matched");
    assert_complete(&world, Some(600_000)).await;
}

/// What a provider spoke of is not unknown, and what forged statements speak of is.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_statement_that_counts_keeps_an_outcome_from_being_unknown() {
    let mut world = World::new().await;
    let (spoken, unspoken, fresh) = (world.allow().await, world.allow().await, world.allow().await);
    world.state(world.execution(spoken, Outcome::Executed)).await;
    let stranger = super::world::fresh();
    world.submit(world.execution(unspoken, Outcome::Executed), &stranger, false).await;
    world.compare().await;
    // Numbered, and not compared yet.
    world.state(world.execution(fresh, Outcome::Executed)).await;
    world.wait(60_000);
    world.sweep().await;
    world.compare().await;
    world.wait(60_000);
    world.sweep().await;
    world.compare().await;

    let unknown = world.findings().await.into_iter().filter(|(code, _)| code == "OUTCOME_UNKNOWN");
    assert_eq!(unknown.map(|(_, about)| about).collect::<Vec<_>>(), [unspoken.decision]);
    let statuses =
        [world.stands(spoken).await.1, world.stands(unspoken).await.1, world.stands(fresh).await.1];
    assert_eq!(statuses, ["matched", "outcome_unknown", "matched"]);
}
