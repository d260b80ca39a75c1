use crate::testing::{Behaviour, OTHER_KEY, Reply, World, read};
use counterfoil_core::commitment::document_value;
use counterfoil_core::digest::Digest;
use counterfoil_core::json::canonical;
use counterfoil_core::nonce::{Nonce16, unbase64url};
use counterfoil_core::receipt::{Trust, verify};
use serde_json::{Value, json};

const LIFTABLE: &str = r#"
@id("ask") @verdict("STEP_UP") @lift("vendor")
forbid (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes/asked");
@id("ask-us") @verdict("STEP_UP")
forbid (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes/ours");
@id("less") @verdict("MODIFY") @narrow("one note")
forbid (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes/all");
@id("first") @verdict("DEFER") @needs("a search")
forbid (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes/later");
"#;

/// A world whose rules step up, and whose tools are of no high risk.
async fn world() -> World {
    let world = World::new().await;
    world.publish(|documents| {
        documents.rules.push_str(LIFTABLE);
        let read = "[provider.notes.tool.note_read]";
        documents.registry = documents.registry.replace(read, &format!("{read}\nrisk = \"low\""));
    });
    world.ledger.change(|snapshot| {
        snapshot.control += 1;
        snapshot.floor = snapshot.control;
    });
    world
}

fn body(seq: u64, tool: &str, arguments: &Value) -> Value {
    json!({
        "session_external_id": "run-7", "seq": seq, "tool": {"name": tool, "provider": "notes"},
        "args_redacted": {}, "args_hash": Digest::of(&canonical(arguments)), "arguments": arguments,
        "requested_at": "2026-11-30T11:20:00.000Z",
    })
}

fn note(seq: u64, path: &str) -> Value {
    body(seq, "note_read", &json!({ "path": path }))
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

async fn ask(world: &World, body: &Value) -> Reply {
    read(world.host.post("/v1/actions", body.to_string()).header("counterfoil-want", "full")).await
}

fn claims(answer: &Value) -> Value {
    let token = answer["dev.counterfoil/capability"].as_str().expect("a capability");
    let claims = token.split('.').nth(1).and_then(unbase64url).expect("claims");
    serde_json::from_slice(&claims).expect("JSON")
}

/// P1, C2: the receipt in the answer is all that a client has to believe.
#[tokio::test]
async fn an_allow_comes_with_its_receipt_and_a_capability_and_runs_nothing() {
    let world = World::new().await;
    let question = note(0, "/notes/a.txt");

    let reply = ask(&world, &question).await;

    assert_eq!(reply.status, 200, "{}", reply.text);
    let answer = reply.json();
    let decision = &world.decisions()[0];
    assert_eq!(answer["decision"]["verdict"], "ALLOW");
    assert_eq!(answer["decision"]["effect"], "enforced");
    assert_eq!(answer["action_id"], decision["action"]);
    assert_eq!((&decision["mode"], &decision["origin"]), (&json!("hook"), &json!("sdk")));
    assert_eq!(decision["session"], "ses_019355a0c0007000800000000000f001");
    assert_eq!(decision["ask"], json!({"seq": 0, "prev": null, "at": "2026-11-30T11:20:00.000Z"}));
    assert_eq!(decision["hold"], Value::Null);
    let mut keys = world.host.get("/p/7-k3m9q2v8/gateway-jwks.json").await.json();
    let log = serde_json::to_value(&world.ledger.lock().snapshot.keys.log[0]).expect("JSON");
    keys["keys"].as_array_mut().expect("keys").push(log);
    let trust = Trust::from_jwks(keys.to_string().as_bytes()).expect("keys");
    let full = &answer["dev.counterfoil/receipt"];
    let verified = verify(full["receipt"].to_string().as_bytes(), &trust).expect("verifies");
    assert_eq!(answer["decision"]["decision_id"], format!("dec_{}", verified.digest.hex()));
    assert_eq!(answer["chain"]["record_hash"], json!(verified.entry.hash()));
    assert_eq!(answer["receipt"]["signature"], full["receipt"]["statement"]["signature"]["sig"]);
    let openings = full["openings"].as_array().expect("openings");
    let salt = openings.iter().find(|pair| pair[0] == "args").expect("args")[1].as_str().expect("a salt");
    let salt: Nonce16 = salt.parse().expect("a salt");
    let value = document_value(&question["arguments"]);
    let disclosure = format!(r#"["{salt}","args","{value}"]"#);
    let commitment = counterfoil_core::nonce::base64url(
        Digest::of(counterfoil_core::nonce::base64url(disclosure.as_bytes()).as_bytes()).bytes(),
    );
    assert_eq!(decision["args"], commitment);
    let claims = claims(&answer);
    assert_eq!((&claims["jti"], &claims["dec"]), (&decision["capability"], &json!(verified.digest)));
    assert!(world.provider_log().is_empty(), "nothing is executed here");
    assert!(world.ledger.of_type("observation/v1").is_empty(), "nor observed");
}

/// G3, G2: the same rules as for a call that comes through here.
#[tokio::test]
async fn every_verdict_is_answered_and_recorded() {
    let world = world().await;
    let mut seq = 0;
    for (tool, path, verdict, reason) in [
        ("note_write", "/notes/a.txt", "DENY", "rule"),
        ("note_read", "/etc/passwd", "STEP_UP", "no_rule"),
        ("note_read", "/notes/asked/a", "STEP_UP", "rule"),
        ("note_read", "/notes/all/a", "MODIFY", "rule"),
        ("note_read", "/notes/later/a", "DEFER", "rule"),
        ("unheard_of", "/notes/a.txt", "STEP_UP", "unknown_tool"),
    ] {
        seq += 1;
        let answer = ask(&world, &body(seq, tool, &json!({ "path": path }))).await.json();
        assert_eq!(
            (&answer["decision"]["verdict"], &answer["decision"]["reason"]),
            (&json!(verdict), &json!(reason))
        );
        assert_eq!(answer["dev.counterfoil/capability"], Value::Null);
        let decision = world.decisions().last().expect("one").clone();
        assert_eq!((&decision["verdict"], &decision["hold"]), (&json!(verdict), &Value::Null));
        match verdict {
            "MODIFY" => assert_eq!(answer["decision"]["transform"], json!({"note": "one note"})),
            "DEFER" => assert_eq!(answer["decision"]["pending"], json!({"note": "a search"})),
            _ => assert_eq!(answer["decision"]["transform"], Value::Null),
        }
    }
    let unknown = world.decisions().last().expect("one").clone();
    assert_eq!(
        (&unknown["tool"], &unknown["provider"], &unknown["args"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert!(world.ledger.lock().holds.0.is_empty(), "no person is asked by us");
    assert!(world.provider_log().is_empty());
}

/// C1: without the arguments nothing can be bound to them.
#[tokio::test]
async fn a_vendor_that_shows_only_a_hash_gets_a_verdict_and_no_capability() {
    let world = World::new().await;
    let mut question = note(0, "/notes/a.txt");
    question.as_object_mut().expect("a body").remove("arguments");
    question["args_redacted"] = json!({"path": "/notes/a.txt"});

    let answer = ask(&world, &question).await.json();

    assert_eq!(answer["decision"]["verdict"], "ALLOW");
    assert_eq!(answer["dev.counterfoil/capability"], Value::Null);
    assert_eq!(world.decisions()[0]["capability"], Value::Null);
    assert!(world.decisions()[0]["args"].is_string());
}

/// The wire's own members, for a client that knows no others.
#[tokio::test]
async fn who_does_not_ask_for_the_receipt_gets_the_plain_answer() {
    let world = World::new().await;

    let answer = read(world.host.post("/v1/actions", note(0, "/notes/a.txt").to_string())).await.json();

    let members: Vec<&String> = answer.as_object().expect("an answer").keys().collect();
    assert_eq!(members.len(), 4, "{members:?}");
    assert_eq!(answer["decision"]["verdict"], "ALLOW");
    assert_eq!(answer["receipt"]["alg"], "Ed25519");
    assert_eq!(world.decisions()[0]["capability"], Value::Null, "nobody asked for one");
}

/// G6
#[tokio::test]
async fn a_vendors_word_lifts_only_what_a_rule_lets_it() {
    let world = world().await;
    let asked = ask(&world, &note(0, "/notes/asked/a")).await.json();
    let answer = |decision: &str| json!({"resolves_action": asked["action_id"], "human_decision": decision, "approver": "p-1"});

    let lifted = ask(&world, &with(note(1, "/notes/asked/a"), "signals", answer("APPROVE"))).await.json();
    let decision = world.decisions().last().expect("one").clone();
    assert_eq!(lifted["decision"]["verdict"], "ALLOW");
    assert_eq!(
        (&decision["marks"], &decision["follows"]),
        (&json!(["vendor_approved"]), &asked["action_id"])
    );
    assert_eq!(decision["answers"], Value::Null, "no answer of ours");

    let ours = ask(&world, &with(note(2, "/notes/ours/a"), "signals", answer("APPROVE"))).await;
    assert_eq!(
        (ours.status.as_u16(), ours.json()["decision"]["reason"].clone()),
        (200, json!("person_required"))
    );
    assert_eq!(ours.json()["decision"]["verdict"], "STEP_UP");

    let declined = ask(&world, &with(note(3, "/notes/a.txt"), "signals", answer("DECLINE"))).await.json();
    assert_eq!(
        (&declined["decision"]["verdict"], &declined["decision"]["reason"]),
        (&json!("DENY"), &json!("answered_no"))
    );

    let lone = with(note(4, "/notes/a.txt"), "signals", json!({"human_decision": "DECLINE"}));
    assert_eq!(ask(&world, &lone).await.json()["decision"]["verdict"], "ALLOW");
    let authorized = with(note(5, "/notes/asked/a"), "signals", json!({"human_authorized": true}));
    assert_eq!(ask(&world, &authorized).await.json()["decision"]["verdict"], "STEP_UP");
}

/// G6: an agent that asks for what is an operator's is refused, not held, and it is written down.
#[tokio::test]
async fn a_hold_cannot_be_approved_through_the_verdict_api() {
    let world = world().await;
    let host = world.host.initialize().await;
    let held = host.call("note_read", r#"{"path":"/notes/ours/a"}"#).await;
    assert_eq!(held.receipt()["verdict"], "STEP_UP");

    let verb = ask(&world, &body(0, "approve", &json!({"hold": "hld_1"}))).await.json();
    assert_eq!(
        (&verb["decision"]["verdict"], &verb["decision"]["reason"]),
        (&json!("DENY"), &json!("control_verb"))
    );
    let signals = json!({"resolves_action": held.receipt()["action"], "human_decision": "APPROVE"});
    let approved = ask(&world, &with(note(1, "/notes/ours/a"), "signals", signals)).await.json();
    assert_eq!(approved["decision"]["reason"], "person_required");

    let hold = world.ledger.lock().holds.0[0].state.clone();
    assert_eq!(hold.is, counterfoil_core::hold::HoldIs::Open, "the hold is as open as before");
    assert!(world.provider_log().is_empty());
    let reasons: Vec<Value> = world.decisions().iter().map(|decision| decision["reason"].clone()).collect();
    assert_eq!(reasons, ["rule", "control_verb", "person_required"]);
}

/// A retry is the same question: it gets the same answer, and nothing is judged twice.
#[tokio::test]
async fn a_question_that_is_asked_again_gets_the_stored_answer() {
    let world = World::new().await;
    let asking =
        |body: Value| world.host.post("/v1/actions", body.to_string()).header("idempotency-key", "k-1");

    let first = read(asking(note(0, "/notes/a.txt"))).await;
    let again =
        read(asking(with(note(0, "/notes/a.txt"), "requested_at", json!("2026-11-30T11:20:09.000Z")))).await;
    let other = read(asking(note(0, "/notes/b.txt"))).await;

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (200, 200));
    assert_eq!(first.text, again.text);
    assert_eq!((other.status.as_u16(), other.json()["error"].clone()), (409, json!("conflict")));
    assert_eq!(world.decisions().len(), 1);
    let by_place = ask(&world, &note(7, "/notes/a.txt")).await.json();
    assert_eq!(ask(&world, &note(7, "/notes/a.txt")).await.json()["action_id"], by_place["action_id"]);
    assert_eq!(world.decisions().len(), 2);
}

/// RECORD: what let a call go is judged again once it is old, as the same action.
#[tokio::test]
async fn what_is_too_old_to_be_told_again_is_judged_again() {
    let world = World::new().await;
    let first = ask(&world, &note(0, "/notes/a.txt")).await.json();
    world.ledger.lock().asked.is_stale = true;

    let again = ask(&world, &note(0, "/notes/a.txt")).await.json();

    let decisions = world.decisions();
    assert_eq!((decisions.len(), &again["action_id"]), (2, &first["action_id"]));
    let digest = first["decision"]["decision_id"].as_str().expect("an id").replace("dec_", "sha256:");
    assert_eq!(decisions[1]["supersedes"], digest);
    assert_ne!(again["decision"]["decision_id"], first["decision"]["decision_id"]);
}

/// A stored answer of somebody else, or of another kind, is none.
#[tokio::test]
async fn a_stored_answer_that_is_not_this_callers_is_not_told() {
    let world = World::new().await;
    ask(&world, &note(0, "/notes/a.txt")).await;

    let other = world.host.with_key(OTHER_KEY);
    let reply = read(other.post("/v1/actions", note(0, "/notes/a.txt").to_string())).await;

    assert_eq!((reply.status.as_u16(), reply.json()["error"].clone()), (503, json!("not_recorded")));
}

/// G4, C2: no record, no verdict.
#[tokio::test]
async fn without_a_record_there_is_no_verdict() {
    let world = World::new().await;
    ask(&world, &note(0, "/notes/a.txt")).await;
    for (seq, behaviour) in
        [Behaviour::Unavailable, Behaviour::Forging, Behaviour::Confused, Behaviour::Forgetful]
            .into_iter()
            .enumerate()
    {
        world.ledger.behave(behaviour);
        let reply = ask(&world, &note(seq as u64 + 1, "/notes/a.txt")).await;
        assert_eq!(reply.status, 503, "{behaviour:?}: {}", reply.text);
        assert_eq!(reply.json(), json!({"error": "not_recorded"}));
    }
    world.ledger.behave(Behaviour::Sound);
    assert_eq!(ask(&world, &note(9, "/notes/a.txt")).await.status, 200);
    assert!(world.ledger.of_type("observation/v1").is_empty(), "what a vendor did is not for us to say");
}

/// G7
#[tokio::test]
async fn a_killed_project_lets_nothing_go() {
    let world = World::new().await;
    ask(&world, &note(0, "/notes/a.txt")).await;
    world.ledger.change(|snapshot| {
        snapshot.killed = true;
        snapshot.generation = 1;
    });

    let answer = ask(&world, &note(1, "/notes/a.txt")).await.json();

    assert_eq!(
        (&answer["decision"]["verdict"], &answer["decision"]["reason"]),
        (&json!("DENY"), &json!("killed"))
    );
}

/// T4, T8, T11, T3: who may not ask, and what is no question.
#[tokio::test]
async fn what_is_no_question_is_refused_with_its_place_and_leaves_nothing() {
    let world = World::new().await;
    let good = note(0, "/notes/a.txt");
    for (name, value, path) in [
        ("seq", json!(-1), "$.seq"),
        ("args_hash", json!("sha256:0"), "$.args_hash"),
        ("arguments", json!({"path": "/notes/b.txt"}), "$.arguments"),
        ("signals", json!({"human_decision": "APPROVE"}), "$.signals.resolves_action"),
        ("signals", json!({"mood": 1}), "$.signals.mood"),
        ("session_external_id", json!("ann@example.com"), "$.session_external_id"),
    ] {
        let reply = ask(&world, &with(good.clone(), name, value)).await;
        assert_eq!(
            (reply.status.as_u16(), reply.json()["path"].clone()),
            (400, json!(path)),
            "{}",
            reply.text
        );
    }
    let post = || world.host.post("/v1/actions", good.to_string());
    let stranger = world.host.with_key("cfk_ccccccccccccccccccccccccccccccccccccccccccc");
    let unknown = read(stranger.post("/v1/actions", good.to_string())).await;
    let page = read(post().header("origin", "https://evil.example")).await;
    let session = ask(&world, &with(good.clone(), "session_external_id", json!("run-8"))).await;
    let large = read(world.host.post("/v1/actions", "x".repeat(5 * 1024 * 1024))).await;
    let key = read(post().header("idempotency-key", "k".repeat(256))).await;
    let got = world.host.get("/v1/actions").await;
    let codes = [&unknown, &page, &session, &large, &key, &got].map(|reply| reply.status.as_u16());
    assert_eq!(codes, [401, 403, 404, 413, 400, 405]);
    world.ledger.lock().asked.is_closed = true;
    assert_eq!(ask(&world, &good).await.status, 409);
    assert!(world.decisions().is_empty());
}

/// T8
#[tokio::test]
async fn a_vendor_that_asks_too_much_waits() {
    let world = World::with(|config| {
        config.limits.burst = std::num::NonZeroU32::MIN;
        config.limits.messages_per_second = std::num::NonZeroU32::MIN;
    })
    .await;
    ask(&world, &note(0, "/notes/a.txt")).await;

    let reply =
        world.host.post("/v1/actions", note(1, "/notes/a.txt").to_string()).send().await.expect("an answer");

    assert_eq!(reply.status(), 429);
    assert!(reply.headers().contains_key("retry-after"));
}
