//! A superuser edits the ledger; the self-audit says where.

use std::time::Duration;

use counterfoil_core::statement::Verdict;

use crate::deployment::{Deployment, connect};
use crate::gateway::{Judged, item, observation, record};

/// Some calls, so that there is something to edit. Entry 6 is the first decision.
async fn with_calls() -> Deployment {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    for batch in [1, 3] {
        let items =
            (0..batch).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1).collect();
        record(&service, &deployment.token, items).await.expect("200");
    }
    let (digest, _) = item(&deployment, &Judged::now(&deployment, Verdict::Deny));
    let seen = observation(&deployment, crate::gateway::fresh_action(), digest);
    record(&service, &deployment.token, vec![seen]).await.expect("200");
    deployment
}

async fn tamper(deployment: &Deployment, edit: &str) {
    let admin = connect(&deployment.config, "postgres").await;
    let script = format!(
        "alter table entries disable trigger all; alter table heads disable trigger all; \
         alter table checkpoints disable trigger all; alter table documents disable trigger all; {edit}"
    );
    admin.batch_execute(&script).await.unwrap_or_else(|error| panic!("{edit}: {error}"));
}

/// P2
#[tokio::test(flavor = "multi_thread")]
async fn an_untouched_ledger_is_found_clean() {
    let deployment = with_calls().await;

    let clean = deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");

    assert_eq!((clean.size, clean.verified, clean.erased), (11, 11, 0));
}

/// P2: chained columns, projections, keys, documents, head: any difference is found, and its place is named.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_superuser_edits_is_found_and_its_place_named() {
    for (edit, place) in [
        ("update entries set verdict = 'call 555-0100' where seq = 7", "entry 7, column verdict"),
        ("update entries set reason = 'no_rule' where seq = 7", "entry 7, column reason"),
        (
            "update entries set body = replace(convert_from(body, 'UTF8'), 'ALLOW', 'DENY')::bytea where seq = 8",
            "entry 8",
        ),
        ("update entries set at = at + 1 where seq = 8", "entry 8, column at"),
        ("update entries set body = null where seq = 0", "entry 0, column body"),
        ("update entries set body = null where seq = 8", "entry 8, column body"),
        ("delete from entries where seq = 8", "entry 8, column seq"),
        (
            "delete from entries where seq = 10; delete from checkpoints where size = 11",
            "entry 10, column seq",
        ),
        // Two whole rows change places.
        (
            "update entries a set at = b.at, kind = b.kind, body_digest = b.body_digest, prev = b.prev, \
             hash = b.hash, body = b.body, path = b.path, action = b.action, agent = b.agent from entries b \
             where a.seq in (8, 9) and b.seq = 17 - a.seq",
            "entry 8",
        ),
        ("update heads set control = 7", "head, column control"),
        ("update heads set killed = true", "head, column killed"),
        ("update sessions set running = jsonb_set(running, '{summary,cleared}', '0')", "session of key_"),
        ("update heads set stopped = 'test'", "head, column stopped"),
        ("update heads set breakglass_until = 1", "head, column breakglass_until"),
        ("update heads set shadow_until = 1", "head, column shadow_until"),
        ("update signing_keys set ended = 5, ended_at = 1 where purpose = 'decision'", "signing key"),
        (
            "update documents set text = 'permit(principal, action, resource);' where kind = 'rules'",
            "document of entry 5, column text",
        ),
    ] {
        let deployment = with_calls().await;
        tamper(&deployment, edit).await;

        let broken = deployment.setup.audit(deployment.id()).await.expect("read").expect_err(edit);

        assert!(broken.to_string().starts_with(place), "{edit}: {broken}");
    }
}

/// P2, T4: at boot, on the page, and once in the record itself; what a stranger wrote there is not shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_chain_is_on_the_page_and_in_the_record() {
    let deployment = with_calls().await;
    tamper(&deployment, "update entries set verdict = 'DENY' where seq = 7").await;
    let service = deployment.serve().await;
    let page = format!("{}{}", service.public, deployment.project.issuer.page_path());

    let mut shown = String::new();
    for _ in 0..50 {
        shown = service.http.get(&page).send().await.expect("page").text().await.expect("page");
        if shown.contains("BROKEN_CHAIN") && shown.contains("<td>finding</td>") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    assert!(shown.contains("entry 7, column verdict"), "{shown}");
    assert!(!shown.contains("555-0100"), "{shown}");
    let finding = deployment.setup.receipt(deployment.id(), 11).await.expect("read").expect("an entry");
    let finding = String::from_utf8(finding).expect("JSON");
    assert!(finding.contains("\"code\":\"BROKEN_CHAIN\"") && finding.contains("\"seq\":7"), "{finding}");
}
