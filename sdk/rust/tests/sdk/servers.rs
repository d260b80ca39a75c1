//! C1, P3: behind the guard a server sees only what was admitted, and its answer leaves with a signed execution.

use super::world::*;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{Request, header::CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Json, Router};
use counterfoil_sdk::capability::{Admitted, Guard, Params};
use counterfoil_sdk::execution::{
    Callback, Envelope, Outcome, ReceivedForm, SignError, Signer as _, Submitted, bound_result,
};
use counterfoil_sdk::formats::commitment::{ProviderSeed, document_value};
use counterfoil_sdk::formats::nonce::Nonce16;
use counterfoil_sdk::servers::{GuardLayer, guarded};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

/// Arguments as the handler's framework made of them, in the order in which they came.
type Ran = Arc<Mutex<Vec<Value>>>;

/// An unknown name, a default that is absent, a text that holds JSON: what schemas change, the slip does not see.
fn args() -> Value {
    json!({ "path": "{\"a\": 1}", "surplus": true })
}

fn signing() -> Guard {
    builder().signer(execution_key()).build().expect("a guard")
}

/// What a framework does before a handler runs: defaults filled, unknown names stripped.
fn decoded(arguments: &Value) -> Value {
    json!({ "path": arguments["path"], "depth": arguments.get("depth").cloned().unwrap_or(json!(7)) })
}

fn result_of(tool: &str, arguments: &Value) -> Value {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    match tool {
        "plain" => {
            json!({ "content": [{ "type": "text", "text": "ok" }], "structuredContent": decoded(arguments) })
        }
        "fails" => json!({ "content": [{ "type": "text", "text": "broken" }], "isError": true }),
        "large" => text(&"x".repeat(1_100_000)),
        "binary" => json!({ "content": [{ "type": "image", "data": "AAEC", "mimeType": "image/png" }] }),
        "asks" => json!({ "resultType": "input_required", "inputRequests": {} }),
        "fractions" => json!({ "structuredContent": { "a": 0.1, "b": 1e21, "c": -2.5 } }),
        _ => text("other"),
    }
}

async fn mcp(State(ran): State<Ran>, call: Option<Extension<Admitted>>, request: Request<Body>) -> Response {
    let wants_events = request.headers().contains_key("x-events");
    let bytes = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("a body");
    let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let id = &message["id"];
    if message["method"] != "tools/call" {
        return Json(json!({ "jsonrpc": "2.0", "id": id, "result": {} })).into_response();
    }
    let Some(Extension(call)) = call else { return "a call without its capability".into_response() };
    let tool = call.claims().call.t.as_str();
    ran.lock().expect("unbroken").push(decoded(&message["params"]["arguments"]));
    let answer =
        json!({ "jsonrpc": "2.0", "id": id, "result": result_of(tool, &message["params"]["arguments"]) });
    match tool {
        "twice" => {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"a":1,"a":2}}}}"#);
            ([(CONTENT_TYPE, "application/json")], text).into_response()
        }
        "protocol" => {
            let error = json!({ "code": -32602, "message": "no" });
            Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response()
        }
        _ if wants_events => {
            let progress =
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } });
            let text = format!(
                ": hello\n\nid: 1\ndata: {progress}\n\nevent: message\r\nid: 2\r\ndata: {answer}\r\n\r\n"
            );
            // In pieces, cut anywhere.
            let pieces: Vec<_> = text
                .into_bytes()
                .chunks(37)
                .map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)))
                .collect();
            let body = Body::from_stream(futures_util::stream::iter(pieces));
            ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
        _ => Json(answer).into_response(),
    }
}

struct Served {
    address: String,
    ran: Ran,
    client: reqwest::Client,
}

impl Served {
    async fn behind(guard: Guard) -> Self {
        let ran = Ran::default();
        let app = Router::new().route("/mcp", any(mcp)).with_state(ran.clone()).layer(GuardLayer::new(guard));
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { address: format!("{}/mcp", serve(app).await), ran, client }
    }

