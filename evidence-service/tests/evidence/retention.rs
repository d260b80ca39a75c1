//! How long bodies are kept, and what is left of what was erased.

use counterfoil_core::statement::RetentionDays;

use crate::deployment::{Deployment, connect};

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
