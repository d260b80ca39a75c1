//! `GET /v1/export`: a copy of the record that somebody else keeps.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use counterfoil_core::audit::Trust;
use counterfoil_core::export::{Follower, Line};
use counterfoil_core::key::{JwkSet, Purpose};
use counterfoil_core::statement::Verdict;
use counterfoil_evidence::bind;
use counterfoil_evidence::retention::Forget;
use reqwest::{Response, StatusCode};

use crate::deployment::{Deployment, Service, connect, new_project};
use crate::gateway::{Judged, item, record};

async fn ask(service: &Service, key: &str, query: &str) -> Response {
    let url = format!("{}/v1/export{query}", service.public);
    service.http.get(url).bearer_auth(key).send().await.expect("an answer")
}

/// Every line of one answer.
async fn lines(service: &Service, deployment: &Deployment, query: &str) -> Vec<Line> {
    let answer = ask(service, deployment.api_key.secret.reveal(), query).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
    let text = answer.bytes().await.expect("to its end");
    let lines = text.strip_suffix(b"\n").expect("whole lines").split(|byte| *byte == b'\n');
    lines.map(|line| Line::parse(line).expect("a line")).collect()
}

async fn follower(service: &Service, deployment: &Deployment) -> Follower {
    let url = format!("{}{}/jwks.json", service.public, deployment.project.issuer.page_path());
    let set = service.http.get(url).send().await.expect("jwks").bytes().await.expect("jwks");
    let set = JwkSet::parse(&set).expect("a key set");
    let of = |purpose| {
        let keys = set.keys.iter().filter(move |key| key.purpose == purpose);
        keys.map(|key| key.public_key().expect("a key")).collect()
    };
    let trust = Trust { log: of(Purpose::Log), ledger: of(Purpose::Ledger), held: BTreeMap::new() };
    Follower::new(deployment.project.issuer.clone(), trust)
}

async fn calls(service: &Service, deployment: &Deployment, count: usize) {
    for _ in 0..count {
        let (_, said) = item(deployment, &Judged::now(deployment, Verdict::Allow));
        record(service, &deployment.token, vec![said]).await.expect("200");
    }
}

/// P5: everything from the first entry on, verified as it comes, and again from where the reader stopped.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_followed_from_any_place_and_verifies() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    calls(&service, &deployment, 3).await;
    let mut follower = follower(&service, &deployment).await;

    for line in lines(&service, &deployment, "").await {
        follower.follow(&line).expect("holds");
    }
    let first = follower.size();
    assert_eq!(first, deployment.published.seq + 4);
    calls(&service, &deployment, 2).await;
    let more = lines(&service, &deployment, &format!("?after={}", first - 1)).await;
    for line in &more {
        follower.follow(line).expect("holds");
    }

    assert_eq!(follower.size(), first + 2);
    assert!(matches!(more.last(), Some(Line::Checkpoint(_))));
    follower.nothing_is_missing().expect("nothing was erased");
    let nothing = lines(&service, &deployment, &format!("?after={}", first + 1)).await;
    assert_eq!(nothing.len(), 1, "the newest checkpoint alone");
    follower.follow(&nothing[0]).expect("the same");
}

/// P5, T5: what was erased is null, its tombstone comes, and a copy from before keeps what it has.
#[tokio::test(flavor = "multi_thread")]
async fn an_erased_body_is_null_and_its_tombstone_follows() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    calls(&service, &deployment, 2).await;
    let mut before = follower(&service, &deployment).await;
    for line in lines(&service, &deployment, "").await {
        before.follow(&line).expect("holds");
    }

    let what = Forget { principal: Some("u-1".to_owned()), ..Forget::default() };
    deployment.setup.forget(deployment.id(), &what, "operator-1").await.expect("forgotten");

    let other =
        deployment.setup.create_api_key(deployment.id(), deployment.agent, None).await.expect("a key");
    let mut deployment = deployment;
    deployment.api_key = other;
    let mut after = follower(&service, &deployment).await;
    let all = lines(&service, &deployment, "").await;
    let absent = all.iter().filter(|line| matches!(line, Line::Entry(line) if line.body.is_none())).count();
    assert_eq!(absent, 2);
    for line in &all {
        after.follow(line).expect("holds");
    }
    after.nothing_is_missing().expect("buried");
    for line in lines(&service, &deployment, &format!("?after={}", before.size() - 1)).await {
        before.follow(&line).expect("goes on");
    }
    assert_eq!(before.size(), after.size());
}

