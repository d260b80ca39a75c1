//! C1: the attack suite, against the example provider as a process of its own. Each is refused before the handler runs, with
//! its own reason; and 1,600 presentations race over two of them.

use super::world::*;
use counterfoil_sdk::capability::Environment;
use counterfoil_sdk::formats::nonce::base64url;
use counterfoil_sdk::formats::probe::{Forge, Target, of_error};
use counterfoil_sdk::formats::statement::{ProbeCase, ProbeOutcome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

fn example(name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let target = program.parent().and_then(Path::parent).expect("target/<profile>/deps");
    target.join("examples").join(name)
}

/// The example, running until it is dropped.
struct Provider {
    _child: Child,
    address: String,
    client: reqwest::Client,
}

impl Provider {
    async fn start(gateway: &Gateway, folder: &Path) -> Self {
        let mut child = Command::new(example("http_provider"))
            .env("COUNTERFOIL_ISSUER", ISSUER)
            .env("COUNTERFOIL_PROJECT", PROJECT)
            .env("COUNTERFOIL_GATEWAY", &gateway.address)
            .env("NOTES_FOLDER", folder)
            .env("NOTES_KEY", "21".repeat(32))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("cargo built the example");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let address = tokio::time::timeout(Duration::from_secs(10), stdout.lines().next_line()).await;
        let address = address.expect("it is soon there").expect("a line").expect("an address");
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { _child: child, address, client }
    }

    async fn post(&self, body: String, header: Option<&str>) -> Value {
        let mut request =
            self.client.post(&self.address).header("content-type", "application/json").body(body);
        if let Some(header) = header {
            request = request.header("tool-capability", header);
        }
        let answer = request.send().await.expect("it answers").bytes().await.expect("to the end");
        serde_json::from_slice(&answer).expect("JSON")
    }

    async fn outcome(&self, params: Value, header: Option<&str>) -> String {
        let answer = self.post(request(1, params).to_string(), header).await;
        let reason = answer["error"]["data"]["reason"].as_str();
        reason.or(answer["result"]["content"][0]["text"].as_str()).expect("one or the other").to_owned()
    }
}

fn args() -> Value {
    json!({ "path": "/notes/été.txt", "text": "x", "n": 3 })
}

fn presented(token: impl Into<Value>) -> Value {
    call("note_write", &args(), token)
}

fn claimed(changes: Value) -> Value {
    presented(token(&claims("note_write", &args(), changes)))
}

fn headed(changes: Value) -> Value {
    presented(sign(&header(changes), &claims("note_write", &args(), json!({})), &capability_key()))
}

/// Tokens that are none, or not ours.
fn forged() -> Vec<(&'static str, &'static str, Value)> {
    let good = slip("note_write", &args());
    let [head, body, signature]: [&str; 3] =
        good.split('.').collect::<Vec<_>>().try_into().expect("three parts");
    let none = base64url(br#"{"alg":"none","kid":"x","typ":"toolcap+jwt"}"#);
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let flipped = format!("{head}.{body}.{flipped}{}", &signature[1..]);
    let stranger_as_us = sign(&header(json!({})), &claims("note_write", &args(), json!({})), &stranger());
    let stranger_alone = sign(
        &header(json!({ "kid": stranger().kid() })),
        &claims("note_write", &args(), json!({})),
        &stranger(),
    );
    let by_hmac = {
        let head = base64url(
            json!({ "alg": "HS256", "kid": capability_key().kid(), "typ": "toolcap+jwt" })
                .to_string()
                .as_bytes(),
        );
        let signed = format!("{head}.{body}");
        let key = capability_key().public().bytes();
        format!(
            "{signed}.{}",
            base64url(&counterfoil_sdk::formats::commitment::hmac_sha256(&key, signed.as_bytes()))
        )
    };
    vec![
        ("no capability", "capability_missing", json!({ "name": "note_write", "arguments": args() })),
        ("alg none", "capability_malformed", presented(format!("{none}.{body}."))),
        ("HS256 with the public key", "capability_malformed", presented(by_hmac)),
        ("another alg", "capability_header", headed(json!({ "alg": "HS256" }))),
        ("another type", "capability_header", headed(json!({ "typ": "at+jwt" }))),
        ("a feed as a slip", "capability_header", headed(json!({ "typ": "toolgen+jwt" }))),
        ("an unknown critical header", "capability_header", headed(json!({ "crit": ["x"] }))),
        ("a key in the token", "capability_header", headed(json!({ "jku": "http://127.0.0.1/" }))),
        ("a path as key id", "capability_header", headed(json!({ "kid": "../../etc/passwd" }))),
        ("a stranger's key", "capability_key", presented(stranger_alone)),
        ("a stranger under our key id", "capability_signature", presented(stranger_as_us)),
        ("a changed signature", "capability_signature", presented(flipped)),
        ("a fourth part", "capability_malformed", presented(format!("{good}.{signature}"))),
        ("padding", "capability_malformed", presented(format!("{head}.{body}=.{signature}"))),
        ("oversized", "capability_too_long", presented("a".repeat(4097))),
        ("a number", "capability_malformed", presented(7)),
        ("a receipt", "capability_malformed", presented(json!({ "typ": "receipt/v1" }))),
    ]
}

/// Slips that are ours, for something else.
fn misused() -> Vec<(&'static str, &'static str, Value)> {
    let other = |arguments: Value| call("note_write", &arguments, slip("note_write", &args()));
    let at = |iat: i64, exp: i64| claimed(json!({ "iat": iat, "nbf": iat - 5, "exp": exp }));
    let mut answered = presented(slip("note_write", &args()));
    answered["inputResponses"] = json!({ "ask": { "action": "accept" } });
    vec![
        ("another issuer", "capability_issuer", claimed(json!({ "iss": "https://gw.example/p/9-zzzzzzzz" }))),
        ("another provider", "capability_audience", claimed(json!({ "aud": "urn:another" }))),
        ("another environment", "capability_environment", claimed(json!({ "env": "test" }))),
        ("bound to a certificate", "capability_unsupported", claimed(json!({ "cnf": {} }))),
        ("advisory", "capability_unsupported", claimed(json!({ "adv": true }))),
        ("a claim of no meaning", "capability_malformed", claimed(json!({ "extra": 1 }))),
        ("expired", "capability_time", at(now() - 40, now() - 6)),
        ("not yet", "capability_time", at(now() + 20, now() + 40)),
        ("too long-lived", "capability_life", at(now(), now() + 61)),
        ("another tool", "capability_tool", call("note_delete", &args(), slip("note_write", &args()))),
        (
            "another type",
            "capability_arguments",
            other(json!({ "path": "/notes/été.txt", "text": "x", "n": "3" })),
        ),
        (
            "another number",
            "capability_arguments",
            other(json!({ "path": "/notes/été.txt", "text": "x", "n": 3.5 })),
        ),
        (
            "an extra key",
            "capability_arguments",
            other(json!({ "path": "/notes/été.txt", "text": "x", "n": 3, "m": null })),
        ),
        ("a key less", "capability_arguments", other(json!({ "path": "/notes/été.txt", "text": "x" }))),
        (
            "a look-alike",
            "capability_arguments",
            other(json!({ "path": "/notes/e\u{301}te\u{301}.txt", "text": "x", "n": 3 })),
        ),
        ("a list", "capability_arguments", other(json!([args()]))),
        ("nothing", "capability_arguments", other(Value::Null)),
        ("an answer that nobody asked for", "capability_arguments", answered),
        ("of before a kill", "capability_killed", claimed(json!({ "gen": 2 }))),
    ]
}

#[tokio::test]
async fn every_attack_on_the_example_provider_is_refused_with_its_own_reason() {
    let (gateway, folder) = (Gateway::start().await, tempfile::tempdir().expect("a folder"));
    let provider = Provider::start(&gateway, folder.path()).await;
    let other_replica = Provider::start(&gateway, folder.path()).await;

    for (attack, reason, params) in forged().into_iter().chain(misused()) {
        assert_eq!(provider.outcome(params, None).await, reason, "{attack}");
    }
    let twice =
        provider.outcome(presented(slip("note_write", &args())), Some(&slip("note_write", &args()))).await;
    assert_eq!(twice, "capability_twice");
    let batch = json!([request(1, presented(slip("note_write", &args())))]).to_string();
    assert_eq!(provider.post(batch, None).await["error"]["data"]["reason"], "capability_batch");
    let two_readings = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}"#.to_owned();
    assert_eq!(provider.post(two_readings, None).await["error"]["code"], -32700);
    assert!(!folder.path().join("notes.jsonl").exists(), "no handler ran");

    let used = presented(slip("note_write", &args()));
    assert_eq!(provider.outcome(used.clone(), None).await, "wrote /notes/été.txt");
    assert_eq!(provider.outcome(used.clone(), None).await, "capability_used");
    assert_eq!(other_replica.outcome(used, None).await, "capability_used", "and on another replica");

    std::fs::remove_dir_all(folder.path().join("used")).expect("the store goes away");
    assert_eq!(provider.outcome(presented(slip("note_write", &args())), None).await, "capability_store");
    let notes = std::fs::read_to_string(folder.path().join("notes.jsonl")).expect("one note");
    assert_eq!(notes.lines().count(), 1);
}

/// P10: what a gateway's probe presents is refused by what providers install.
#[tokio::test]
async fn every_case_of_a_probe_is_refused_by_the_example_provider() {
    let (gateway, folder) = (Gateway::start().await, tempfile::tempdir().expect("a folder"));
    let provider = Provider::start(&gateway, folder.path()).await;
    let (key, stranger, arguments) = (capability_key(), stranger(), args());
    let target = Target {
        issuer: ISSUER,
        audience: AUDIENCE,
        env: Environment::Live,
        generation: 3,
        tool: "note_write",
        arguments: &arguments,
    };
    let mut fresh = || nonce().parse().expect("a nonce");

    let mut refused = 0;
    for case in ProbeCase::ALL {
        let mut forge = Forge { known: Some(&key), stranger: &stranger, now: now(), nonce: &mut fresh };
        let Some(attack) = target.attack(*case, &mut forge) else { continue };
        let answer = provider.post(request(1, attack.params).to_string(), None).await;
        assert_eq!(of_error(&answer["error"]), ProbeOutcome::Refused, "{case}: {answer}");
        refused += 1;
    }

    assert_eq!(refused, 17, "each but the replay");
    assert!(!folder.path().join("notes.jsonl").exists(), "no handler ran");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_1600_racing_presentations_of_50_slips_to_two_processes_50_run() {
    let (gateway, folder) = (Gateway::start().await, tempfile::tempdir().expect("a folder"));
    let providers =
        [Provider::start(&gateway, folder.path()).await, Provider::start(&gateway, folder.path()).await];
    let calls: Vec<_> = (0..50).map(|_| presented(slip("note_write", &args()))).collect();

    let racing = (0..1600).map(|at| providers[at % 2].outcome(calls[(at / 2) % 50].clone(), None));
    // A hundred at a time: the rest would wait for a socket.
    let outcomes: Vec<String> = {
        use futures_util::StreamExt as _;
        futures_util::stream::iter(racing).buffer_unordered(100).collect().await
    };

    let ran = outcomes.iter().filter(|outcome| outcome.starts_with("wrote ")).count();
    let used = outcomes.iter().filter(|outcome| *outcome == "capability_used").count();
    assert_eq!((ran, used), (50, 1550));
    let notes = std::fs::read_to_string(folder.path().join("notes.jsonl")).expect("notes");
    assert_eq!(notes.lines().count(), 50);
}
