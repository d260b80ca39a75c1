//! The console: who is let in, what becomes of what they do, and what browsers can be made to do there.

use counterfoil_core::statement::Reason;
use counterfoil_evidence::setup::{Kept, Role};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::deployment::{Deployment, Service, new_project};
use crate::holding::{hold, hold_for};

const HOLD: &str = "hld_019355a0c0007000800000000000a001";
const GRANT: &str = "grt_019355a0c0007000800000000000a001";

async fn token(deployment: &Deployment, name: &str, role: Role) -> String {
    let made = deployment.setup.create_operator(deployment.id(), name, (role, Kept::Apart)).await;
    made.expect("a token").secret.reveal().to_owned()
}

fn post(service: &Service, path: &str, token: &str, body: &Value) -> RequestBuilder {
    service.http.post(format!("{}{path}", service.console)).bearer_auth(token).json(body)
}

async fn status(request: RequestBuilder) -> StatusCode {
    request.send().await.expect("an answer").status()
}

/// Every route of the console, as it is written where they are made.
fn routes() -> Vec<&'static str> {
    let text = include_str!("../../src/console.rs");
    text.split(".route(\"").skip(1).map(|rest| rest.split('"').next().expect("a path")).collect()
}

async fn size(deployment: &Deployment) -> u64 {
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean").size
}

/// T3: nobody is let in but by a live token, and to an agent the listener is empty.
#[tokio::test(flavor = "multi_thread")]
async fn the_console_is_for_operators_tokens_alone() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let good = token(&deployment, "ops-1", Role::Viewer).await;
    let gone = token(&deployment, "ops-2", Role::Admin).await;
    deployment.setup.revoke_operator(deployment.id(), "ops-2").await.expect("revoked");
    let agents = deployment.api_key.secret.reveal();
    let get = |key: &str| service.http.get(format!("{}/v1/holds", service.console)).bearer_auth(key);

    assert_eq!(status(get(&good)).await, StatusCode::OK);
    for (key, expected) in [
        (agents, StatusCode::NOT_FOUND),
        (gone.as_str(), StatusCode::UNAUTHORIZED),
        (deployment.token.as_str(), StatusCode::UNAUTHORIZED),
        ("cfo_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", StatusCode::UNAUTHORIZED),
        ("", StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(status(get(key)).await, expected, "{key:.8}");
    }
    // Wherever an agent asks, it finds what it finds at a path that is not there.
    for route in routes() {
        let url = format!("{}{}", service.console, route.replace("{hold}", HOLD).replace("{grant}", GRANT));
        let methods =
            if ["/sign-in", "/sign-out"].contains(&route) { vec![] } else { vec![Method::GET, Method::POST] };
        for method in methods {
            let asked = service
                .http
                .request(method.clone(), &url)
                .bearer_auth(agents)
                .header("origin", &service.console);
            let found = status(asked.json(&json!({}))).await;
            assert!(
                [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&found),
                "{method} {route}: {found}"
            );
        }
    }
    // And an operator's token opens nothing elsewhere.
    let page = format!("{}/v1/export", service.public);
    assert_eq!(status(service.http.get(page).bearer_auth(&good)).await, StatusCode::UNAUTHORIZED);
    let control = format!("{}/internal/v1/projects", service.internal);
    assert_eq!(status(service.http.get(control).bearer_auth(&good)).await, StatusCode::UNAUTHORIZED);
}

