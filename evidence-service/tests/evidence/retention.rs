//! How long bodies are kept, and what is left of what was erased.

use counterfoil_core::digest::Digest;
use counterfoil_core::record::{Idempotency, ItemAnswer};
use counterfoil_core::statement::{RetentionDays, Verdict};
use counterfoil_evidence::retention::Forget;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::deployment::{Deployment, connect, now};
use crate::gateway::{Judged, item, opening, record};

/// T5, T10: 90 days until somebody says otherwise, and who says so is an entry.
#[tokio::test(flavor = "multi_thread")]
async fn retention_is_a_setting_whose_change_is_an_entry() {
    let deployment = Deployment::new().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    assert_eq!(setup.retention_days(project).await.expect("days"), RetentionDays::DEFAULT);

    let seq =
        setup.keep_for(project, RetentionDays::new(30).expect("days"), "operator-1").await.expect("set");

    assert_eq!(setup.retention_days(project).await.expect("days").days(), 30);
    let receipt = setup.receipt(project, seq).await.expect("read").expect("an entry");
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).expect("JSON");
    let said = &receipt["statement"]["payload"];
    assert_eq!(
        (&said["typ"], &said["name"], &said["value"]),
        (&"settings/v1".into(), &"retention_days".into(), &"30".into())
    );
    assert_eq!(said["control"], deployment.published.control, "nothing that decides has moved");
    setup.audit(project).await.expect("audited").expect("clean");
}

/// P2, T10: the column repeats the newest entry, or the audit says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_retention_that_no_entry_says_is_named() {
    let deployment = Deployment::new().await;
    let app = connect(&deployment.config, "postgres").await;

    app.execute("update projects set retention_days = 1", &[]).await.expect("as a superuser");

    let broken = deployment.setup.audit(deployment.id()).await.expect("audited").expect_err("no entry");
    assert_eq!(broken.place.to_string(), "project, column retention_days");
}

async fn enter(client: &Client, deployment: &Deployment) {
    let uuid = deployment.id().uuid();
    client.batch_execute(&format!("begin; set local counterfoil.project = '{uuid}'")).await.expect("begun");
}

/// T5, E5: who may take away what, as the database sees it.
#[tokio::test(flavor = "multi_thread")]
async fn each_role_takes_away_only_what_is_its_to_take() {
    let deployment = Deployment::new().await;
    let refused: &[(&str, &str)] = &[
        ("counterfoil_app", "delete from openings"),
        ("counterfoil_app", "delete from idempotency"),
        ("counterfoil_app", "delete from instances"),
        (
            "counterfoil_app",
            "insert into tombstones (project_id, seq, first_seq, last_seq) select project_id, 1, 0, 0 from projects",
        ),
        ("counterfoil_app", "update entries set body = null"),
        ("counterfoil_app", "update swept set upto = 9"),
        ("counterfoil_app", "update credentials set principal = 'u-another'"),
        ("counterfoil_app", "update projects set retention_days = 0"),
        ("counterfoil_app", "update projects set name = 'another'"),
        ("counterfoil_sweeper", "select principal from credentials"),
        ("counterfoil_sweeper", "select digest from credentials"),
        ("counterfoil_sweeper", "update credentials set principal = null"),
        ("counterfoil_sweeper", "update projects set retention_days = 1"),
        ("counterfoil_sweeper", "delete from entries"),
        ("counterfoil_sweeper", "delete from checkpoints"),
        ("counterfoil_sweeper", "delete from tombstones"),
        ("counterfoil_sweeper", "update entries set kind = 'kill'"),
        ("counterfoil_sweeper", "update entries set body = null"),
        ("counterfoil_sweeper", "select 1 from documents"),
    ];
    for (role, change) in refused {
        let client = connect(&deployment.config, role).await;
        enter(&client, &deployment).await;
        let error = client.batch_execute(change).await.expect_err(change);
        let code = error.code().unwrap_or_else(|| panic!("{role}: {change}: {error}")).clone();
        let known =
            [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::RESTRICT_VIOLATION, SqlState::CHECK_VIOLATION];
        assert!(known.contains(&code), "{role}: {change}: {error}");
    }
    let client = connect(&deployment.config, "counterfoil_app").await;
    enter(&client, &deployment).await;
    client.batch_execute("update credentials set principal = null").await.expect("forgotten, for good");
}

/// T5: with a body goes everything that only helped to answer again; a repeated request is judged as a new one.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_body_go_its_opening_and_its_idempotency_key() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let asked = Idempotency { key: "order-of-a-person".to_owned(), fingerprint: Digest::of(b"order") };
    let judged = Judged { idempotency: Some(asked), ..Judged::now(&deployment, Verdict::Allow) };
    let (digest, allowed) = item(&deployment, &judged);
    let answers = record(&service, &deployment.token, vec![allowed]).await.expect("200");
    assert!(matches!(answers[0], ItemAnswer::Recorded(_)), "{answers:?}");
    record(&service, &deployment.token, vec![opening(&deployment, digest)]).await.expect("200");
    let database = connect(&deployment.config, "postgres").await;
    let left = "select (select count(*) from openings) + (select count(*) from idempotency) \
                + (select count(*) from entries where body is null)";
    assert_eq!(database.query_one(left, &[]).await.expect("rows").get::<_, i64>(0), 2);

    let in_a_hundred_days = now().plus_millis(100 * 24 * 3600 * 1000);
    let swept = deployment.setup.sweep_as_of(deployment.id(), in_a_hundred_days).await.expect("swept");

    assert_eq!((swept.bodies, swept.tombstones), (1, 1));
    assert_eq!(database.query_one(left, &[]).await.expect("rows").get::<_, i64>(0), 1);
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
    let (_, again) = item(&deployment, &Judged { at: now(), ..judged });
    let answers = record(&service, &deployment.token, vec![again]).await.expect("200");
    assert!(matches!(answers[0], ItemAnswer::Recorded(_)), "a new decision, not the erased one: {answers:?}");
}

/// T5: the key is revoked from the same commit on, and the chain goes on.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_forgotten_is_answered_no_more() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (_, allowed) = item(&deployment, &Judged::now(&deployment, Verdict::Allow));
    record(&service, &deployment.token, vec![allowed]).await.expect("200");

    let what = Forget { principal: Some("u-1".to_owned()), ..Forget::default() };
    let forgotten = deployment.setup.forget(deployment.id(), &what, "operator-1").await.expect("forgotten");

    assert_eq!((forgotten.actions, forgotten.bodies), (1, 1));
    let (_, late) = item(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let answers = record(&service, &deployment.token, vec![late]).await.expect("200");
    assert!(matches!(answers[0], ItemAnswer::Refused { .. }), "{answers:?}");
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
    let address = Forget { principal: Some("ann@example.com".to_owned()), ..Forget::default() };
    deployment.setup.forget(deployment.id(), &address, "operator-1").await.expect_err("no principal of ours");
}
