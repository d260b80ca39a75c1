//! Packages as they are asked for, made and handed out (P7, T1, T5, T8).

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::package::zip::Archive;
use counterfoil_core::package::{self, Promise, Report, Source, Verdict as Answer, name};
use counterfoil_core::receipt::Trust;
use counterfoil_core::statement::{Say, Verdict};
use counterfoil_evidence::setup::{GrantChange, WhichGrants};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{BY, Deployment, Service, connect, introduce, new_project, publish};
use crate::gateway::{Judged, item, opening, record};
use crate::holding::hold;

const PATIENCE: Duration = Duration::from_secs(60);

async fn ask(deployment: &Deployment, service: &Service, wanted: Value) -> (StatusCode, Value) {
    let request = service.http.post(format!("{}/v1/packages", service.public));
    let answer = request.bearer_auth(deployment.api_key.secret.reveal()).json(&wanted).send().await;
    let answer = answer.expect("answer");
    (answer.status(), answer.json().await.expect("JSON"))
}

async fn get(deployment: &Deployment, service: &Service, path: &str) -> reqwest::Response {
    let request = service.http.get(format!("{}{path}", service.public));
    request.bearer_auth(deployment.api_key.secret.reveal()).send().await.expect("answer")
}

/// Follows one that was asked for to its end.
async fn followed(deployment: &Deployment, service: &Service, id: &Value) -> Value {
    let path = format!("/v1/packages/{}", id.as_str().expect("an id"));
    let following = async {
        loop {
            let progress: Value = get(deployment, service, &path).await.json().await.expect("JSON");
            if progress["state"] == "done" || progress["state"] == "failed" {
                return progress;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, following).await.expect("an end")
}

async fn made(deployment: &Deployment, service: &Service, wanted: Value) -> Vec<u8> {
    let (status, asked) = ask(deployment, service, wanted).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{asked}");
    let progress = followed(deployment, service, &asked["id"]).await;
    assert_eq!(progress["state"], "done", "{progress}");
    assert_eq!(progress["done"], progress["of"]);
    let path = format!("/v1/packages/{}/package.zip", asked["id"].as_str().expect("an id"));
    let answer = get(deployment, service, &path).await;
    assert_eq!(answer.status(), StatusCode::OK);
    answer.bytes().await.expect("bytes").to_vec()
}

fn verified(zip: Vec<u8>, trust: &Trust) -> Report {
    let zip = Archive::open(zip).expect("a zip");
    let registry = |_: &_, _: &_| None::<Promise>;
    let trust = package::Trust { keys: trust, since: None, held: &[], registry: &registry };
    package::verify(&zip, &trust).expect("readable")
}

async fn denied(deployment: &Deployment, service: &Service, count: usize) {
    let items = (0..count).map(|_| item(deployment, &Judged::now(deployment, Verdict::Deny)).1).collect();
    record(service, &deployment.token, items).await.expect("200");
}

/// P7: what the service packs, the core verifies; from a later checkpoint too.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_the_service_made_verifies() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    denied(&deployment, &service, 100).await;
    denied(&deployment, &service, 57).await;
    let trust = deployment.trust(&service).await;

    let whole = verified(made(&deployment, &service, json!({})).await, &trust);
    let later = verified(made(&deployment, &service, json!({"from": 120})).await, &trust);

    assert_eq!(whole.verdict, Answer::Unanchored);
    assert_eq!((whole.first, whole.size, whole.verified), (0, 163, 163));
    assert_eq!(later.verdict, Answer::Unanchored);
    // The commit at or before entry 120 ended with entry 105.
    assert_eq!((later.first, later.size, later.verified), (106, 163, 57));
}

/// T1: another project's package is nothing, whatever its id; nobody's key opens nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_for_the_project_that_asked() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("project");
    introduce(&deployment.setup, other.id, &deployment.decision).await;
    publish(&deployment.setup, other.id).await;
    let agent = counterfoil_evidence::setup::Setup::fresh_agent();
    let key = deployment.setup.create_api_key(other.id, agent, None).await.expect("a key");
    let (_, asked) = ask(&deployment, &service, json!({})).await;
    followed(&deployment, &service, &asked["id"]).await;

    for below in ["", "/package.zip"] {
        let url = format!("{}/v1/packages/{}{below}", service.public, asked["id"].as_str().expect("an id"));
        let foreign = service.http.get(&url).bearer_auth(key.secret.reveal()).send().await.expect("answer");
        assert_eq!(foreign.status(), StatusCode::NOT_FOUND);
        let nobody = service.http.get(&url).send().await.expect("answer");
        assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    }
    let nobody = service.http.post(format!("{}/v1/packages", service.public)).send().await.expect("answer");
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
}

