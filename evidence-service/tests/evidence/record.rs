//! The record transaction, over HTTP, with real signatures.

use counterfoil_core::key::{Decision, SigningKey};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{ItemAnswer, RefusedReason};
use counterfoil_core::statement::Verdict;
use counterfoil_evidence::setup::Setup;
use reqwest::StatusCode;

use crate::answers::{check, reason, recorded};
use crate::deployment::{BY, Deployment, random_seed};
use crate::gateway::{Judged, decision, item, observation, opening, record, sign, statement};

/// P1, P2, G4: what is acknowledged verifies offline.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_and_its_observation_are_recorded_and_verify() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;
    let judged = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let action = judged.action;
    let signed = sign(judged, &deployment.decision);
    let (digest, item) =
        (signed.digest(), statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None));

    let first = record(&service, &deployment.token, vec![item]).await.expect("200");
    let items = vec![observation(&deployment, action, digest), opening(&deployment, digest)];
    let second = record(&service, &deployment.token, items).await.expect("200");

    let first = recorded(&first[0]);
    assert_eq!(first.digest, digest);
    assert_eq!(first.receipt.entry().body, digest);
    check(&first.receipt, &trust);
    let seen = recorded(&second[0]);
    assert_eq!(seen.receipt.entry().seq, first.receipt.entry().seq + 1);
    assert_eq!(seen.receipt.entry().prev, first.receipt.entry().hash());
    check(&seen.receipt, &trust);
    assert!(matches!(second[1], ItemAnswer::Kept { digest: kept } if kept == digest));
}

/// P1: the entries before any call, in their order, verify like all others.
#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_all_first_entries_verify() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;

    let mut said = Vec::new();
    for seq in 0..6 {
        let url = format!("{}/v1/receipts/{seq}", service.public);
        let answer = service
            .http
            .get(url)
            .bearer_auth(deployment.api_key.secret.reveal())
            .send()
            .await
            .expect("answer");
        assert_eq!(answer.status(), StatusCode::OK);
        let receipt: Receipt = answer.json().await.expect("a receipt");
        check(&receipt, &trust);
        let statement: serde_json::Value = serde_json::from_str(receipt.statement()).expect("JSON");
        let payload = &statement["payload"];
        said.push(format!(
            "{} {}",
            payload["typ"].as_str().unwrap(),
            payload["purpose"].as_str().unwrap_or("")
        ));
    }

    let expected =
        ["key/v1 ledger", "key/v1 log", "key/v1 decision", "key/v1 capability", "registry/v1 ", "rules/v1 "];
    assert_eq!(said, expected);
}

/// G4: each item has its own fate.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_item_is_refused_alone() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;
    let current = Judged::now(&deployment, Verdict::Allow);
    let stale =
        Judged { control: deployment.published.floor - 1, ..Judged::now(&deployment, Verdict::Allow) };
    let ahead =
        Judged { control: deployment.published.control + 1, ..Judged::now(&deployment, Verdict::Allow) };
    let denied = Judged { verdict: Verdict::Deny, control: 0, ..Judged::now(&deployment, Verdict::Deny) };

    let items = [&current, &stale, &ahead, &denied].map(|judged| item(&deployment, judged).1);
    let answers = record(&service, &deployment.token, items.into()).await.expect("200");

    check(&recorded(&answers[0]).receipt, &trust);
    assert_eq!(reason(&answers[1]), RefusedReason::Stale);
    assert_eq!(reason(&answers[2]), RefusedReason::Stale);
    check(&recorded(&answers[3]).receipt, &trust);
}

