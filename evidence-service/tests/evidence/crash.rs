//! Postgres dies, the clock of a day passes, a backup comes back.

use std::path::Path;
use std::time::Duration;

use counterfoil_core::receipt::{Receipt, verify};
use counterfoil_core::record::{ItemAnswer, RefusedReason};
use counterfoil_core::statement::Verdict;
use counterfoil_evidence::cluster::{Binaries, Cluster, Running};
use counterfoil_evidence::setup::{migrate, prepare_database};
use reqwest::StatusCode;

use crate::deployment::{Deployment, Service, cluster, config, connect};
use crate::gateway::{Judged, item, record};

async fn is_ready(service: &Service) -> bool {
    let asked = service.http.get(format!("{}/readyz", service.internal)).send().await.expect("an answer");
    asked.status() == StatusCode::OK
}

/// Sixty calls one after the other: the receipts, and how many were not recorded.
async fn write_through(deployment: &Deployment, service: &Service) -> (Vec<Receipt>, u32) {
    let (mut receipts, mut failures) = (Vec::new(), 0);
    for _ in 0..60 {
        let items = vec![item(deployment, &Judged::now(deployment, Verdict::Allow)).1];
        match record(service, &deployment.token, items).await.as_deref() {
            Ok([ItemAnswer::Recorded(recorded)]) => receipts.push(recorded.receipt.clone()),
            Ok([ItemAnswer::Unknown { .. }]) | Err(&StatusCode::SERVICE_UNAVAILABLE) => failures += 1,
            other => panic!("{other:?}"),
        }
    }
    (receipts, failures)
}

/// Postgres stops as in a crash and recovers; the link leads to where it listens now.
async fn die_and_return(running: Running, own: &Cluster, link: &Path) -> Running {
    tokio::time::sleep(Duration::from_millis(40)).await;
    tokio::task::spawn_blocking(move || running.stop_immediately()).await.expect("stopped");
    let again = own.start(&[]).expect("started again");
    std::fs::remove_file(link).expect("the old link");
    std::os::unix::fs::symlink(again.socket_folder(), link).expect("a new link");
    again
}

/// G4: nothing acknowledged is lost, nothing is acknowledged while the database is away, no gap and no fork after.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_dies_under_load_loses_nothing_acknowledged() {
    let binaries = Binaries::find(None).expect("a Postgres");
    let own = Cluster::throw_away(&binaries).expect("a cluster");
    let running = own.start(&[]).expect("started");
    let folder = tempfile::tempdir().expect("folder");
    prepare_database(&running.admin("postgres"), "counterfoil").await.expect("prepared");
    let mut config = config(&running, "counterfoil", folder.path());
    // The socket moves with every start; a link stays.
    let link = folder.path().join("pg");
    std::os::unix::fs::symlink(running.socket_folder(), &link).expect("a link");
    config.database.host = link.to_str().expect("a path").to_owned();
    migrate(&config).await.expect("schema");
    let deployment = Deployment::on(config, folder).await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;

    let mut acknowledged: Vec<Receipt> = Vec::new();
    let mut unanswered = 0;
    let mut running = running;
    for _ in 0..3 {
        let ((receipts, failures), again) =
            tokio::join!(write_through(&deployment, &service), die_and_return(running, &own, &link));
        running = again;
        acknowledged.extend(receipts);
        unanswered += failures;
        let mut tries = 0;
        while !is_ready(&service).await {
            tries += 1;
            assert!(tries < 100, "never ready again");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    assert!(unanswered > 0, "the database never died under load");
    let client = connect(&deployment.config, "counterfoil_auditor").await;
    let uuid = deployment.id().uuid();
    client.batch_execute(&format!("set counterfoil.project = '{uuid}'")).await.expect("set");
    let rows = client.query("select seq, hash from entries order by seq", &[]).await.expect("rows");
    for (place, row) in rows.iter().enumerate() {
        assert_eq!(row.get::<_, i64>(0), i64::try_from(place).expect("small"), "a gap");
    }
    for receipt in &acknowledged {
        verify(&receipt.bytes(), &trust).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
        let row = &rows[usize::try_from(receipt.entry().seq).expect("small")];
        assert_eq!(row.get::<_, &[u8]>(1), receipt.entry().hash().bytes(), "acknowledged, and not there");
    }
}

/// The restore guard: a database that lost its tail takes nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_went_back_makes_its_project_read_only() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let admin = connect(&deployment.config, "postgres").await;
    admin.batch_execute("create table backup as select * from heads").await.expect("a backup");
    let one = || vec![item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1];
    record(&service, &deployment.token, one()).await.expect("200");

    let restore = "set session_replication_role = replica; alter table heads disable trigger all; \
                   delete from heads; insert into heads select * from backup; \
                   alter table heads enable always trigger heads_no_delete";
    admin.batch_execute(restore).await.expect("restored");
    let answers = record(&service, &deployment.token, one()).await.expect("200");

    assert!(matches!(answers[0], ItemAnswer::Refused { reason: RefusedReason::ReadOnly, .. }), "{answers:?}");
    assert!(!is_ready(&service).await);
    let page = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let page = service.http.get(page).send().await.expect("page").text().await.expect("page");
    assert!(page.contains("Read-only"), "{page}");
}

