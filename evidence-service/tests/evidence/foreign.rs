//! Somebody else's things, on every route and by every method: the same answer as for what does not exist (T1).
//!
//! The table is held against the router's own text: a route that is not in it fails the test.

use std::collections::BTreeSet;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, AgentId, HoldId, PackageId, ProjectId};
use counterfoil_core::nonce::base64url;
use counterfoil_core::statement::Verdict;
use counterfoil_evidence::Visibility;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::answers::recorded;
use crate::deployment::{Deployment, Service, new_project, now};
use crate::gateway::{Judged, decision, fresh_action, fresh_uuid, record, sign, statement};
use crate::holding::hold;
use crate::provider::{execution, native};
use crate::provider_keys::{fresh_key, import, notes};
use crate::vendor_sessions::{asking, open};

/// What one question names: something of the owner's, or something that never was.
struct Names {
    page: String,
    action: ActionId,
    decision: Digest,
    package: String,
    project: ProjectId,
    hold: HoldId,
    agent: AgentId,
    /// A vendor's own id of a session.
    external: &'static str,
}

/// The paths of both listeners, as they are written where they are made.
fn routes() -> BTreeSet<&'static str> {
    let router = include_str!("../../src/service/routers.rs");
    router.split(".route(").skip(1).map(|rest| rest.split('"').nth(1).expect("a path")).collect()
}

const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];

/// How each route is asked about something: path and body. None where a route is about nobody's things.
fn asked(route: &'static str, names: &Names) -> Option<(String, Option<Value>)> {
    let Names { page, action, package, project, .. } = names;
    let path = route
        .replace("/p/{name}", page)
        .replace("{action}", &action.to_string())
        .replace("{seq}", "3")
        .replace("{*path}", "0/000.p/1")
        .replace("{id}", package);
    let body = match route {
        "/healthz" | "/readyz" | "/assets/{name}" => return None,
        // These answer of the caller's own project whatever is asked; `own_things_only` looks at what they say.
        "/v1/receipts/{seq}" | "/v1/acceptances" | "/v1/export" | "/v1/packages" | "/v1/coverage" => {
            return None;
        }
        "/internal/v1/projects" => return None,
        "/v1/executions" | "/v1/tool-catalog" => Some(json!(null)),
        // Of the caller's own key, whatever another calls its own.
        "/v1/sessions" => Some(json!({"external_id": names.external})),
        "/v1/sessions/{external_id}/close" => {
            return Some((path.replace("{external_id}", names.external), Some(json!({}))));
        }
        "/internal/v1/asked" => Some(asking(*project, names.external)),
        "/internal/v1/control" => return Some((format!("{path}?project={project}"), None)),
        "/internal/v1/holds/{hold}" => {
            let path = path.replace("{hold}", &names.hold.to_string());
            return Some((format!("{path}?project={project}"), None));
        }
        "/internal/v1/holds" => {
            let call = base64url(&[7; 32]);
            return Some((format!("{path}?project={project}&agent={}&call={call}", names.agent), None));
        }
        "/internal/v1/sessions" => {
            return Some((format!("{path}?project={project}&key=key_{}", "0193".repeat(8)), None));
        }
        "/internal/v1/definitions" => Some(json!({"v": 1, "project": project, "definitions": []})),
        "/internal/v1/probes" => Some(json!({
            "v": 1, "project": project, "provider": "notes", "tool": "note_list", "began_at": now(),
            "cases": [{"case": "missing", "outcome": "refused"}],
        })),
        "/internal/v1/record" => {
            Some(json!({"v": 1, "instance": "gwi_019355a0c0007000800000000000a001", "items": [
                {"item": "opening", "project": project, "decision": names.decision, "jwe": "a.b.c.d.e"},
            ]}))
        }
        page if page.starts_with("/p/{name}") => None,
        "/v1/packages/{id}" | "/v1/packages/{id}/package.zip" => None,
        other => panic!("nobody said how `{other}` is asked about somebody else's things"),
    };
    Some((path, body))
}

struct World {
    deployment: Deployment,
    service: Service,
    /// A key and a gateway's token of another project, of the same name.
    key: String,
    token: String,
    other: ProjectId,
    theirs: Names,
    nothing: Names,
}

/// Two projects of one name, with one provider id; everything there is, is in the first.
async fn world() -> World {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let said = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let action = said.action;
    let signed = sign(said, &deployment.decision);
    let one = statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None);
    recorded(&record(&service, &deployment.token, vec![one]).await.expect("200")[0]);
    import(&deployment.setup, deployment.id(), &notes(), fresh_key().public()).await.expect("imported");
    deployment.setup.show_to(deployment.id(), Visibility::Private, "operator-1").await.expect("private");
    let package = package(&service, deployment.api_key.secret.reveal()).await;

    let held = hold(&deployment, &service).await;
    open(&service, deployment.api_key.secret.reveal(), "order-17").await;

    let other = deployment.setup.create_project(&new_project("First")).await.expect("a project");
    let agent = deployment.agent;
    let key = deployment.setup.create_api_key(other.id, agent, Some("u-1")).await.expect("a key");
    let kid = deployment.decision.kid().clone();
    let token = deployment.setup.create_service_token(&[other.id], &[kid]).await.expect("a token");
    let theirs = Names {
        page: deployment.project.issuer.page_path(),
        action,
        decision: signed.digest(),
        package,
        project: deployment.id(),
        hold: held.hold,
        agent: deployment.agent,
        external: "order-17",
    };
    let nothing = Names {
        page: "/p/7-aaaaaaaa".to_owned(),
        action: fresh_action(),
        decision: Digest::of(b"nothing"),
        package: PackageId::from_uuid(fresh_uuid()).to_string(),
        project: ProjectId::from_uuid(fresh_uuid()),
        hold: HoldId::from_uuid(fresh_uuid()),
        agent: AgentId::from_uuid(fresh_uuid()),
        external: "order-18",
    };
    let (key, token) = (key.secret.reveal().to_owned(), token.secret.reveal().to_owned());
    World { deployment, service, key, token, other: other.id, theirs, nothing }
}