/// G7, G8: a role reaches as far as it says, and what is done stands in the record under the pseudonym.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_does_is_an_entry_under_its_pseudonym_and_within_its_role() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let viewer = token(&deployment, "ops-v", Role::Viewer).await;
    let operator = token(&deployment, "ops-o", Role::Operator).await;
    let admin = token(&deployment, "ops-a", Role::Admin).await;
    let window = json!({"turn": "open", "minutes": 10, "reason": "the paging service is down"});
    let before = size(&deployment).await;

    for (path, body, token) in [
        ("/v1/kill", json!({}), &viewer),
        ("/v1/resume", json!({}), &operator),
        ("/v1/breakglass", window.clone(), &operator),
        ("/v1/shadow", window.clone(), &viewer),
    ] {
        assert_eq!(status(post(&service, path, token, &body)).await, StatusCode::FORBIDDEN, "{path}");
    }
    for body in [json!({"scope": "everything"}), json!({"reason": 7}), json!({"scop": "live"}), json!([])] {
        assert_eq!(
            status(post(&service, "/v1/kill", &operator, &body)).await,
            StatusCode::BAD_REQUEST,
            "{body}"
        );
    }
    let early = post(&service, "/v1/resume", &admin, &json!({})).send().await.expect("an answer");
    assert_eq!(early.status(), StatusCode::CONFLICT);
    let said: Value = early.json().await.expect("JSON");
    assert_eq!(said["error"]["message"], "this project is not killed, and nothing else in it is");
    assert_eq!(size(&deployment).await, before, "nothing of this is in the record");

    let opened = post(&service, "/v1/breakglass", &admin, &window).send().await.expect("an answer");
    let opened: Value = opened.json().await.expect("JSON");
    assert!(opened["until"].is_string(), "{opened}");
    let killed = post(&service, "/v1/kill", &operator, &json!({"scope": "live", "reason": "a drill"}));
    let killed: Value = killed.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(killed["floor"], killed["control"]);
    let resumed = post(&service, "/v1/resume", &admin, &json!({"scope": "live"}));
    assert_eq!(status(resumed).await, StatusCode::OK);

    let seq = killed["seq"].as_u64().expect("a number");
    let receipt = deployment.setup.receipt(deployment.id(), seq).await.expect("read").expect("an entry");
    let receipt: Value = serde_json::from_slice(&receipt).expect("JSON");
    let payload = &receipt["statement"]["payload"];
    assert_eq!(
        (&payload["behalf"], &payload["scope"], &payload["reason"]),
        (&json!("ops-o"), &json!("live"), &json!("a drill"))
    );
}

/// T11: no page of somebody else's makes a browser do anything, and no GET does.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_signs_in_looks_and_changes_nothing_by_looking() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let token = token(&deployment, "ops-1", Role::Admin).await;
    let browser = Client::builder().redirect(Policy::none()).build().expect("a client");
    let at = |path: &str| format!("{}{path}", service.console);
    let paste = |origin: Option<&str>| {
        let request =
            browser.post(at("/sign-in")).header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(format!("token={token}"));
        origin.map_or(request.try_clone().expect("a copy"), |origin| request.header("origin", origin))
    };
    let before = size(&deployment).await;

    assert_eq!(status(paste(None)).await, StatusCode::FORBIDDEN);
    assert_eq!(status(paste(Some("https://evil.example"))).await, StatusCode::FORBIDDEN);
    let signed = paste(Some(&service.console)).send().await.expect("an answer");
    assert_eq!(signed.status(), StatusCode::SEE_OTHER);
    let cookie = signed.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();

    let front = browser.get(at("/")).header("cookie", &cookie).send().await.expect("an answer");
    let policy = front.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let page = front.text().await.expect("text");
    assert!(page.contains("No call waits for a person.") && !page.contains("<script"), "{page}");
    assert!(!page.contains(&token), "the token is in no page");
    let nobody = browser.get(at("/")).send().await.expect("an answer").text().await.expect("text");
    assert!(nobody.contains("Operator&#39;s token") || nobody.contains("Operator's token"), "{nobody}");
    // A cookie is no bearer, and a bearer no cookie.
    assert_eq!(
        status(browser.get(at("/v1/holds")).header("cookie", &cookie)).await,
        StatusCode::UNAUTHORIZED
    );
    let foreign = browser.post(at(&format!("/holds/{HOLD}"))).header("cookie", &cookie);
    assert_eq!(status(foreign).await, StatusCode::FORBIDDEN);
    for route in routes() {
        let path = route.replace("{hold}", HOLD).replace("{grant}", GRANT);
        let looked = browser.get(at(&path)).header("cookie", &cookie).bearer_auth(&token);
        let _ = looked.send().await.expect("an answer");
    }
    let rebound = browser.get(at("/")).header("cookie", &cookie).header("host", "evil.example");
    assert_eq!(status(rebound).await, StatusCode::FORBIDDEN);
    assert_eq!(size(&deployment).await, before);
}

/// T1: another project's holds and grants are holds and grants that do not exist.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_of_another_project_finds_nothing_here() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("made");
    let made = deployment
        .setup
        .create_operator(other.id, "ops-1", (Role::Admin, Kept::Apart))
        .await
        .expect("a token");
    let theirs = made.secret.reveal();
    let answer = json!({"answer": "deny", "decision": format!("sha256:{}", "0".repeat(64)), "card": format!("sha256:{}", "0".repeat(64))});

    for (path, body) in [
        (format!("/v1/holds/{HOLD}/answer"), answer),
        (format!("/v1/grants/{GRANT}"), json!({"change": "remove"})),
    ] {
        assert_eq!(status(post(&service, &path, theirs, &body)).await, StatusCode::NOT_FOUND, "{path}");
    }
    let killed = post(&service, "/v1/kill", theirs, &json!({})).send().await.expect("an answer");
    assert_eq!(killed.status(), StatusCode::OK);

    let ours = deployment.setup.resume(deployment.id(), None, crate::deployment::BY).await;
    assert!(ours.is_err(), "the kill was of their own project alone");
}

