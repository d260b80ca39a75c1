//! Who may ask for what, and that nothing crosses from one project into another (T1, T3).

use counterfoil_core::record::{Item, RefusedReason, StatementItem};
use counterfoil_core::statement::Verdict;
use reqwest::StatusCode;

use crate::answers::{duplicate, reason, recorded};
use crate::deployment::{BY, Deployment, introduce, new_project, publish};
use crate::gateway::{Judged, decision, item, record, sign, statement};

/// T3: receipts are for the project's own keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_asked_for_with_a_known_key() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let url = |seq: &str| format!("{}/v1/receipts/{seq}", service.public);
    let key = deployment.api_key.secret.reveal();

    let nobody = service.http.get(url("0")).send().await.expect("answer");
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    let unknown = service.http.get(url("0")).bearer_auth("cfk_unknown").send().await.expect("answer");
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    let absent = service.http.get(url("99")).bearer_auth(key).send().await.expect("answer");
    assert_eq!(absent.status(), StatusCode::NOT_FOUND);
    let nonsense = service.http.get(url("-1")).bearer_auth(key).send().await.expect("answer");
    assert_eq!(nonsense.status(), StatusCode::NOT_FOUND);

    deployment.setup.revoke_api_key(deployment.id(), deployment.api_key.id).await.expect("revoked");
    let revoked = service.http.get(url("0")).bearer_auth(key).send().await.expect("answer");
    assert_eq!(revoked.status(), StatusCode::UNAUTHORIZED);
}

/// T1, T3: a token speaks for the projects and keys that it names.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_speaks_only_for_what_it_names() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let one = || vec![item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1];
    let elsewhere = deployment.setup.create_project(&new_project("Second")).await.expect("project");
    let kid = deployment.decision.kid().clone();
    let of_other_project =
        deployment.setup.create_service_token(&[elsewhere.id], &[kid]).await.expect("token");
    let of_other_key = deployment.setup.create_service_token(&[deployment.id()], &[]).await.expect("token");

    assert_eq!(record(&service, "cfs_unknown", one()).await.unwrap_err(), StatusCode::UNAUTHORIZED);
    let foreign = record(&service, of_other_project.secret.reveal(), one()).await;
    assert_eq!(foreign.unwrap_err(), StatusCode::FORBIDDEN);
    assert_eq!(
        record(&service, of_other_key.secret.reveal(), one()).await.unwrap_err(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        record(&service, deployment.api_key.secret.reveal(), one()).await.unwrap_err(),
        StatusCode::UNAUTHORIZED
    );
}

/// Each project is a transaction of its own: one that takes nothing does not stop the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_two_projects_is_answered_for_each() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    introduce(&deployment.setup, other.id, &deployment.decision).await;
    let published = publish(&deployment.setup, other.id).await;
    let kids = [deployment.decision.kid().clone()];
    let token =
        deployment.setup.create_service_token(&[deployment.id(), other.id], &kids).await.expect("token");
    deployment.setup.kill(deployment.id(), BY).await.expect("killed");
    let key = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    let judged = Judged { credential: key.id, ..Judged::now(&deployment, Verdict::Allow) };
    let of_other = counterfoil_core::statement::Decision {
        iss: other.issuer.clone(),
        project: other.id,
        policy: published.policy.expect("published"),
        ..decision(&deployment, &judged)
    };
    let of_other = sign(of_other, &deployment.decision);
    let of_other = match statement(&deployment, of_other.bytes(), Some(key.id), None) {
        Item::Statement(item) => Item::Statement(StatementItem { project: other.id, ..item }),
        opening => opening,
    };

    let items =
        vec![of_other.clone(), item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1, of_other];
    let answers = record(&service, token.secret.reveal(), items).await.expect("200");

    assert_eq!(recorded(&answers[0]).receipt.entry().project, other.id);
    assert_eq!(reason(&answers[1]), RefusedReason::Killed);
    assert_eq!(duplicate(&answers[2]).receipt.entry().seq, published.seq + 1);
}

/// T1: a statement about one project, handed in for another, is refused there.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_not_taken_into_another_project() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    introduce(&deployment.setup, other.id, &deployment.decision).await;
    let kids = [deployment.decision.kid().clone()];
    let token =
        deployment.setup.create_service_token(&[deployment.id(), other.id], &kids).await.expect("token");
    let (_, mine) = item(&deployment, &Judged::now(&deployment, Verdict::Deny));
    let moved = match mine {
        Item::Statement(item) => Item::Statement(StatementItem { project: other.id, ..item }),
        opening => opening,
    };
    let renamed = counterfoil_core::statement::Decision {
        project: other.id,
        ..decision(&deployment, &Judged::now(&deployment, Verdict::Deny))
    };
    let renamed = match statement(&deployment, sign(renamed, &deployment.decision).bytes(), None, None) {
        Item::Statement(item) => Item::Statement(StatementItem { project: other.id, ..item }),
        opening => opening,
    };

    let answers = record(&service, token.secret.reveal(), vec![moved, renamed]).await.expect("200");

    assert_eq!(reason(&answers[0]), RefusedReason::Malformed);
    // It names the other project and still the first one's issuer: nobody is to be misled by either.
    assert_eq!(reason(&answers[1]), RefusedReason::BadSignature);
}
