//! C2: unreachable, slow, malformed, unsigned, expired, or for another action: no.

use super::ledger::{Ledger, answer, decision, pinned_keys};
use super::world::{ACTION, PROJECT, Skew, execution_key, merge, serve, set};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use counterfoil_sdk::capability::Environment;
use counterfoil_sdk::clock;
use counterfoil_sdk::execution::{Outcome, Signer as _};
use counterfoil_sdk::formats::key::{self, SigningKey};
use counterfoil_sdk::verdict::{
    Agent, Cleared, GuardError, NoVerdict, OriginalRequest, Outbox, Principal, Proposal, Report, Session,
    Tool, VerdictOptions, Verdicts,
};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Asked {
    path: String,
    key: String,
    authorization: String,
    body: Value,
}

type Respond = Arc<dyn Fn(&Asked) -> Said + Send + Sync>;

/// What the gateway of these tests does with a question.
enum Said {
    Body(String),
    Status(u16),
    Nothing,
}

#[derive(Clone)]
struct Api {
    asked: Arc<Mutex<Vec<Asked>>>,
    respond: Respond,
}

async fn handle(State(api): State<Api>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let header = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let asked = Asked {
        path: parts.uri.path().to_owned(),
        key: header("idempotency-key"),
        authorization: header("authorization"),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    let said = (api.respond)(&asked);
    api.asked.lock().expect("unbroken").push(asked);
    match said {
        Said::Body(text) => text.into_response(),
        Said::Status(status) => axum::http::StatusCode::from_u16(status).expect("a status").into_response(),
        Said::Nothing => std::future::pending().await,
    }
}

struct World {
    asked: Arc<Mutex<Vec<Asked>>>,
    verdicts: Verdicts,
    skew: Skew,
}

impl World {
    async fn new(respond: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let api = Api { asked: Arc::default(), respond: Arc::new(respond) };
        let asked = api.asked.clone();
        let gateway = serve(Router::new().fallback(handle).with_state(api)).await;
        let skew = Skew::default();
        let project = PROJECT.parse().expect("an id");
        let options =
            VerdictOptions::new(&gateway, "cfk_test", project, Environment::Live, set(&pinned_keys()));
        let verdicts = Verdicts::new(options.signer(execution_key()).clock(skew.clock())).expect("a client");
        Self { asked, verdicts, skew }
    }

    fn count(&self) -> usize {
        self.asked.lock().expect("unbroken").len()
    }
}

fn args() -> Value {
    json!({ "path": "/notes/a" })
}

fn proposal(seq: u64, arguments: &Value) -> Proposal {
    Proposal::new("s-1", seq, Tool::named("note_write").of("notes"), arguments).expect("canonical")
}

fn allow(changes: Value, more: Value) -> Value {
    answer(&Ledger::new().append(&decision(&args(), changes)), more)
}

/// Asks once. The work must not run unless the outcome is "ran".
async fn outcome(respond: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> String {
    let world = World::new(respond).await;
    let ran = AtomicU32::new(0);
    let work = async |_: Cleared| {
        ran.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(1)
    };
    let outcome = match world.verdicts.guard(&proposal(1, &args()), work).await {
        Ok(_) => "ran".to_owned(),
        Err(GuardError::NoVerdict(no)) => no.code().to_string(),
        Err(GuardError::NotCleared(decided)) => decided.verdict().to_string(),
        Err(GuardError::Work(never)) => match never {},
    };
    assert_eq!(ran.into_inner() == 1, outcome == "ran", "{outcome}");
    outcome
}

async fn told(answer: Value) -> String {
    outcome(move |_| Said::Body(answer.to_string())).await
}

#[tokio::test]
async fn an_allow_that_is_signed_recent_and_ours_runs_and_is_reported() {
    let respond = |asked: &Asked| match asked.path.as_str() {
        "/v1/actions" => Said::Body(allow(json!({}), json!({})).to_string()),
        _ => Said::Body(r#"{"ok":true}"#.to_owned()),
    };
    let world = World::new(respond).await;
    let work = async |cleared: Cleared| Ok::<_, Infallible>(cleared.action().to_string());
    assert_eq!(world.verdicts.guard(&proposal(1, &args()), work).await.expect("cleared"), ACTION);
    let failing = async |_: Cleared| Err::<u8, _>("out of paper");
    let failed = world.verdicts.guard(&proposal(2, &args()), failing).await;
    assert!(matches!(failed, Err(GuardError::Work("out of paper"))));

    let asked = world.asked.lock().expect("unbroken");
    assert_eq!(asked[0].authorization, "Bearer cfk_test");
    assert_eq!(asked[0].body["args_redacted"], json!({}), "arguments stay here");
    let reported =
        |at: usize| (asked[at].path.as_str(), asked[at].body["outcome"].as_str().expect("one").to_owned());
    assert_eq!(reported(1), ("/v1/executions", "EXECUTED".to_owned()));
    assert_eq!(reported(3), ("/v1/executions", "FAILED".to_owned()));
    assert_eq!(asked[1].body["signature"]["kid"], execution_key().kid());
}

#[tokio::test]
async fn every_verdict_but_allow_runs_nothing() {
    for verdict in ["DENY", "STEP_UP", "MODIFY", "DEFER"] {
        let no = json!({ "verdict": verdict, "reason": "no_rule" });
        assert_eq!(told(allow(no.clone(), json!({}))).await, verdict);
        let mut rehearsed = no;
        merge(&mut rehearsed, json!({ "effect": "advisory" }));
        assert_eq!(told(allow(rehearsed, json!({}))).await, "ran", "a recorded rehearsal runs");
    }
    let unnamed = json!({ "verdict": "STEP_UP", "tool": null, "args": null, "reason": "no_such_tool" });
    assert_eq!(told(allow(unnamed, json!({}))).await, "STEP_UP");
}

#[tokio::test]
async fn a_verdict_answer_that_proves_nothing_is_a_no() {
    for text in ["nonsense", "[]", r#"{"a":1,"a":2}"#] {
        assert_eq!(outcome(move |_| Said::Body(text.to_owned())).await, "malformed", "{text}");
    }
    let ago = |millis: i64| json!({ "at": clock::now().plus_millis(millis) });
    let stranger = SigningKey::<key::Decision>::from_seed(&[0x77; 32]);
    let forged = answer(&Ledger::new().append_signed(&decision(&args(), json!({})), &stranger), json!({}));
    let lying = answer(&Ledger::by_a_stranger().append(&decision(&args(), json!({}))), json!({}));
    let other_arguments =
        answer(&Ledger::new().append(&decision(&json!({ "path": "/b" }), json!({}))), json!({}));
    let cases = [
        ("malformed", allow(json!({}), json!({ "action_id": "act_other" }))),
        ("malformed", allow(json!({}), json!({ "decision": { "verdict": "ALLOW" } }))),
        ("unsigned", json!({})),
        ("unsigned", json!({ "decision": { "verdict": "ALLOW" } })),
        ("unsigned", allow(json!({}), json!({ "dev.counterfoil/receipt": null }))),
        ("unsigned", forged),
        ("unsigned", lying),
        ("expired", allow(ago(-66_000), json!({}))),
        ("expired", allow(ago(30_000), json!({}))),
        ("other_action", allow(json!({ "tool": "note_read" }), json!({}))),
        ("other_action", allow(json!({ "provider": "mail" }), json!({}))),
        ("other_action", allow(json!({ "env": "test" }), json!({}))),
        ("other_action", allow(json!({ "mode": "gateway" }), json!({}))),
        ("other_action", allow(json!({ "args": null }), json!({}))),
        ("other_action", allow(json!({ "tool": null, "args": null }), json!({}))),
        ("other_action", other_arguments),
    ];
    for (code, answer) in cases {
        assert_eq!(told(answer.clone()).await, code, "{}", answer["decision"]);
    }
    assert_eq!(outcome(|_| Said::Status(403)).await, "rejected");
}

#[tokio::test]
async fn a_decision_that_is_said_to_be_an_allow_and_is_signed_as_a_deny_is_a_no() {
    let mut made = allow(json!({ "verdict": "DENY", "reason": "no_rule" }), json!({}));
    made["decision"]["verdict"] = json!("ALLOW");
    assert_eq!(told(made).await, "malformed");
}

#[tokio::test]
async fn one_decision_answers_one_call_and_no_other() {
    let made = allow(json!({}), json!({})).to_string();
    let world = World::new(move |_| Said::Body(made.clone())).await;
    for _ in 0..2 {
        assert!(world.verdicts.decide(&proposal(1, &args())).await.is_ok(), "the same question again");
    }
    let other = world.verdicts.decide(&proposal(2, &args())).await.map(drop);
    assert_eq!(other.expect_err("another call").code().as_str(), "replayed");
}

#[tokio::test]
async fn who_is_asked_again_is_asked_the_same_question() {
    let count = AtomicU32::new(0);
    let respond = move |_: &Asked| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Said::Status(503),
        1 => Said::Status(429),
        _ => Said::Body(allow(json!({}), json!({})).to_string()),
    };
    let world = World::new(respond).await;
    assert!(world.verdicts.decide(&proposal(1, &args())).await.is_ok());
    let _other = world.verdicts.decide(&proposal(1, &json!({ "path": "/notes/b" }))).await;
    let asked = world.asked.lock().expect("unbroken");
    let keys: Vec<_> = asked.iter().map(|asked| asked.key.as_str()).collect();
    assert_eq!(keys.len(), 4);
    assert!(
        keys[0] == keys[1] && keys[1] == keys[2] && keys[2] != keys[3] && keys[0].len() == 64,
        "{keys:?}"
    );
}

fn code(result: &Result<impl Sized, NoVerdict>) -> &'static str {
    result.as_ref().err().expect("no verdict").code().as_str()
}

#[tokio::test]
async fn a_gateway_that_is_away_is_a_no_and_soon_without_asking() {
    let world = World::new(|_| Said::Status(502)).await;
    for seq in 0..5 {
        assert_eq!(code(&world.verdicts.decide(&proposal(seq, &args())).await), "unanswered");
    }
    assert_eq!(world.count(), 15);
    assert_eq!(code(&world.verdicts.decide(&proposal(5, &args())).await), "resting");
    assert_eq!(world.count(), 15);

    world.skew.add(31_000);
    let (one, other) = (proposal(6, &args()), proposal(7, &args()));
    let probes = tokio::join!(world.verdicts.decide(&one), world.verdicts.decide(&other));
    let mut codes = [code(&probes.0), code(&probes.1)];
    codes.sort_unstable();
    assert_eq!(codes, ["resting", "unanswered"], "one probe");
    assert_eq!(code(&world.verdicts.decide(&one).await), "resting");
}

#[tokio::test]
async fn nobody_listening_is_a_no() {
    let project = PROJECT.parse().expect("an id");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let gateway = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let options = VerdictOptions::new(&gateway, "cfk_test", project, Environment::Live, set(&pinned_keys()));
    let verdicts = Verdicts::new(options).expect("a client");
    assert_eq!(code(&verdicts.decide(&proposal(1, &args())).await), "unanswered");
}

#[tokio::test]
async fn a_silent_gateway_costs_three_deadlines() {
    let began = Instant::now();
    assert_eq!(outcome(|_| Said::Nothing).await, "unanswered");
    assert!(began.elapsed() > Duration::from_secs(6) && began.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_statement_waits_in_the_outbox_until_it_was_taken() {
    let is_away = Arc::new(Mutex::new(Some(())));
    let away = is_away.clone();
    let respond = move |asked: &Asked| match asked.path.as_str() {
        "/v1/actions" => Said::Body(allow(json!({}), json!({})).to_string()),
        _ if away.lock().expect("unbroken").is_some() => Said::Status(403),
        _ => Said::Body(r#"{"ok":true}"#.to_owned()),
    };
    let (world, folder) = (World::new(respond).await, tempfile::tempdir().expect("a folder"));
    let outbox = Outbox::open(folder.path()).expect("a folder");
    let decided = world.verdicts.decide(&proposal(1, &args())).await.expect("decided");
    let statement = world.verdicts.statement(&decided, Outcome::Abandoned, None, None).await.expect("signed");
    outbox.put(&statement).expect("written");

    assert_eq!(outbox.flush(&world.verdicts).await.expect("readable"), Report { sent: 0, waiting: 1 });
    is_away.lock().expect("unbroken").take();
    assert_eq!(outbox.flush(&world.verdicts).await.expect("readable"), Report { sent: 1, waiting: 0 });
    assert_eq!(outbox.flush(&world.verdicts).await.expect("readable"), Report { sent: 0, waiting: 0 });
}

#[tokio::test]
async fn a_session_is_opened_and_closed_by_its_own_name() {
    let world = World::new(|_| Said::Body("{}".to_owned())).await;
    let session = Session {
        external_id: "s 1/x".to_owned(),
        agent: Agent { external_id: "a-1".to_owned(), name: None, version: None },
        principal: Principal { kind: "human".to_owned(), reference: "u-17".to_owned() },
        original_request: OriginalRequest { hash: format!("sha256:{}", "0".repeat(64)), anchors: vec![] },
    };
    world.verdicts.open(&session).await.expect("taken");
    world.verdicts.close("s 1/x").await.expect("taken");
    let asked = world.asked.lock().expect("unbroken");
    assert_eq!(asked[0].body["principal"], json!({ "type": "human", "ref": "u-17" }));
    assert_eq!(asked[1].path, "/v1/sessions/s%201%2Fx/close");
}