/// One name, one token; what is kept is not the token.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_one_name_and_is_kept_as_a_digest() {
    let deployment = Deployment::new().await;
    let (setup, id) = (&deployment.setup, deployment.id());
    let first = token(&deployment, "ops-1", Role::Operator).await;

    let twice = setup.create_operator(id, "ops-1", (Role::Viewer, Kept::Apart)).await;
    assert!(twice.expect_err("taken").to_string().contains("revoke it first"));
    setup.revoke_operator(id, "ops-1").await.expect("revoked");
    assert!(setup.revoke_operator(id, "ops-1").await.is_err());
    setup.create_operator(id, "ops-1", (Role::Viewer, Kept::OnThisMachine)).await.expect("free again");

    let listed = setup.operators(id).await.expect("read");
    let roles: Vec<_> = listed.iter().map(|o| (o.role.as_str(), o.kept, o.revoked_at.is_some())).collect();
    assert_eq!(roles, [("operator", Kept::Apart, true), ("viewer", Kept::OnThisMachine, false)]);
    assert!(!format!("{listed:?}").contains(&first));
    for name in ["", "ann@example.com"] {
        assert!(setup.create_operator(id, name, (Role::Viewer, Kept::Apart)).await.is_err(), "{name}");
    }
}

/// G5: a person sees the card, names what was seen, and answers once, from a program or from a page.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_answered_over_the_console_once_and_by_what_was_shown() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let token = token(&deployment, "ops-1", Role::Operator).await;
    let (one, two) = (hold(&deployment, &service).await, hold(&deployment, &service).await);
    let (decision, card) = one.seen();
    let answer = |card| json!({"answer": "approve_for", "minutes": 30, "decision": decision, "card": card});
    let path = format!("/v1/holds/{}/answer", one.hold);

    let listed = service.http.get(format!("{}/v1/holds", service.console)).bearer_auth(&token);
    let listed: Value = listed.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(listed["holds"].as_array().map(Vec::len), Some(2));
    assert_eq!(status(post(&service, &path, &token, &answer(decision))).await, StatusCode::CONFLICT);
    let done = post(&service, &path, &token, &answer(card)).send().await.expect("an answer");
    assert_eq!(done.status(), StatusCode::OK);
    assert_eq!(status(post(&service, &path, &token, &answer(card))).await, StatusCode::CONFLICT);
    let grants = service.http.get(format!("{}/v1/grants", service.console)).bearer_auth(&token);
    let grants: Value = grants.send().await.expect("an answer").json().await.expect("JSON");
    let grant = grants["grants"][0]["grant"].as_str().expect("a grant").to_owned();
    let removed = post(&service, &format!("/v1/grants/{grant}"), &token, &json!({"change": "remove"}));
    assert_eq!(status(removed).await, StatusCode::OK);

    let browser = Client::builder().redirect(Policy::none()).build().expect("a client");
    let cookie = format!("counterfoil_operator={token}");
    let at = format!("{}/holds/{}", service.console, two.hold);
    let page = browser
        .get(&at)
        .header("cookie", &cookie)
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    assert!(page.contains("value=\"deny\"") && page.contains("value=\"approve_for:30\""), "{page}");
    assert!(!page.contains("autofocus"), "{page}");
    let (decision, card) = two.seen();
    let pressed = browser.post(&at).header("cookie", &cookie).header("origin", &service.console);
    let pressed = pressed.header("content-type", "application/x-www-form-urlencoded");
    let pressed = pressed.body(format!("answer=deny&decision={decision}&card={card}"));
    assert_eq!(status(pressed).await, StatusCode::SEE_OTHER);
    let after = browser
        .get(&at)
        .header("cookie", &cookie)
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    assert!(after.contains("denied") && !after.contains("value=\"deny\""), "{after}");
}

/// G5: what is not known can be approved for one call alone, and the page offers nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_once_only_hold_has_no_button_for_a_time() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let token = token(&deployment, "ops-1", Role::Operator).await;
    let held = hold_for(&deployment, &service, Reason::DefinitionChanged, 3_600_000).await;

    let at = format!("{}/holds/{}", service.console, held.hold);
    let page = service.http.get(&at).header("cookie", format!("counterfoil_operator={token}"));
    let page = page.send().await.expect("an answer").text().await.expect("text");

    assert!(page.contains("value=\"approve_once\"") && !page.contains("approve_for"), "{page}");
}
