//! P4, T8: who lies is named, once, and a flood of lies fills nothing.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::Execution as ExecutionKey;
use counterfoil_core::statement::{
    KeyEvent, ObservationStatus, Outcome, PublishedType, Reason, SeenCheckpoint, Verdict,
};
use counterfoil_core::tree::Hash;

use super::packed::assert_complete;
use super::world::{Call, World, fresh, value};
use crate::clock;
use crate::control::publish::Publication;

const WITHIN: Option<i64> = Some(600_000);

/// An honest call an hour later, so that nothing before it is at the edge; then the whole record holds.
async fn long_after(world: &mut World) {
    world.compare().await;
    world.wait(3_600_000);
    world.compare().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    world.state(world.execution(call, Outcome::Executed)).await;
    world.compare().await;
    assert_complete(world, WITHIN).await;
    world.assert_sums().await;
}

fn pair(code: &str, about: Digest) -> (String, Digest) {
    (code.to_owned(), about)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_commits_to_one_call_and_forwards_another_is_found() {
    let mut world = World::new().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    let mut said = world.execution(call, Outcome::Executed);
    said.args = Some(value("what was forwarded"));
    let statement = world.state(said).await;

    long_after(&mut world).await;

    assert_eq!(world.findings().await, [pair("ARGUMENTS_DIFFER", statement)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_signs_anothers_action_is_found_and_counts_as_silent() {
    let mut world = World::new().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    let mut said = world.execution(call, Outcome::Executed);
    (said.iss, said.provider) = ("mail".parse().unwrap(), "mail".parse().unwrap());
    let statement = world.submit(said, &world.mail, true).await;

    long_after(&mut world).await;

    let wanted = [pair("WRONG_SIGNER", statement), pair("MISSING_EXECUTION", call.decision)];
    assert_eq!(world.findings().await, wanted);
}

/// The signature was checked, then the key was revoked, then the statement was numbered: its place decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_revoked_between_check_and_append_does_not_count() {
    let mut world = World::new().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    let said = world.execution(call, Outcome::Executed);
    let key = world.notes.public().clone();
    world.provider_key("notes", KeyEvent::Revoked, &key).await;
    let statement = world.submit(said, &world.notes, false).await;
    world.compare().await;

    assert_eq!(world.findings().await, [pair("REVOKED_KEY", statement)]);
    assert_eq!(world.stands(call).await.1, "waiting");
    world.wait(3_600_000);
    world.compare().await;
    assert_eq!(world.findings().await[1..], [pair("MISSING_EXECUTION", call.decision)]);
    assert_complete(&world, WITHIN).await;
}

/// T1: an action of another project, or of nobody, is an action that does not exist.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_about_an_action_of_elsewhere_is_without_a_decision() {
    let (mut world, other) = (World::new().await, World::new().await);
    let elsewhere = other.allow().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    world.state(world.execution(call, Outcome::Executed)).await;
    let foreign = world.state(world.execution(elsewhere, Outcome::Executed)).await;
    // A decision of ours, on another action than its own.
    let mixed = Call { action: elsewhere.action, decision: call.decision };
    let mixed = world.state(world.execution(mixed, Outcome::Executed)).await;

    long_after(&mut world).await;

    let wanted = [pair("EXECUTION_WITHOUT_DECISION", foreign), pair("EXECUTION_WITHOUT_DECISION", mixed)];
    assert_eq!(world.findings().await, wanted);
}

/// T8: of each key and hour twenty get a finding; all are counted, over turns, and a verifier asks for no more.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_from_one_leaked_key_gets_twenty_findings_an_hour() {
    let mut world = World::new().await;
    let leaked = fresh::<ExecutionKey>();
    world.provider_key("notes", KeyEvent::Introduced, leaked.public()).await;
    world.provider_key("notes", KeyEvent::Revoked, leaked.public()).await;
    world.wait(3_600_000 - world.now.millis() % 3_600_000);
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    world.state(world.execution(call, Outcome::Executed)).await;
    for place in 0..90 {
        let mut said = world.execution(call, Outcome::Failed);
        said.error_code = None;
        world.submit(said, &leaked, false).await;
        let nowhere = Call { action: ActionId::from_uuid(clock::fresh_uuid()), ..call };
        world.state(world.execution(nowhere, Outcome::Executed)).await;
        if place % 40 == 0 {
            world.compare().await;
        }
    }

    long_after(&mut world).await;

    let found = world.findings().await;
    let count = |code: &str| found.iter().filter(|(found, _)| found == code).count();
    assert_eq!((count("REVOKED_KEY"), count("EXECUTION_WITHOUT_DECISION")), (20, 20), "{found:?}");
    let (client, driver) = world.superuser().await;
    tokio::spawn(driver);
    let sql =
        "select sort, sum(statements)::bigint from apart_counts where project_id = $1 group by 1 order by 1";
    let rows = client.query(sql, &[&world.id().uuid()]).await.unwrap();
    let counted: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(counted, [("foreign".to_owned(), 90), ("forged".to_owned(), 90)]);
    let apart = "select bool_and(apart) from findings where project_id = $1";
    assert!(client.query_one(apart, &[&world.id().uuid()]).await.unwrap().get::<_, bool>(0));
}

/// G2: once for a definition under a registry, not with every call that meets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tool_is_a_finding_once_for_each_registry() {
    let mut world = World::new().await;
    let meet = async |world: &World, pin: &[u8]| {
        let mut decision = world.decision(Verdict::StepUp);
        (decision.reason, decision.pin) = (Reason::DefinitionChanged, Some(Digest::of(pin)));
        world.decide(decision).await.decision
    };
    let first = meet(&world, b"one").await;
    meet(&world, b"one").await;
    world.compare().await;
    meet(&world, b"one").await;
    let second = meet(&world, b"two").await;
    world.compare().await;
    assert_eq!(world.findings().await, [pair("TOOL_CHANGED", first), pair("TOOL_CHANGED", second)]);

    let text = "v = 1\n[provider.notes]\nsigns = true\n";
    let publication = Publication {
        typ: PublishedType::Registry,
        issuer: world.project.issuer.clone(),
        behalf: "operator-1".to_owned(),
        reason: None,
        text: text.to_owned(),
        policy: world.published.policy.unwrap(),
        other: Some(Digest::of(b"")),
        expires_at: None,
        signer: &world.ledger.keys().ledger,
    };
    world.append(&publication).await;
    world.published.control += 1;
    let again = meet(&world, b"one").await;
    long_after(&mut world).await;

    assert_eq!(world.findings().await[2..], [pair("TOOL_CHANGED", again)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_holds_another_checkpoint_of_that_size_is_a_finding() {
    let mut world = World::new().await;
    let call = world.allow().await;
    world.observe(world.observation(call, ObservationStatus::Returned)).await;
    let (size, root) = world.head().await;
    let mut honest = world.execution(call, Outcome::Executed);
    honest.seen = Some(SeenCheckpoint { size, root });
    world.state(honest).await;
    let other = world.allow().await;
    world.observe(world.observation(other, ObservationStatus::Returned)).await;
    let mut forked = world.execution(other, Outcome::Executed);
    forked.seen = Some(SeenCheckpoint { size, root: Hash::from_bytes([7; 32]) });
    let forked = world.state(forked).await;

    long_after(&mut world).await;

    assert_eq!(world.findings().await, [pair("SEEN_DIFFERS", forked)]);
}
