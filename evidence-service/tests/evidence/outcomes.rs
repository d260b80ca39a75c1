//! Cleared calls of which nobody says what became of them.

use std::time::Duration;

use counterfoil_core::id::ActionId;
use counterfoil_core::record::ItemAnswer;
use counterfoil_core::statement::{FindingCode, Statement, Verdict};

use crate::deployment::{Deployment, Service, connect};
use crate::gateway::{Judged, decision, observation, record, sign, statement};

/// Findings and clearances of the project, by action.
async fn said(deployment: &Deployment) -> Vec<Statement> {
    let superuser = connect(&deployment.config, "postgres").await;
    let sql =
        "select body from entries where project_id = $1 and kind in ('finding', 'clearance') order by seq";
    let rows = superuser.query(sql, &[&deployment.id().uuid()]).await.expect("rows");
    rows.iter()
        .map(|row| {
            let body: &[u8] = row.get(0);
            let envelope = counterfoil_core::envelope::Envelope::parse(body).expect("an envelope");
            envelope.statement().expect("a statement")
        })
        .collect()
}

async fn until_said(deployment: &Deployment, wanted: usize) -> Vec<Statement> {
    for _ in 0..200 {
        let said = said(deployment).await;
        if said.len() >= wanted {
            return said;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{wanted} statements never came: {:?}", said(deployment).await)
}

async fn one_second_lease() -> (Deployment, Service) {
    let mut deployment = Deployment::new().await;
    deployment.config.lease_seconds = 1;
    let service = deployment.serve().await;
    (deployment, service)
}

/// Records a verdict and returns its action, and what the gateway would later say it saw.
async fn judged(
    deployment: &Deployment,
    service: &Service,
    verdict: Verdict,
) -> (ActionId, counterfoil_core::record::Item) {
    let judged = Judged::now(deployment, verdict);
    let decision = decision(deployment, &judged);
    let action = decision.action;
    let signed = sign(decision, &deployment.decision);
    let item = statement(deployment, signed.bytes(), Some(judged.credential), None);
    let answers = record(service, &deployment.token, vec![item]).await.expect("recorded");
    assert!(matches!(answers.as_slice(), [ItemAnswer::Recorded(_)]), "{answers:?}");
    (action, observation(deployment, action, signed.digest()))
}

/// G4: a failure after the record is recorded against the same action, whoever died.
#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_call_that_nobody_speaks_of_is_outcome_unknown_and_nothing_else_is() {
    let (deployment, service) = one_second_lease().await;
    let (silent, _) = judged(&deployment, &service, Verdict::Allow).await;
    let (_, seen) = judged(&deployment, &service, Verdict::Allow).await;
    record(&service, &deployment.token, vec![seen]).await.expect("recorded");
    judged(&deployment, &service, Verdict::Deny).await;
    judged(&deployment, &service, Verdict::StepUp).await;

    until_said(&deployment, 1).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;

    let said = said(&deployment).await;
    let [Statement::Finding(finding)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(finding.code, FindingCode::OutcomeUnknown);
    assert_eq!(finding.action, Some(silent));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observation_that_comes_after_all_clears_the_finding_once() {
    let (deployment, service) = one_second_lease().await;
    let (action, seen) = judged(&deployment, &service, Verdict::Allow).await;
    until_said(&deployment, 1).await;

    record(&service, &deployment.token, vec![seen]).await.expect("recorded");

    until_said(&deployment, 2).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let said = said(&deployment).await;
    let [Statement::Finding(finding), Statement::Clearance(clearance)] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!((clearance.code, clearance.action), (finding.code, action));
}

/// A gateway that is heard keeps its calls open, however long a tool takes.
#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_a_gateway_that_is_heard_stay_open() {
    let (deployment, service) = one_second_lease().await;
    judged(&deployment, &service, Verdict::Allow).await;

    let heard = "gwi_09090909090909090909090909090909";
    for _ in 0..12 {
        let asked =
            format!("{}/internal/v1/control?project={}&instance={heard}", service.internal, deployment.id());
        service.http.get(asked).bearer_auth(&deployment.token).send().await.expect("an answer");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    assert!(said(&deployment).await.is_empty());
}

/// Two services sweep one project: one finding.
#[tokio::test(flavor = "multi_thread")]
async fn two_sweeps_find_an_outcome_once() {
    let (deployment, first) = one_second_lease().await;
    let _second = deployment.serve().await;
    for _ in 0..5 {
        judged(&deployment, &first, Verdict::Allow).await;
    }

    until_said(&deployment, 5).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;

    assert_eq!(said(&deployment).await.len(), 5);
}

/// A gateway that waited in vain says `not_sent`; its word may get in before the decision that it is about.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_spoken_of_before_its_decision_got_in_is_no_finding() {
    let (deployment, service) = one_second_lease().await;
    let judged = Judged::now(&deployment, Verdict::Allow);
    let decision = decision(&deployment, &judged);
    let action = decision.action;
    let signed = sign(decision, &deployment.decision);
    let decided = statement(&deployment, signed.bytes(), Some(judged.credential), None);
    let seen = observation(&deployment, action, signed.digest());

    record(&service, &deployment.token, vec![seen]).await.expect("recorded");
    record(&service, &deployment.token, vec![decided]).await.expect("recorded");

    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(said(&deployment).await.is_empty());
}