/// The same across a restart of the service: the heads file remembers.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_does_not_forget_what_was_seen() {
    let deployment = Deployment::new().await;
    let first = deployment.serve().await;
    let one = || vec![item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1];
    let admin = connect(&deployment.config, "postgres").await;
    admin.batch_execute("create table backup as select * from heads").await.expect("a backup");
    record(&first, &deployment.token, one()).await.expect("200");
    tokio::time::sleep(Duration::from_millis(1500)).await;

    let restore = "set session_replication_role = replica; alter table heads disable trigger all; \
                   delete from heads; insert into heads select * from backup";
    admin.batch_execute(restore).await.expect("restored");
    let second = deployment.serve().await;

    assert!(!is_ready(&second).await);
    let answers = record(&second, &deployment.token, one()).await.expect("200");
    assert!(matches!(answers[0], ItemAnswer::Refused { reason: RefusedReason::ReadOnly, .. }), "{answers:?}");
}

/// P6: the first append of a new day closes the day before.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_append_of_a_new_day_closes_the_day_before() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;
    let admin = connect(&deployment.config, "postgres").await;
    // As if the project had slept since yesterday: the head row says when its last entry was.
    let yesterday = "alter table heads disable trigger all; update heads set last_at = last_at - 86400000; \
                     alter table heads enable always trigger heads_only_grow; \
                     alter table heads enable always trigger heads_no_delete";
    admin.batch_execute(yesterday).await.expect("yesterday");

    let items = vec![item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1];
    let answers = record(&service, &deployment.token, items).await.expect("200");
    let ItemAnswer::Recorded(recorded) = &answers[0] else { panic!("{answers:?}") };

    assert_eq!(recorded.receipt.entry().seq, deployment.published.seq + 2);
    verify(&recorded.receipt.bytes(), &trust).expect("verifies");
    let closing =
        deployment.setup.receipt(deployment.id(), deployment.published.seq + 1).await.expect("read");
    let closing = closing.expect("an entry");
    verify(&closing, &trust).expect("verifies");
    let closing: serde_json::Value = serde_json::from_slice(&closing).expect("JSON");
    let epoch = &closing["statement"]["payload"];
    assert_eq!(epoch["typ"], "epoch/v1");
    assert_eq!((&epoch["first"], &epoch["last"]), (&0.into(), &deployment.published.seq.into()));
    assert_eq!(epoch["counts"], serde_json::json!({"key": 4, "registry": 1, "rules": 1}));
}

/// T8: a service that is held up inside its transaction does not keep others waiting: its lock is gone after two
/// seconds, and what it had begun did not happen.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_held_is_not_waited_for_longer_than_its_holder_may_idle() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let _ = cluster().await;
    let stuck = connect(&deployment.config, "counterfoil_app").await;
    let uuid = deployment.id().uuid();
    let begin = format!(
        "begin; select set_config('counterfoil.project', '{uuid}', true), \
         set_config('idle_in_transaction_session_timeout', '2000', true); select 1 from heads for update"
    );
    stuck.batch_execute(&begin).await.expect("locked");

    let began = std::time::Instant::now();
    let items = vec![item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1];
    let answers = record(&service, &deployment.token, items).await.expect("200");

    assert!(matches!(answers[0], ItemAnswer::Recorded(_)), "{answers:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
