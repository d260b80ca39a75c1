//! Coverage as it is declared, measured, and shown (P10).

use counterfoil_core::receipt::{Receipt, verify};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{BY, Deployment, Service, new_project};
use crate::markup::strict;

async fn declare(service: &Service, key: &str, what: &Value) -> (StatusCode, Vec<u8>) {
    let put = service.http.put(format!("{}/v1/coverage", service.public)).bearer_auth(key).json(what);
    let answer = put.send().await.expect("answer");
    (answer.status(), answer.bytes().await.expect("bytes").to_vec())
}

fn seq(receipt: &[u8]) -> u64 {
    let receipt: Receipt = serde_json::from_slice(receipt).expect("a receipt");
    receipt.entry().seq
}

/// P10: an entry with a receipt; the same again is the same entry; the page says that it is declared.
#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_is_one_entry_however_often_it_is_said() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;
    let key = deployment.api_key.secret.reveal();
    let all = json!({"providers": [{"provider": "notes", "share": "all"}, {"provider": "crm", "share": "unknown"}]});
    let some = json!({"providers": [{"provider": "notes", "share": "some"}], "reason": "a batch job calls it directly"});

    let (status, first) = declare(&service, key, &all).await;
    assert_eq!(status, StatusCode::CREATED);
    verify(&first, &trust).expect("a receipt that verifies");
    let (status, again) = declare(&service, key, &all).await;
    assert_eq!((status, seq(&again)), (StatusCode::OK, seq(&first)));
    let (status, other) = declare(&service, key, &some).await;
    assert_eq!((status, seq(&other)), (StatusCode::CREATED, seq(&first) + 1));
    // Eight at once say the same: one of them is first.
    let eight = (0..8).map(|_| declare(&service, key, &all));
    let answers = futures_util::future::join_all(eight).await;
    let fresh = answers.iter().filter(|(status, _)| *status == StatusCode::CREATED).count();
    assert_eq!(fresh, 1);
    assert!(answers.iter().all(|(_, receipt)| seq(receipt) == seq(&first) + 2));

    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let page: Value =
        service.http.get(format!("{url}.json")).send().await.expect("page").json().await.expect("JSON");
    let lines = page["coverage"].as_array().expect("lines");
    assert_eq!(lines[0]["provider"], "crm");
    assert_eq!(
        (&lines[1]["declared"]["share"], &lines[1]["declared"]["basis"]),
        (&json!("all"), &json!("declared"))
    );
    assert_eq!(lines[1]["probed"], Value::Null);
    let text = strict(&service.http.get(url).send().await.expect("page").text().await.expect("page"));
    assert!(text.contains("not probed") && text.contains("declared at"), "{text}");
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// T1, T8: a known key, JSON, and no more than a registry has.
#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_is_refused_without_a_key_and_where_it_does_not_read() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let good = json!({"providers": []});

    assert_eq!(declare(&service, "cfk_unknown", &good).await.0, StatusCode::UNAUTHORIZED);
    for wrong in [
        json!({}),
        json!({"providers": [{"provider": "notes", "share": "all", "basis": "probed"}]}),
        json!({"providers": [{"provider": "ann@example.com", "share": "all"}]}),
        json!({"providers": [], "project": deployment.id().to_string()}),
    ] {
        assert_eq!(declare(&service, key, &wrong).await.0, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let large = json!({"providers": [], "reason": "x".repeat(80_000)});
    assert_eq!(declare(&service, key, &large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let put = service.http.put(format!("{}/v1/coverage", service.public)).bearer_auth(key).body("{}");
    assert_eq!(put.send().await.expect("answer").status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    // The key decides whose it is, and nothing else.
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    let of_other = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    assert_eq!(declare(&service, of_other.secret.reveal(), &good).await.0, StatusCode::CREATED);
    let path = deployment.project.issuer.page_path();
    let page: Value = service
        .http
        .get(format!("{}{path}.json", service.public))
        .send()
        .await
        .expect("page")
        .json()
        .await
        .expect("JSON");
    assert_eq!(page["coverage"], json!([]));
}

/// P10: what the published registry says of a provider is shown as declared, and rules are said in words.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_said_in_words_and_so_is_its_change() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let registry = r#"
        v = 1
        [provider.notes]
        capability = true
        [provider.notes.tool.note_read]
        service = "notes"
        verb = "read"
        nouns = [{ type = "path", at = "/path" }]
    "#;
    let rules = r#"@id("notes-read") @note("MARKED-note")
        permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/MARKED-folder")
        when { context.now < datetime("2099-01-01T00:00:00Z") };"#;
    deployment.setup.publish_registry(deployment.id(), registry, BY).await.expect("a registry");
    let until = crate::deployment::now().plus_millis(86_400_000).to_string();
    let rules = rules.replace("2099-01-01T00:00:00Z", &until);
    deployment.setup.publish_rules(deployment.id(), &rules, BY).await.expect("rules");

    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let asked = format!("{url}.json?from=2020-01-01&to=2098-12-31");
    let page: Value = service.http.get(&asked).send().await.expect("page").json().await.expect("JSON");
    let html =
        service.http.get(asked.replace(".json", "")).send().await.expect("page").text().await.expect("page");

    let said =
        format!("May notes.read (notes/note_read): a path in a folder that the rule names, until {until}.");
    assert_eq!(page["reach"]["sentences"][0]["text"], said);
    assert_eq!(page["reach"]["change"]["incomplete"], true, "nothing was published in 2020");
    assert_eq!(page["reach"]["change"]["came"][0]["rule"], "notes-read");
    let terms = &page["coverage"][0]["registry"];
    assert_eq!((&terms["capability"], &terms["signs"]), (&json!(true), &json!(false)));
    let text = strict(&html);
    assert!(text.contains(&said) && text.contains("1 rules came, 0 went"), "{text}");
    assert!(!html.contains("MARKED") && !page.to_string().contains("MARKED"));
    for wrong in ["?from=yesterday", "?from=2026-02-30", "?from=2026-11-30&to=x"] {
        let answer = service.http.get(format!("{url}{wrong}")).send().await.expect("answer");
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
}
