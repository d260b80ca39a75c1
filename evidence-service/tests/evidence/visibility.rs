//! Who may see a page, and everything that hangs from it (T12).

use counterfoil_core::statement::{Statement, Verdict};
use counterfoil_evidence::Visibility;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::deployment::{Deployment, Service, new_project};
use crate::gateway::{Judged, decision, item, record, sign, statement};

/// What lies below a page's address, as the router has it, with a value for each place.
fn below(action: &str) -> Vec<String> {
    let router = include_str!("../../src/service/routers.rs");
    let routes: Vec<String> = router
        .split("\"/p/{name}")
        .skip(1)
        .map(|rest| rest.split('"').next().expect("a path").to_owned())
        .map(|path| path.replace("{action}", action).replace("{seq}", "0").replace("{*path}", "0/000.p/1"))
        .collect();
    assert!(routes.len() >= 8, "{routes:?}");
    let json = [".json".to_owned(), format!("/a/{action}.json")];
    routes.into_iter().chain(json).collect()
}

async fn get(service: &Service, url: &str, key: Option<&str>) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut asked = service.http.get(url);
    if let Some(key) = key {
        asked = asked.bearer_auth(key);
    }
    let answer = asked.send().await.expect("answer");
    (answer.status(), answer.headers().clone(), answer.bytes().await.expect("bytes").to_vec())
}

/// T1, T12: status, headers and bytes are those of what never was, on every route; the project's own key still gets in.
#[tokio::test(flavor = "multi_thread")]
async fn a_private_page_is_answered_like_one_that_does_not_exist() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let judged = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let action = judged.action.to_string();
    let signed = sign(judged, &deployment.decision);
    let one = statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None);
    record(&service, &deployment.token, vec![one]).await.expect("200");
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    let foreign = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    let path = deployment.project.issuer.page_path();
    let nothing = "/p/7-aaaaaaaa";
    for below in below(&action) {
        let (status, headers, _) = get(&service, &format!("{}{path}{below}", service.public), None).await;
        assert!(status.is_success(), "{below}: {status}");
        assert_eq!(headers["x-robots-tag"], "noindex", "{below}: unlisted is where nobody said anything");
    }

    let seq =
        deployment.setup.show_to(deployment.id(), Visibility::Private, "operator-1").await.expect("private");

    let own = deployment.api_key.secret.reveal();
    for below in below(&action) {
        let there = format!("{}{path}{below}", service.public);
        let nowhere = format!("{}{nothing}{below}", service.public);
        for key in [None, Some("cfk_unknown"), Some(foreign.secret.reveal())] {
            let (status, mut headers, body) = get(&service, &there, key).await;
            let (same_status, mut same_headers, same_body) = get(&service, &nowhere, key).await;
            headers.remove("date");
            same_headers.remove("date");
            assert_eq!(status, StatusCode::NOT_FOUND, "{below}");
            assert_eq!((status, headers, body), (same_status, same_headers, same_body), "{below}");
        }
        let (status, headers, _) = get(&service, &there, Some(own)).await;
        assert!(status.is_success(), "{below}: {status} with the project's own key");
        assert_eq!(headers["x-robots-tag"], "noindex");
    }
    let receipt = deployment.setup.receipt(deployment.id(), seq).await.expect("read").expect("an entry");
    let receipt: counterfoil_core::receipt::Receipt = serde_json::from_slice(&receipt).expect("a receipt");
    let envelope =
        counterfoil_core::envelope::Envelope::parse(receipt.statement().as_bytes()).expect("an envelope");
    let Statement::Settings(said) = envelope.statement().expect("a statement") else {
        panic!("not a setting")
    };
    assert_eq!((said.name.as_str(), said.value.as_str()), ("visibility", "private"));
}

/// T12, T10: public pages may be found; each change is an entry, and a column that says otherwise is found.
#[tokio::test(flavor = "multi_thread")]
async fn a_public_page_may_be_indexed_and_a_column_changed_by_hand_is_found() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let (_, _, before) = get(&service, &url, None).await;
    assert!(String::from_utf8(before).expect("text").contains("name=\"robots\" content=\"noindex\""));

    deployment.setup.show_to(deployment.id(), Visibility::Public, "operator-1").await.expect("public");

    let (status, headers, page) = get(&service, &url, None).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!headers.contains_key("x-robots-tag"));
    assert!(!String::from_utf8(page).expect("text").contains("robots"));
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
    let admin = crate::deployment::connect(&deployment.config, "postgres").await;
    admin.batch_execute("update projects set visibility = 'private'").await.expect("changed");
    let broken = deployment.setup.audit(deployment.id()).await.expect("audited").expect_err("found");
    assert!(broken.to_string().contains("visibility"), "{broken}");
}

/// T1: an action of another project, with the same words about it, is the same nothing.
#[tokio::test(flavor = "multi_thread")]
async fn another_projects_action_is_nothing_here() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let judged = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let action = judged.action;
    let signed = sign(judged, &deployment.decision);
    let one = statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None);
    record(
        &service,
        &deployment.token,
        vec![one, item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1],
    )
    .await
    .expect("200");
    let other =
        deployment.setup.create_project(&new_project("First")).await.expect("a project of the same name");
    let path = other.issuer.page_path();
    let never = crate::gateway::fresh_action();

    for end in ["", ".json"] {
        let (status, _, body) =
            get(&service, &format!("{}{path}/a/{action}{end}", service.public), None).await;
        let (_, _, nothing) = get(&service, &format!("{}{path}/a/{never}{end}", service.public), None).await;
        assert_eq!((status, body), (StatusCode::NOT_FOUND, nothing));
    }
    for seq in [6, 7] {
        let (status, _, _) = get(&service, &format!("{}{path}/receipts/{seq}", service.public), None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}