    fn ask(&self, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        self.client.post(&self.address).body(body)
    }

    async fn post(&self, tool: &str) -> Value {
        let body = request("one", call(tool, &args(), slip(tool, &args()))).to_string();
        json_of(self.ask(body)).await
    }

    fn ran(&self) -> usize {
        self.ran.lock().expect("unbroken").len()
    }
}

async fn text_of(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.expect("it answers");
    (answer.status().as_u16(), answer.text().await.expect("to the end"))
}

async fn json_of(request: reqwest::RequestBuilder) -> Value {
    serde_json::from_str(&text_of(request).await.1).expect("JSON")
}

/// The statement in an answer: about this call, and about the very result that left.
fn demand_execution(answer: &Value, tool: &str, outcome: Outcome) {
    let mut result = answer["result"].clone();
    let meta = result.as_object_mut().expect("a result").remove("_meta").expect("a statement in it");
    let statement =
        Envelope::parse(meta["dev.counterfoil/execution"].to_string().as_bytes()).expect("an envelope");
    assert_eq!(statement.verify(execution_key().public()), Ok(()));
    let said = statement.payload();
    let seed: Nonce16 = SEED.parse().expect("a seed");
    let seed = ProviderSeed::from_bytes(*seed.bytes());
    assert_eq!((&said["tool"], &said["outcome"]), (&json!(tool), &json!(outcome)));
    assert_eq!(said["args"], json!(seed.commit("args", &document_value(&args())).commitment()));
    let bound = bound_result(result.to_string().as_bytes());
    assert_eq!(said["result"], json!(bound.map(|value| seed.commit("result", &value).commitment())));
}

#[tokio::test]
async fn an_honest_call_over_http_runs_and_is_signed_for() {
    let served = Served::behind(signing()).await;
    demand_execution(&served.post("plain").await, "plain", Outcome::Executed);
    assert_eq!(*served.ran.lock().expect("unbroken"), [json!({ "path": args()["path"], "depth": 7 })]);
    demand_execution(&served.post("fails").await, "fails", Outcome::Failed);
    demand_execution(&served.post("binary").await, "binary", Outcome::Executed);
    demand_execution(&served.post("fractions").await, "fractions", Outcome::Executed);
    demand_execution(&served.post("asks").await, "asks", Outcome::NotAttempted);
    let large = served.post("large").await;
    demand_execution(&large, "large", Outcome::Executed);
    assert_eq!(large["result"]["content"][0]["text"].as_str().map(str::len), Some(1_100_000));
    assert_eq!(served.post("protocol").await["error"]["code"], -32602);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    assert_eq!(json_of(served.ask(ping)).await["result"], json!({}));
}