/// P5: a long poll is answered by the entry that comes, and a silent record by its checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_reader_hears_of_the_next_entry() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let newest = deployment.published.seq;
    let began = Instant::now();
    assert_eq!(lines(&service, &deployment, &format!("?after={newest}&wait=1")).await.len(), 1);
    assert!(began.elapsed() >= Duration::from_secs(1), "it waited");

    let query = format!("?after={newest}&wait=30");
    let (heard, ()) = tokio::join!(lines(&service, &deployment, &query), calls(&service, &deployment, 1));

    assert!(matches!(heard[..], [Line::Entry(_), Line::Checkpoint(_)]), "{heard:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
    let ahead = lines(&service, &deployment, "?after=99999&wait=30").await;
    assert!(matches!(ahead[..], [Line::Checkpoint(_)]), "whoever is ahead is told at once");
}

/// T1, T3: a project's record goes to its own keys alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_key_exports_its_own_project_or_nothing() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    let key = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");

    let answer = ask(&service, key.secret.reveal(), "").await;
    let text = answer.text().await.expect("text");
    assert!(text.contains(&other.id.to_string()) && !text.contains(&deployment.id().to_string()));

    for key in ["", "cfk_unknown", &deployment.token] {
        assert_eq!(ask(&service, key, "").await.status(), StatusCode::UNAUTHORIZED, "{key}");
    }
    let own = deployment.api_key.secret.reveal();
    for bad in ["?after=-1", "?after=x", "?wait=x", "?project=1"] {
        assert_eq!(ask(&service, own, bad).await.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
    deployment.setup.revoke_api_key(deployment.id(), deployment.api_key.id).await.expect("revoked");
    assert_eq!(ask(&service, own, "").await.status(), StatusCode::UNAUTHORIZED);
}

/// T8: so many streams of a project and no more; another project is not concerned, and a place comes back.
#[tokio::test(flavor = "multi_thread")]
async fn streams_of_one_project_are_bounded() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    let others = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    let (own, waiting) = (deployment.api_key.secret.reveal(), "?after=99&wait=30");
    let quiet = format!("?after={}&wait=30", deployment.published.seq);

    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(ask(&service, own, &quiet).await);
    }
    assert!(open.iter().all(|answer| answer.status() == StatusCode::OK));
    let refused = ask(&service, own, waiting).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(ask(&service, others.secret.reveal(), "").await.status(), StatusCode::OK);

    drop(open);
    let began = Instant::now();
    while ask(&service, own, "").await.status() != StatusCode::OK {
        assert!(began.elapsed() < Duration::from_secs(10), "a reader that hung up gives its place back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// T8: a service that stops ends its streams with a checkpoint, not in the middle.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_service_ends_its_streams_with_a_checkpoint() {
    let deployment = Deployment::new().await;
    let bound = bind(deployment.config.clone()).await.expect("bound");
    let service = Service {
        public: format!("http://{}", bound.public_addr().expect("address")),
        internal: format!("http://{}", bound.internal_addr().expect("address")),
        console: String::new(),
        http: reqwest::Client::new(),
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(bound.run(async move {
        let _ = stopped.await;
    }));
    let quiet = format!("?after={}&wait=30", deployment.published.seq);
    let began = Instant::now();
    let waiting = ask(&service, deployment.api_key.secret.reveal(), &quiet).await;

    stop.send(()).expect("running");

    let text = waiting.text().await.expect("a clean end");
    let line = Line::parse(text.trim_end().as_bytes()).expect("one line");
    assert!(matches!(line, Line::Checkpoint(_)));
    running.await.expect("no panic").expect("stopped");
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// T8: more than one batch, and bodies of any size, come in order and without a gap.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_record_comes_in_batches_that_each_end_in_a_checkpoint() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    for _ in 0..7 {
        let items = (0..100).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1).collect();
        record(&service, &deployment.token, items).await.expect("200");
    }
    let mut follower = follower(&service, &deployment).await;

    let all = lines(&service, &deployment, "").await;
    for line in &all {
        follower.follow(line).expect("holds");
    }

    let checkpoints = all.iter().filter(|line| matches!(line, Line::Checkpoint(_))).count();
    assert!((3..20).contains(&checkpoints), "{checkpoints}");
    let database = connect(&deployment.config, "postgres").await;
    let size = database.query_one("select size from heads", &[]).await.expect("a head").get::<_, i64>(0);
    assert_eq!(i64::try_from(follower.size()), Ok(size));
}
