//! What keys did, counted in the record transaction (G13).

use counterfoil_core::id::{KeyId, SessionId};
use counterfoil_core::record::{Item, ItemAnswer, RefusedReason};
use counterfoil_core::session::{Running, SessionAnswer, Summary};
use counterfoil_core::statement::{Decision, Verdict};
use serde_json::Value;

use crate::deployment::{Deployment, Service, now};
use crate::gateway::{Judged, decision, record, sign, statement};

async fn asked(deployment: &Deployment, service: &Service, key: KeyId) -> Option<Running> {
    let url = format!("{}/internal/v1/sessions?project={}&key={key}", service.internal, deployment.id());
    let answer = service.http.get(url).bearer_auth(&deployment.token).send().await.expect("an answer");
    let answer: SessionAnswer = answer.json().await.expect("a session");
    answer.running
}

/// A decision judged on this past, as a gateway sends it whose rules ask.
fn judged_on(deployment: &Deployment, verdict: Verdict, past: Option<&Running>) -> (Decision, Item) {
    let mut said = decision(deployment, &Judged::now(deployment, verdict));
    let summary = Summary::at(past, now(), said.action);
    said.session = Some(summary.session);
    let signed = sign(said.clone(), &deployment.decision);
    let mut item = statement(deployment, signed.bytes(), Some(deployment.api_key.id), None);
    if let Item::Statement(item) = &mut item {
        item.judged_on = summary.upto;
    }
    (said, item)
}

fn is_stale(answer: &ItemAnswer) -> bool {
    matches!(answer, ItemAnswer::Refused { reason: RefusedReason::Stale, .. })
}

/// G13: counted whether or not a rule asks, once each, cleared and refused apart.
#[tokio::test(flavor = "multi_thread")]
async fn every_decision_of_a_key_is_counted_once() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.id;
    assert_eq!(asked(&deployment, &service, key).await, None);
    let first = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let signed = sign(first.clone(), &deployment.decision);
    let item = || statement(&deployment, signed.bytes(), Some(key), None);
    let others = [Verdict::Allow, Verdict::Deny, Verdict::StepUp]
        .map(|verdict| crate::gateway::item(&deployment, &Judged::now(&deployment, verdict)).1);

    // The same statement three times: twice in one request, once later.
    record(&service, &deployment.token, vec![item(), item()]).await.expect("200");
    record(&service, &deployment.token, vec![item()]).await.expect("200");
    record(&service, &deployment.token, others.into()).await.expect("200");

    let running = asked(&deployment, &service, key).await.expect("a session");
    assert_eq!(running.summary.session, SessionId::from_uuid(first.action.uuid()));
    assert_eq!((running.summary.cleared, running.summary.refused), (2, 2));
    assert_eq!(running.summary.operations.values().sum::<u64>(), 2);
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// G13: an ALLOW is recorded only if it was judged on all that stands before it; a refusal always is.
#[tokio::test(flavor = "multi_thread")]
async fn an_allow_that_was_judged_on_an_older_past_is_stale() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.id;
    let (_, first) = judged_on(&deployment, Verdict::Allow, None);
    record(&service, &deployment.token, vec![first]).await.expect("200");
    let past = asked(&deployment, &service, key).await.expect("a session");

    // Two gateways judged on the same past, and a third knows of none.
    let (_, second) = judged_on(&deployment, Verdict::Allow, Some(&past));
    let (_, raced) = judged_on(&deployment, Verdict::Allow, Some(&past));
    let (_, ignorant) = judged_on(&deployment, Verdict::Allow, None);
    let (_, refusal) = judged_on(&deployment, Verdict::Deny, None);
    let answers =
        record(&service, &deployment.token, vec![second, raced, ignorant, refusal]).await.expect("200");

    let stale: Vec<bool> = answers.iter().map(is_stale).collect();
    assert_eq!(stale, [false, true, true, false]);
    assert!(matches!(answers[3], ItemAnswer::Recorded(_)));
    let newer = asked(&deployment, &service, key).await.expect("a session");
    assert_eq!((newer.summary.cleared, newer.summary.refused), (2, 1));
    let (_, again) = judged_on(&deployment, Verdict::Allow, Some(&newer));
    let answers = record(&service, &deployment.token, vec![again]).await.expect("200");
    assert!(matches!(answers[0], ItemAnswer::Recorded(_)));
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// G13: the past of one key is not that of another of the same agent, nor of another project.
#[tokio::test(flavor = "multi_thread")]
async fn keys_have_a_past_of_their_own() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other =
        deployment.setup.create_api_key(deployment.id(), deployment.agent, None).await.expect("a key");
    let (_, first) = judged_on(&deployment, Verdict::Allow, None);
    record(&service, &deployment.token, vec![first]).await.expect("200");

    assert_eq!(asked(&deployment, &service, other.id).await, None);
    let url = format!(
        "{}/internal/v1/sessions?project=prj_{}&key={}",
        service.internal,
        "0193".repeat(8),
        other.id
    );
    let foreign = service.http.get(url).bearer_auth(&deployment.token).send().await.expect("an answer");
    assert_eq!(foreign.status().as_u16(), 403);
    let said: Value = foreign.json().await.unwrap_or_default();
    assert!(said.get("running").is_none());
}