#[tokio::test]
async fn a_refused_call_over_http_never_reaches_the_handler() {
    let served = Served::behind(signing()).await;
    let used = request(1, call("plain", &args(), slip("plain", &args())));
    demand_execution(&json_of(served.ask(used.to_string())).await, "plain", Outcome::Executed);
    let reason = async |message: Value| {
        json_of(served.ask(message.to_string())).await["error"]["data"]["reason"].clone()
    };
    assert_eq!(reason(used.clone()).await, "capability_used");
    assert_eq!(
        reason(request(2, json!({ "name": "plain", "arguments": args() }))).await,
        "capability_missing"
    );
    assert_eq!(reason(json!([used])).await, "capability_batch");
    // Defaults that a framework would fill are not what was sent.
    let filled = json!({ "path": args()["path"], "surplus": true, "depth": 7 });
    assert_eq!(
        reason(request(3, call("plain", &filled, slip("plain", &args())))).await,
        "capability_arguments"
    );
    let put = served.client.put(&served.address).body(request(4, json!({ "name": "plain" })).to_string());
    assert_eq!(json_of(put).await["error"]["data"]["reason"], "capability_missing", "whatever the method");
    assert_eq!(text_of(served.ask(r#"{"a":1,"a":2}"#)).await.0, 400);
    assert_eq!(text_of(served.ask("x".repeat(4 * 1024 * 1024 + 1))).await.0, 413);
    let notification = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": call("plain", &args(), slip("plain", &args())) });
    assert_eq!(text_of(served.ask(notification.to_string())).await, (202, String::new()));
    let bare = request(5, json!({ "name": "plain", "arguments": args() })).to_string();
    let (one, other) = (slip("plain", &args()), slip("plain", &args()));
    let two = served.ask(bare.clone()).header("tool-capability", one).header("tool-capability", other);
    assert_eq!(text_of(two).await.0, 400, "two headers are two slips");
    assert_eq!(served.ran(), 1);
    let alone = served.ask(bare).header("tool-capability", slip("plain", &args()));
    demand_execution(&json_of(alone).await, "plain", Outcome::Executed);
}

#[tokio::test]
async fn an_answer_in_events_is_signed_for_and_the_rest_passes() {
    let served = Served::behind(signing()).await;
    let body = request("one", call("plain", &args(), slip("plain", &args()))).to_string();
    let (_, text) = text_of(served.ask(body).header("x-events", "1")).await;
    assert!(text.starts_with(": hello\n\nid: 1\ndata: {\"jsonrpc\""), "{text}");
    let answer = text.split("event: message\nid: 2\ndata: ").nth(1).expect("the last event");
    demand_execution(&serde_json::from_str(answer.trim_end()).expect("JSON"), "plain", Outcome::Executed);
}

#[tokio::test]
async fn a_result_with_two_readings_leaves_as_it_came_and_is_compared_with_nothing() {
    let signed = Arc::new(Mutex::new(Vec::new()));
    let telling = signed.clone();
    let tell =
        move |statement: &Envelope| telling.lock().expect("unbroken").push(statement.payload().clone());
    let served =
        Served::behind(builder().signer(execution_key()).on_execution(tell).build().expect("a guard")).await;
    let body = request("one", call("twice", &args(), slip("twice", &args()))).to_string();
    let (_, text) = text_of(served.ask(body)).await;
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":"one","result":{"content":[],"a":1,"a":2}}"#);
    let signed = signed.lock().expect("unbroken");
    assert_eq!(
        (signed.len(), &signed[0]["outcome"], &signed[0]["result"]),
        (1, &json!("EXECUTED"), &Value::Null)
    );
}

#[tokio::test]
async fn an_answer_leaves_although_nobody_could_sign_for_it() {
    let away = Callback::new(execution_key().kid(), |_| Err(SignError::Away("no network".to_owned())));
    let served = Served::behind(builder().signer(away).build().expect("a guard")).await;
    let answer = served.post("plain").await;
    assert_eq!(answer["result"]["structuredContent"]["depth"], 7);
    assert_eq!(answer["result"].get("_meta"), None);
}

/// A server over two streams behind its guard, and the streams of whoever speaks to it.
struct Piped {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    ran: Ran,
}

impl Piped {
    fn behind(guard: Guard) -> Self {
        let (input, theirs) = tokio::io::duplex(8 << 20);
        let (answers, output) = tokio::io::duplex(8 << 20);
        let ran = Ran::default();
        let (reads, writes) = guarded(theirs, answers, guard);
        tokio::spawn(line_server(reads, writes, ran.clone()));
        Self { input, output: BufReader::new(output).lines(), ran }
    }

    async fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it listens");
    }

    async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(10), self.output.next_line()).await;
        serde_json::from_str(&line.expect("soon").expect("unbroken").expect("a line")).expect("JSON")
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.say(message).await;
        self.hear().await
    }
}