/// T8: asking again is the same package; what cannot be is refused; files are bounded in number and size.
#[tokio::test(flavor = "multi_thread")]
async fn packages_are_bounded() {
    let mut deployment = Deployment::new().await;
    deployment.config.packages.keep = 2;
    let service = deployment.serve().await;

    let (_, one) = ask(&deployment, &service, json!({})).await;
    let (_, same) = ask(&deployment, &service, json!({})).await;
    assert_eq!(one["id"], same["id"]);
    for wrong in [json!({"from": 1000}), json!({"frm": 1}), json!({"with_rules": true, "public": true})] {
        assert_eq!(ask(&deployment, &service, wrong).await.0, StatusCode::BAD_REQUEST);
    }
    followed(&deployment, &service, &one["id"]).await;
    for _ in 0..3 {
        denied(&deployment, &service, 1).await;
        made(&deployment, &service, json!({})).await;
    }

    let folder = deployment.config.packages.folder.join(deployment.id().to_string());
    let files = || std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path());
    let few = async {
        while files().count() > 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, few).await.expect("swept");
    for file in files() {
        let mode = file.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    let gone = get(&deployment, &service, &format!("/v1/packages/{}", one["id"].as_str().expect("id"))).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

/// T8
#[tokio::test(flavor = "multi_thread")]
async fn a_package_larger_than_allowed_fails_and_says_so() {
    let mut deployment = Deployment::new().await;
    deployment.config.packages.largest_bytes = 4096;
    let service = deployment.serve().await;
    denied(&deployment, &service, 150).await;

    let (_, asked) = ask(&deployment, &service, json!({})).await;
    let progress = followed(&deployment, &service, &asked["id"]).await;

    assert_eq!((&progress["state"], &progress["failure"]), (&json!("failed"), &json!("too_large")));
    let folder = deployment.config.packages.folder.join(deployment.id().to_string());
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 0);
}

/// A worker that died in the middle: its lease lapses and somebody begins again; a lease that holds is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_worker_left_is_begun_again() {
    let deployment = Deployment::new().await;
    let admin = connect(&deployment.config, counterfoil_evidence::cluster::SUPERUSER).await;
    let left = "insert into packages (project_id, package_id, audience, first, state, asked_at, done, attempts, \
                worker, lease_until) values ($1, $2, 'own', 0, 'running', 1, 3, 1, $2, $3)";
    let id = uuid::Uuid::from_bytes([7; 16]);
    let held = i64::MAX;
    admin.execute(left, &[&deployment.id().uuid(), &id, &held]).await.expect("a row");
    let folder = deployment.config.packages.folder.join(deployment.id().to_string());
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("pkg_nothing.zip"), "left behind").expect("a file");
    let service = deployment.serve().await;

    let (status, same) = ask(&deployment, &service, json!({})).await;
    assert_eq!((status, &same["state"]), (StatusCode::ACCEPTED, &json!("running")));
    let swept = async {
        while folder.join("pkg_nothing.zip").exists() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, swept).await.expect("swept");
    let path = format!("/v1/packages/{}", same["id"].as_str().expect("an id"));
    let progress: Value = get(&deployment, &service, &path).await.json().await.expect("JSON");
    assert_eq!(progress["state"], "running", "its lease holds");
    let lapse = "update packages set lease_until = 5 where project_id = $1";
    admin.execute(lapse, &[&deployment.id().uuid()]).await.expect("lapsed");

    let progress = followed(&deployment, &service, &same["id"]).await;
    assert_eq!(progress["state"], "done");
}