/// G7: kill stops ALLOW, never the record of a refusal.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_head_refuses_allow_and_records_deny() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let before = Judged::now(&deployment, Verdict::Allow);
    let killed = deployment.setup.kill(deployment.id(), BY).await.expect("killed");
    let after = Judged { control: killed.control, generation: 1, ..Judged::now(&deployment, Verdict::Allow) };
    let denied = Judged::now(&deployment, Verdict::Deny);

    let items = [&before, &after, &denied].map(|judged| item(&deployment, judged).1);
    let answers = record(&service, &deployment.token, items.into()).await.expect("200");

    assert_eq!(reason(&answers[0]), RefusedReason::Killed);
    assert_eq!(reason(&answers[1]), RefusedReason::Killed);
    recorded(&answers[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_from_another_time_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let at = |millis: i64| {
        let judged = Judged::now(&deployment, Verdict::Deny);
        Judged { at: judged.at.plus_millis(millis), ..judged }
    };

    let items = [at(-16_000), at(-13_000), at(1_000), at(4_000)].map(|judged| item(&deployment, &judged).1);
    let answers = record(&service, &deployment.token, items.into()).await.expect("200");

    assert_eq!(reason(&answers[0]), RefusedReason::Skew);
    recorded(&answers[1]);
    recorded(&answers[2]);
    assert_eq!(reason(&answers[3]), RefusedReason::Skew);
}

/// C3, P1: only a key that the project introduced and did not end signs its decisions.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_under_another_key_or_a_bent_signature_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let stranger = SigningKey::<Decision>::from_seed(&random_seed());
    let kids = [deployment.decision.kid().clone(), stranger.kid().clone()];
    let token = deployment.setup.create_service_token(&[deployment.id()], &kids).await.expect("a token");
    let token = token.secret.reveal();
    let judged = Judged::now(&deployment, Verdict::Deny);
    let by_stranger = sign(decision(&deployment, &judged), &stranger);
    let bent = sign(decision(&deployment, &judged), &deployment.decision);
    let bent = String::from_utf8(bent.bytes().to_vec()).unwrap().replace("\"DENY\"", "\"ALLOW\"");

    let key = Some(deployment.api_key.id);
    let items = vec![
        statement(&deployment, by_stranger.bytes(), key, None),
        statement(&deployment, bent.as_bytes(), key, None),
    ];
    let answers = record(&service, token, items).await.expect("200");
    assert_eq!(reason(&answers[0]), RefusedReason::BadSignature);
    assert_eq!(reason(&answers[1]), RefusedReason::BadSignature);

    let kid = deployment.decision.kid().clone();
    deployment.setup.retire_key(deployment.id(), &kid, "operator-1").await.expect("retired");
    let late = record(&service, token, vec![item(&deployment, &judged).1]).await.expect("200");
    assert_eq!(reason(&late[0]), RefusedReason::BadSignature);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allow_under_a_revoked_or_unknown_credential_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other =
        deployment.setup.create_api_key(deployment.id(), deployment.agent, None).await.expect("a key");
    deployment.setup.revoke_api_key(deployment.id(), other.id).await.expect("revoked");
    let elsewhere = deployment.setup.create_api_key(deployment.id(), Setup::fresh_agent(), None);
    let elsewhere = elsewhere.await.expect("a key of another agent");
    let revoked = Judged { credential: other.id, ..Judged::now(&deployment, Verdict::Allow) };
    let of_another = Judged { credential: elsewhere.id, ..Judged::now(&deployment, Verdict::Allow) };
    let denied = Judged { credential: other.id, ..Judged::now(&deployment, Verdict::Deny) };

    let items = [&revoked, &of_another, &denied].map(|judged| item(&deployment, judged).1);
    let answers = record(&service, &deployment.token, items.into()).await.expect("200");

    assert_eq!(reason(&answers[0]), RefusedReason::Revoked);
    assert_eq!(reason(&answers[1]), RefusedReason::Revoked);
    recorded(&answers[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_statement_is_refused_alone() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let good = sign(decision(&deployment, &Judged::now(&deployment, Verdict::Deny)), &deployment.decision);
    let text = String::from_utf8(good.bytes().to_vec()).unwrap();
    let twice = text.replacen("\"agent\"", "\"action\":\"x\",\"agent\"", 1);
    let unknown = text.replacen("\"agent\"", "\"agentx\":1,\"agent\"", 1);
    let key = Some(deployment.api_key.id);

    let items = [twice.as_str(), unknown.as_str(), "{\"a\":1}", text.as_str()];
    let items = items.map(|text| statement(&deployment, text.as_bytes(), key, None));
    let answers = record(&service, &deployment.token, items.into()).await;

    let answers = answers.expect("200");
    assert_eq!(answers[..3].iter().map(reason).collect::<Vec<_>>(), vec![RefusedReason::Malformed; 3]);
    recorded(&answers[3]);
}