async fn line_server(reads: DuplexStream, mut writes: DuplexStream, ran: Ran) {
    let mut lines = BufReader::new(reads).lines();
    let mut late = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("JSON");
        let (tool, arguments) = (&message["params"]["name"], &message["params"]["arguments"]);
        let result = if message["method"] == "tools/call" {
            ran.lock().expect("unbroken").push(decoded(arguments));
            result_of(tool.as_str().expect("a tool"), arguments)
        } else {
            json!({})
        };
        let Some(id) = message.get("id") else { continue };
        let answer = format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        // One tool takes its time: until something else was answered.
        if tool == "waits" {
            late.push(answer);
        } else {
            writes.write_all(answer.as_bytes()).await.expect("it listens");
            for answer in late.drain(..) {
                writes.write_all(String::as_bytes(&answer)).await.expect("it listens");
            }
        }
    }
}

#[tokio::test]
async fn an_honest_call_over_a_pipe_runs_and_is_signed_for() {
    let mut piped = Piped::behind(signing());
    for (tool, outcome) in [
        ("plain", Outcome::Executed),
        ("fails", Outcome::Failed),
        ("large", Outcome::Executed),
        ("binary", Outcome::Executed),
        ("asks", Outcome::NotAttempted),
    ] {
        let answer = piped.ask(&request(tool, call(tool, &args(), slip(tool, &args())))).await;
        demand_execution(&answer, tool, outcome);
    }
    assert_eq!(
        piped.ask(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" })).await["result"],
        json!({})
    );
    assert_eq!(piped.ran.lock().expect("unbroken").len(), 5);
}

#[tokio::test]
async fn a_refused_call_over_a_pipe_never_reaches_the_server() {
    let mut piped = Piped::behind(signing());
    let used = call("plain", &args(), slip("plain", &args()));
    piped.ask(&request(1, used.clone())).await;
    for (params, code) in [
        (used, "capability_used"),
        (json!({ "name": "plain", "arguments": args() }), "capability_missing"),
        (call("plain", &args(), slip("fails", &args())), "capability_tool"),
    ] {
        let answer = piped.ask(&request(2, params)).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["reason"]),
            (&json!(4030), &json!(code))
        );
    }
    piped.input.write_all(b"{\"a\":1,\"a\":2}\n\n").await.expect("it listens");
    assert_eq!(piped.hear().await["error"]["code"], -32700);
    let notification = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": call("plain", &args(), slip("plain", &args())) });
    piped.say(&notification).await;
    piped.ask(&json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).await;
    assert_eq!(piped.ran.lock().expect("unbroken").len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_leaves_a_statement_that_it_was_abandoned() {
    let signed = Arc::new(Mutex::new(Vec::new()));
    let telling = signed.clone();
    let tell = move |statement: &Envelope| {
        telling.lock().expect("unbroken").push(statement.payload()["outcome"].clone())
    };
    let mut piped =
        Piped::behind(builder().signer(execution_key()).on_execution(tell).build().expect("a guard"));
    piped.say(&request(1, call("waits", &args(), slip("waits", &args())))).await;
    piped.say(&request(1, call("plain", &args(), slip("plain", &args())))).await;
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    piped.say(&cancelled).await;
    assert_eq!(piped.ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).await["id"], 2);
    let late = piped.hear().await;
    assert_eq!((&late["id"], late["result"].get("_meta")), (&json!(1), None));
    assert_eq!(*signed.lock().expect("unbroken"), ["ABANDONED"]);
    assert_eq!(
        piped.ran.lock().expect("unbroken").len(),
        1,
        "a call with the id of a running one is not run"
    );
}

#[tokio::test]
async fn what_does_not_fit_an_error_code_is_replaced() {
    let guard = signing();
    let text = call("plain", &args(), slip("plain", &args())).to_string();
    let params = Params::parse(text.as_bytes()).expect("one reading");
    let admitted = guard.admit(params, None).await.expect("ours");
    let statement = admitted.failed("no such file: /etc/x").await.expect("signed");
    assert_eq!(statement.payload()["error_code"], "no_such_file___etc_x");
    assert!(Submitted::parse(ReceivedForm::ExecutionNative, statement.bytes()).is_ok(), "a ledger reads it");
}
