//! What strangers meet.

use counterfoil_core::control::Snapshot;
use counterfoil_core::statement::Verdict;
use reqwest::StatusCode;
use reqwest::header::{HOST, ORIGIN};

use crate::deployment::{BY, Deployment};
use crate::gateway::{Judged, item, record};
use crate::markup::strict;

/// T4, P10: labels, codes and times; what cannot be proved; no script.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_lists_entries_and_says_what_it_cannot_prove() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let items = (0..40).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1).collect();
    record(&service, &deployment.token, items).await.expect("200");
    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());

    let answer = service.http.get(&url).send().await.expect("page");
    let policy = answer.headers()["content-security-policy"].to_str().expect("text").to_owned();
    let newest = answer.text().await.expect("page");
    let older =
        service.http.get(format!("{url}?below=21")).send().await.expect("page").text().await.expect("page");

    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(
        policy.contains("script-src 'self'; connect-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    strict(&newest);
    strict(&older);
    assert!(newest.contains("notes: note_read") && newest.contains("DENY"));
    assert!(newest.contains("What this page cannot prove"));
    assert!(newest.contains("?below=21#record\""), "keyset paging");
    assert!(newest.contains("?calls=21#calls\""), "keyset paging of calls");
    assert!(older.contains("log key") && !older.contains("older entries"));
    assert!(!newest.contains(&deployment.agent.to_string()) && !newest.contains("u-1"));
}

/// T1: a project that is not there looks like one that never was.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_slot_or_public_id_is_not_found() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let public_id = deployment.project.issuer.public_id();
    for name in [format!("1-{public_id}"), format!("00-{public_id}"), "0-aaaaaaaa".to_owned(), "x".to_owned()]
    {
        for below in ["", "/jwks.json"] {
            let url = format!("{}/p/{name}{below}", service.public);
            let answer = service.http.get(&url).send().await.expect("answer");
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{url}");
        }
    }
}

/// T11
#[tokio::test(flavor = "multi_thread")]
async fn every_listener_refuses_a_foreign_host_or_origin() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    for url in [format!("{}/healthz", service.public), format!("{}/internal/v1/projects", service.internal)] {
        let foreign = service.http.get(&url).header(HOST, "evil.example").send().await.expect("answer");
        assert_eq!(foreign.status(), StatusCode::FORBIDDEN, "{url}");
        let foreign =
            service.http.get(&url).header(ORIGIN, "https://evil.example").send().await.expect("answer");
        assert_eq!(foreign.status(), StatusCode::FORBIDDEN, "{url}");
        let ours =
            service.http.get(&url).header(HOST, "counterfoil.localhost:8788").send().await.expect("answer");
        assert_ne!(ours.status(), StatusCode::FORBIDDEN, "{url}");
    }
}

/// T8
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_asks_too_much_is_told_when_to_come_back() {
    let mut deployment = Deployment::new().await;
    deployment.config.rate = counterfoil_evidence::config::Rate { per_second: 1, burst: 3 };
    let service = deployment.serve().await;
    let url = format!("{}/healthz", service.public);

    let mut last = None;
    for _ in 0..5 {
        last = Some(service.http.get(&url).send().await.expect("answer"));
    }

    let last = last.expect("five were sent");
    assert_eq!(last.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = last.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!(seconds >= 1);
}

/// T8
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_or_no_json_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let post = || {
        service.http.post(format!("{}/internal/v1/record", service.internal)).bearer_auth(&deployment.token)
    };

    let large = post()
        .header("content-type", "application/json")
        .body(vec![b' '; 5 << 20])
        .send()
        .await
        .expect("answer");
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let text = post().header("content-type", "text/plain").body("{}").send().await.expect("answer");
    assert_eq!(text.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let other = post().json(&serde_json::json!({"v": 1})).send().await.expect("answer");
    assert_eq!(other.status(), StatusCode::BAD_REQUEST);
}

/// A gateway that follows sees a change within the follow delay, and nothing while there is none.
#[tokio::test(flavor = "multi_thread")]
async fn a_following_gateway_learns_of_a_kill() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let url = |known: &str, wait: u64| {
        format!("{}/internal/v1/control?project={}&wait_ms={wait}{known}", service.internal, deployment.id())
    };
    let ask = |url: String| service.http.get(url).bearer_auth(&deployment.token).send();
    let first: Snapshot = ask(url("", 0)).await.expect("answer").json().await.expect("a snapshot");
    assert_eq!((first.control, first.floor, first.killed), (6, 6, false));
    assert_eq!(first.policy, deployment.published.policy);
    assert_eq!(first.documents.as_ref().expect("published").registry, "v = 1\n");
    assert_eq!((first.credentials.len(), first.keys.decision.len(), first.keys.log.len()), (1, 1, 1));

    let known = format!("&known={}", first.version);
    let same: serde_json::Value = ask(url(&known, 300)).await.expect("answer").json().await.expect("JSON");
    assert_eq!(same["unchanged"], true);
    let killing = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        deployment.setup.kill(deployment.id(), BY).await.expect("killed");
    };
    let began = std::time::Instant::now();
    let (after, ()) = tokio::join!(ask(url(&known, 20_000)), killing);
    let after: Snapshot = after.expect("answer").json().await.expect("a snapshot");

    assert!(after.killed && after.generation == 1 && after.floor == after.control);
    assert!(began.elapsed() < std::time::Duration::from_secs(2));
    assert_eq!(after.clone().with_version().version, after.version);
}

/// The end: what was begun is answered, then the ports are free.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_told_to_stop_lets_go_of_its_ports() {
    let deployment = Deployment::new().await;
    let bound = counterfoil_evidence::bind(deployment.config.clone()).await.expect("bound");
    let (public, internal) = (bound.public_addr().expect("address"), bound.internal_addr().expect("address"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(bound.run(async move { drop(stopped.await) }));
    let http = reqwest::Client::new();
    assert_eq!(
        http.get(format!("http://{public}/readyz")).send().await.expect("answer").status(),
        StatusCode::OK
    );

    stop.send(()).expect("running");
    let ended = tokio::time::timeout(std::time::Duration::from_secs(8), running).await.expect("in time");

    ended.expect("no panic").expect("a clean end");
    for address in [public, internal] {
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
}

/// The script of a page comes from its own server, whole or as "the same as before".
#[tokio::test(flavor = "multi_thread")]
async fn the_script_of_a_page_is_the_one_that_was_built() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let get = |name: &str| service.http.get(format!("{}/assets/{name}", service.public));

    let script = get("verify.js").send().await.expect("answer");
    assert_eq!(script.status(), StatusCode::OK);
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    let tag = script.headers()["etag"].clone();
    assert_eq!(&script.bytes().await.expect("bytes")[..], counterfoil_evidence::web::VERIFY_SCRIPT);
    let again = get("verify.js").header("if-none-match", tag).send().await.expect("answer");
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let kept = get("verify.html").send().await.expect("answer");
    assert_eq!(&kept.bytes().await.expect("bytes")[..], counterfoil_evidence::web::VERIFY_PAGE);
    for wrong in ["", "verify.css", "..%2fCargo.toml", "verify.js.json"] {
        assert_eq!(get(wrong).send().await.expect("answer").status(), StatusCode::NOT_FOUND, "{wrong}");
    }
    let page = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let page = service.http.get(page).send().await.expect("page").text().await.expect("page");
    assert!(page.contains("<script src=\"/assets/verify.js\" defer></script>"));
    assert!(page.contains("<div id=\"verify\"") && page.contains("weaker than the check above"));
}
