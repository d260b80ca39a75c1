//! What gateways tell of their probes, and how the page says it (P10).

use counterfoil_core::time::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{Deployment, Service, new_project, now};
use crate::markup::strict;

fn told(deployment: &Deployment, began_at: Timestamp, cases: &[(&str, &str)]) -> Value {
    let cases: Vec<Value> =
        cases.iter().map(|(case, outcome)| json!({"case": case, "outcome": outcome})).collect();
    json!({
        "v": 1, "project": deployment.id(), "provider": "notes", "tool": "note_list", "began_at": began_at, "cases": cases,
    })
}

async fn tell(service: &Service, token: &str, body: &Value) -> StatusCode {
    let post =
        service.http.post(format!("{}/internal/v1/probes", service.internal)).bearer_auth(token).json(body);
    post.send().await.expect("answer").status()
}

async fn page(deployment: &Deployment, service: &Service) -> (Value, String) {
    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let data =
        service.http.get(format!("{url}.json")).send().await.expect("page").json().await.expect("JSON");
    let text = service.http.get(url).send().await.expect("page").text().await.expect("page");
    (data, strict(&text))
}

/// P10: "probed, n of n refused" is said of the newest probe alone, and what was not refused is said loudly.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_how_many_were_refused_and_names_those_that_were_not() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let cases = [("missing", "passed"), ("expired", "refused"), ("not_yet", "unclear")];
    let bad = told(&deployment, now(), &cases);
    let good = told(&deployment, now(), &[("missing", "refused"), ("expired", "refused")]);

    assert_eq!(page(&deployment, &service).await.0["coverage"], json!([]));
    assert_eq!(tell(&service, &deployment.token, &bad).await, StatusCode::NO_CONTENT);
    let (data, text) = page(&deployment, &service).await;
    let probed = &data["coverage"][0]["probed"];
    assert_eq!((&probed["refused"], &probed["tried"]), (&json!(1), &json!(3)));
    assert_eq!((&probed["passed"], &probed["unclear"]), (&json!(["missing"]), &json!(["not_yet"])));
    assert!(text.contains("NOT ALL REFUSED") && text.contains("1 of 3 refused"), "{text}");
    assert!(text.contains("answered with a result: missing") && text.contains("unclear: not_yet"), "{text}");

    assert_eq!(tell(&service, &deployment.token, &good).await, StatusCode::NO_CONTENT);
    let (_, text) = page(&deployment, &service).await;
    assert!(text.contains("probed, 2 of 2 refused") && !text.contains("NOT ALL REFUSED"), "{text}");
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// T1, T8: a gateway of the project, a probe that reads, of now.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_is_taken_from_gateways_of_the_project_alone_and_in_bounds() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let good = told(&deployment, now(), &[("missing", "refused")]);
    let other = deployment.setup.create_project(&new_project("Other")).await.expect("a project");
    let mut foreign = good.clone();
    foreign["project"] = json!(other.id);

    assert_eq!(tell(&service, "cfs_unknown", &good).await, StatusCode::UNAUTHORIZED);
    assert_eq!(tell(&service, deployment.api_key.secret.reveal(), &good).await, StatusCode::UNAUTHORIZED);
    assert_eq!(tell(&service, &deployment.token, &foreign).await, StatusCode::FORBIDDEN);
    let twice = [("missing", "refused"), ("missing", "passed")];
    for wrong in [
        told(&deployment, now(), &[]),
        told(&deployment, now(), &twice),
        told(&deployment, now(), &[("missing", "maybe")]),
        told(&deployment, now(), &[("anything", "refused")]),
        told(&deployment, now().plus_millis(-7_200_000), &[("missing", "refused")]),
        told(&deployment, now().plus_millis(60_000), &[("missing", "refused")]),
        json!({"v": 1}),
    ] {
        assert_eq!(tell(&service, &deployment.token, &wrong).await, StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(page(&deployment, &service).await.0["coverage"], json!([]));
}
