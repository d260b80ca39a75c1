//! Decision, observation and execution, over the wire: what is found, and how soon (P4).

use std::time::{Duration, Instant};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::{Execution as ExecutionKey, SigningKey};
use counterfoil_core::statement::{FindingCode, Outcome, Verdict};
use counterfoil_evidence::setup::Listed;

use crate::deployment::{BY, Deployment, Service};
use crate::gateway::{Judged, decision, observation, record, sign, statement};
use crate::provider::{execution, native, state};
use crate::provider_keys::{fresh_key, import, notes};

/// A service whose provider `notes` owes a statement within a second.
async fn owed() -> (Deployment, Service, SigningKey<ExecutionKey>) {
    let mut deployment = Deployment::new().await;
    let registry = "v = 1\n[provider.notes]\nsigns = true\nsign_within = 1\n";
    deployment.published =
        deployment.setup.publish_registry(deployment.id(), registry, BY).await.expect("published");
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let service = deployment.serve().await;
    (deployment, service, key)
}

/// An allowed call that returned.
async fn call(deployment: &Deployment, service: &Service) -> (ActionId, Digest) {
    let judged = Judged::now(deployment, Verdict::Allow);
    let said = decision(deployment, &judged);
    let action = said.action;
    let signed = sign(said, &deployment.decision);
    let items = vec![
        statement(deployment, signed.bytes(), Some(judged.credential), None),
        observation(deployment, action, signed.digest()),
    ];
    record(service, &deployment.token, items).await.expect("200");
    (action, signed.digest())
}

async fn until_found(deployment: &Deployment, wanted: usize) -> Vec<Listed> {
    for _ in 0..400 {
        let found = deployment.setup.findings(deployment.id(), u64::MAX, 50).await.expect("findings");
        if found.len() >= wanted {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{wanted} findings never came")
}

/// Both halves agree in one call; in the other the provider ran something else, which is found about a second later.
#[tokio::test(flavor = "multi_thread")]
async fn a_disagreement_is_found_a_moment_after_it_is_stated() {
    let (deployment, service, key) = owed().await;
    let api_key = deployment.api_key.secret.reveal();
    let (action, digest) = call(&deployment, &service).await;
    let said = native(execution(deployment.id(), action, digest), &key);
    state(&service, api_key, said).await.receipt();
    let (action, digest) = call(&deployment, &service).await;
    let mut said = execution(deployment.id(), action, digest);
    said.outcome = Outcome::Failed;
    let stated = Instant::now();
    let seq = state(&service, api_key, native(said, &key)).await.seq();

    let found = until_found(&deployment, 1).await;

    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found.code, FindingCode::StatementContradictsObservation);
    assert_eq!((found.action, found.about), (Some(action), Some(seq)));
    assert!(stated.elapsed() < Duration::from_secs(5), "{:?}", stated.elapsed());
    let page = format!("{}{}.json", service.public, deployment.project.issuer.page_path());
    let page = service.http.get(page).send().await.expect("page").text().await.expect("page");
    assert!(page.contains("STATEMENT_CONTRADICTS_OBSERVATION"), "{page}");
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// What was owed and did not come is found by time alone, across a restart; what comes after all closes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_is_owed_is_missed_and_closes_the_finding_when_it_comes() {
    let (deployment, service, key) = owed().await;
    let (action, digest) = call(&deployment, &service).await;
    let again = deployment.serve().await;

    let found = until_found(&deployment, 1).await;
    assert_eq!((found[0].code, found[0].cleared), (FindingCode::MissingExecution, None));
    let said = native(execution(deployment.id(), action, digest), &key);
    let seq = state(&again, deployment.api_key.secret.reveal(), said).await.seq();
    let found = until_found(&deployment, 2).await;

    assert_eq!((found[0].code, found[0].about), (FindingCode::LateExecution, Some(seq)));
    assert!(found[1].cleared.is_some(), "{found:?}");
    assert_eq!(found.len(), 2);
}