async fn package(service: &Service, key: &str) -> String {
    let asked = service.http.post(format!("{}/v1/packages", service.public)).bearer_auth(key).send().await;
    let asked: Value = asked.expect("answer").json().await.expect("JSON");
    asked["id"].as_str().expect("an id").to_owned()
}

impl World {
    /// Status, headers and body, without what differs between any two answers.
    async fn answer(
        &self,
        route: &'static str,
        method: &Method,
        names: &Names,
    ) -> Option<(StatusCode, String)> {
        let (path, body) = asked(route, names)?;
        let internal = path.starts_with("/internal");
        let base = if internal { &self.service.internal } else { &self.service.public };
        let credential = if internal { &self.token } else { &self.key };
        let mut request =
            self.service.http.request(method.clone(), format!("{base}{path}")).bearer_auth(credential);
        if let Some(body) = body.filter(|_| matches!(*method, Method::POST | Method::PUT | Method::PATCH)) {
            request = request.json(&body);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let mut headers = answer.headers().clone();
        headers.remove("date");
        let body = answer.text().await.expect("text");
        Some((status, format!("{headers:?}\n{body}")))
    }
}

/// T1: page, tiles, receipts, actions, packages, control, record: what is another project's is not there.
#[tokio::test(flavor = "multi_thread")]
async fn on_every_route_and_method_another_projects_things_are_things_that_do_not_exist() {
    let world = world().await;
    let mut compared = 0;
    for route in routes() {
        for method in &METHODS {
            let theirs = world.answer(route, method, &world.theirs).await;
            let nothing = world.answer(route, method, &world.nothing).await;
            assert_eq!(theirs, nothing, "{method} {route}");
            if let Some((status, said)) = theirs {
                assert!(!status.is_success(), "{method} {route}: {status} {said}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 60, "{compared}");
    // The owner meets what is there, so that the comparison above was not one of two typing errors.
    let page = format!("{}{}", world.service.public, world.theirs.page);
    let own = world.deployment.api_key.secret.reveal();
    let answer = world.service.http.get(&page).bearer_auth(own).send().await.expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
}

/// T1, P4: a statement about another project's action is, in the caller's project, one about no action at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_about_another_projects_action_is_an_execution_without_decision_in_the_callers_own() {
    let world = world().await;
    let key = fresh_key();
    import(&world.deployment.setup, world.other, &notes(), key.public()).await.expect("imported");
    let url = format!("{}/v1/executions", world.service.public);
    let post = async |names: &Names| {
        let said = native(execution(world.other, names.action, names.decision), &key);
        let request = world.service.http.post(&url).bearer_auth(&world.key);
        let answer =
            request.header("content-type", "application/json").body(said).send().await.expect("answer");
        assert_eq!(answer.status(), StatusCode::OK);
        answer.json::<Value>().await.expect("JSON")
    };

    let (theirs, nothing) = (post(&world.theirs).await, post(&world.nothing).await);

    for said in [&theirs, &nothing] {
        assert_eq!((&said["ok"], &said["signature_valid"]), (&json!(true), &json!(true)), "{said}");
    }
    let members = |said: &Value| said.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&theirs), members(&nothing));
    let found = findings(&world, &world.key, 2).await;
    assert!(found.iter().all(|code| code == "EXECUTION_WITHOUT_DECISION"), "{found:?}");
    let own = world.deployment.api_key.secret.reveal();
    assert!(codes(&world, own).await.is_empty(), "the owner's record knows nothing of it");
}

/// T1: what is asked without a name is answered of the caller's own project alone.
#[tokio::test(flavor = "multi_thread")]
async fn lists_and_streams_hold_the_callers_own_project_alone() {
    let world = world().await;
    let theirs = world.theirs.project.to_string();
    for path in ["/v1/export", "/v1/acceptances", "/v1/receipts/0"] {
        let url = format!("{}{path}", world.service.public);
        let answer = world.service.http.get(&url).bearer_auth(&world.key).send().await.expect("answer");
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let said = answer.text().await.expect("text");
        assert!(
            !said.contains(&theirs) && !said.contains(&world.theirs.action.to_string()),
            "{path}: {said}"
        );
    }
    let projects = world.service.http.get(format!("{}/internal/v1/projects", world.service.internal));
    let projects: Value =
        projects.bearer_auth(&world.token).send().await.expect("answer").json().await.expect("JSON");
    assert_eq!(projects["projects"], json!([world.other]));
}

/// Waits until the record of that key's project has this many findings.
async fn findings(world: &World, key: &str, count: usize) -> Vec<String> {
    for _ in 0..300 {
        let found = codes(world, key).await;
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{count} findings did not come");
}

async fn codes(world: &World, key: &str) -> Vec<String> {
    let url = format!("{}/v1/export", world.service.public);
    let lines = world.service.http.get(&url).bearer_auth(key).send().await.expect("answer").text().await;
    let lines = lines.expect("text");
    let payloads = lines.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let payload = &line["body"]["payload"];
        (payload["typ"] == "finding/v1").then(|| payload["code"].as_str().map(str::to_owned))?
    });
    payloads.collect()
}