/// T5: a package with a body that was erased since is not handed out any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_goes_with_what_was_erased() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    denied(&deployment, &service, 3).await;
    let (_, asked) = ask(&deployment, &service, json!({})).await;
    followed(&deployment, &service, &asked["id"]).await;
    let admin = connect(&deployment.config, counterfoil_evidence::cluster::SUPERUSER).await;
    let erase = "insert into tombstones (project_id, seq, first_seq, last_seq) values ($1, 9, 7, 7)";
    admin.execute(erase, &[&deployment.id().uuid()]).await.expect("a row");

    let path = format!("/v1/packages/{}/package.zip", asked["id"].as_str().expect("an id"));
    let gone = async {
        while get(&deployment, &service, &path).await.status() != StatusCode::NOT_FOUND {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("gone");
}

/// T12: strangers get the newest package of a page, and never one with sealed openings in it.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_the_public_package() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let judged = Judged::now(&deployment, Verdict::Deny);
    let (decision, item) = item(&deployment, &judged);
    record(&service, &deployment.token, vec![item, opening(&deployment, decision)]).await.expect("200");
    let with_rules = made(&deployment, &service, json!({"with_rules": true})).await;
    let url = format!("{}{}/package.zip", service.public, deployment.project.issuer.page_path());

    let fetching = async {
        loop {
            let answer = service.http.get(&url).send().await.expect("answer");
            match answer.status() {
                StatusCode::ACCEPTED => tokio::time::sleep(Duration::from_millis(20)).await,
                StatusCode::OK => return answer.bytes().await.expect("bytes").to_vec(),
                other => panic!("{other}"),
            }
        }
    };
    let public = tokio::time::timeout(PATIENCE, fetching).await.expect("made");

    let trust = deployment.trust(&service).await;
    assert_eq!(verified(public.clone(), &trust).verdict, Answer::Unanchored);
    let public = Archive::open(public).expect("a zip");
    let with_rules = Archive::open(with_rules).expect("a zip");
    for rules in [name::BUNDLES, name::OPENINGS] {
        assert!(public.open(rules).expect("readable").is_none(), "{rules}");
        assert!(with_rules.open(rules).expect("readable").is_some(), "{rules}");
    }
    let mut sealed = String::new();
    let mut openings = with_rules.open(name::OPENINGS).expect("readable").expect("there");
    std::io::Read::read_to_string(&mut openings, &mut sealed).expect("text");
    assert_eq!(sealed, format!("{{\"seq\":6,\"decision\":\"{decision}\",\"jwe\":\"a.b.c.d.e\"}}\n"));
    let published = deployment.setup.publish_rules(deployment.id(), "", BY).await.expect("rules");
    // One that is a minute old is new enough for strangers, who cannot have one made for every entry.
    let answer = service.http.get(&url).send().await.expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let old = verified(answer.bytes().await.expect("bytes").to_vec(), &trust);
    assert_eq!(old.size, published.seq);
    let admin = connect(&deployment.config, counterfoil_evidence::cluster::SUPERUSER).await;
    let hide = "update projects set visibility = 'private' where project_id = $1";
    admin.execute(hide, &[&deployment.id().uuid()]).await.expect("hidden");
    assert_eq!(service.http.get(&url).send().await.expect("answer").status(), StatusCode::NOT_FOUND);
}

/// P8: what a decision saw can be evaluated again when it stands no more.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_with_rules_has_every_text_of_a_grant() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let (setup, project) = (&deployment.setup, deployment.id());
    let said = (Say::ApproveFor, Some(30));
    setup.answer_hold(project, held.hold, held.seen(), said, "operator-1").await.expect("granted");
    let which = || WhichGrants::Agent(deployment.agent);
    for change in [GrantChange::Shorten { minutes: 10 }, GrantChange::Remove] {
        setup.change_grants(project, which(), change, (None, "operator-1")).await.expect("changed");
    }

    let package =
        Archive::open(made(&deployment, &service, json!({"with_rules": true})).await).expect("a zip");

    let mut text = String::new();
    let mut file = package.open(name::GRANTS).expect("readable").expect("there");
    std::io::Read::read_to_string(&mut file, &mut text).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 2, "{text}");
    for line in &lines {
        let document: GrantDocument = serde_json::from_value(line["document"].clone()).expect("a document");
        assert_eq!(document.agent, deployment.agent);
        assert!(line["nonce"].is_string() && line["seq"].is_u64());
    }
    assert!(lines[0]["document"]["until"].as_str() > lines[1]["document"]["until"].as_str());
    let plain = Archive::open(made(&deployment, &service, json!({})).await).expect("a zip");
    assert!(plain.open(name::GRANTS).expect("readable").is_none());
}
