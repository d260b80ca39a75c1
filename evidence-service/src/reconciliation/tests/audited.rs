//! P2: an index that somebody edited is named.

use counterfoil_core::statement::{ObservationStatus, Outcome};

use super::world::{World, value};
use crate::reconciliation::{Misplaced, misplaced};

async fn found(world: &World) -> Option<Misplaced> {
    let mut client = world.ledger.database().app().await.unwrap();
    let tx = client.begin_snapshot(world.id()).await.unwrap();
    misplaced(&tx).await.unwrap()
}

/// Each is undone before the next, and the list is clean again.
#[tokio::test(flavor = "multi_thread")]
async fn a_finding_or_a_sum_that_somebody_edits_is_named() {
    let mut world = World::new().await;
    for args in ["args", "other", "args"] {
        let call = world.allow().await;
        world.observe(world.observation(call, ObservationStatus::Returned)).await;
        let mut said = world.execution(call, Outcome::Executed);
        said.args = Some(value(args));
        world.state(said).await;
    }
    world.compare().await;
    assert_eq!(found(&world).await, None);
    let (admin, driver) = world.superuser().await;
    tokio::spawn(driver);
    let project = format!("project_id = '{}'", world.id().uuid());
    let kept = format!(
        "create temp table f as select * from findings where {project}; \
         create temp table m as select * from matters where {project}; \
         create temp table t as select * from tallies where {project}"
    );
    admin.batch_execute(&kept).await.unwrap();
    let edits = [
        ("findings", format!("delete from findings where {project}")),
        ("findings", format!("update findings set code = 'LATE_EXECUTION' where {project}")),
        ("findings", format!("update findings set cleared = 3 where {project}")),
        ("findings", format!("update findings set apart = true where {project}")),
        (
            "findings",
            "insert into findings select project_id, 0, digest, 'X', action, null, 0, false from f"
                .to_owned(),
        ),
        ("compared", format!("delete from matters where {project} and status = 'matched'")),
        ("compared", format!("update matters set decision = sha256('x') where {project}")),
        ("sums", format!("update tallies set calls = calls + 1 where {project}")),
        ("sums", format!("update matters set status = 'late' where {project}")),
    ];
    for (place, edit) in edits {
        admin.batch_execute(&edit).await.unwrap_or_else(|error| panic!("{edit}: {error:?}"));
        let named = found(&world).await.unwrap_or_else(|| panic!("{edit}"));
        assert!(named.place.contains(place), "{edit}: {named:?}");
        let undo = format!(
            "delete from findings where {project}; insert into findings select * from f; \
             delete from matters where {project}; insert into matters select * from m; \
             delete from tallies where {project}; insert into tallies select * from t"
        );
        admin.batch_execute(&undo).await.unwrap();
        assert_eq!(found(&world).await, None, "{edit}");
    }
}
