//! The bridge against a listener that answers as a gateway would.

use std::sync::Mutex as StdMutex;
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use super::*;

const KEY: &str = "cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What the stand-in was asked: head and body of each request.
type Asked = Arc<StdMutex<Vec<(String, String)>>>;

/// A stand-in for the gateway: one connection a request, the answer chosen by the body.
async fn gateway(answer: fn(&str) -> (u16, &'static str, String)) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/stdio/notes", listener.local_addr().unwrap());
    let asked = Asked::default();
    let seen = asked.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, answer, seen.clone()));
        }
    });
    (address, asked)
}

async fn serve(mut stream: TcpStream, answer: fn(&str) -> (u16, &'static str, String), seen: Asked) {
    let mut text = Vec::new();
    let (head, body) = loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.unwrap();
        text.extend_from_slice(&chunk[..read]);
        let so_far = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = so_far.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            break (head.to_lowercase(), body.to_owned());
        }
    };
    seen.lock().unwrap().push((head, body.clone()));
    if body.contains("slow") {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let (status, headers, body) = answer(&body);
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

async fn run(address: &str, input: &str) -> Vec<String> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let bridge = Bridge::new(address, &Credential::new(KEY).unwrap(), None).unwrap();
    bridge.run(input.as_bytes(), theirs).await.unwrap();
    let mut output = String::new();
    tokio::io::BufReader::new(ours).read_to_string(&mut output).await.unwrap();
    output.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn an_answer_comes_back_byte_for_byte_on_one_line() {
    let (address, asked) = gateway(|_| {
        (
            200,
            "",
            "{\"jsonrpc\":\"2.0\",\n\"id\":1, \"result\":{\"n\":123456789012345678901234567890,\"f\":1.0}}"
                .into(),
        )
    })
    .await;
    let line = r#"{"id":1,  "jsonrpc":"2.0","method":"tools/call","params":{"name":"x","n":1e2}}"#;

    let answers = run(&address, &format!("{line}\n\n")).await;

    assert_eq!(
        answers,
        [r#"{"jsonrpc":"2.0", "id":1, "result":{"n":123456789012345678901234567890,"f":1.0}}"#]
    );
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].1, line);
    assert!(asked[0].0.starts_with("post /stdio/notes "));
    assert!(asked[0].0.contains(&format!("authorization: bearer {}", KEY.to_lowercase())));
}

#[tokio::test]
async fn the_session_of_a_legacy_host_is_kept_and_ended() {
    let (address, asked) = gateway(|body| {
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
        match body {
            body if body.contains("initialize\"") => (200, "mcp-session-id: sealed\r\n", answer.into()),
            body if body.contains("\"id\"") => (200, "", answer.into()),
            _ => (202, "", String::new()),
        }
    })
    .await;
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "\n",
    );

    let answers = run(&address, input).await;

    assert_eq!(answers.len(), 2);
    let asked = asked.lock().unwrap();
    let heads: Vec<&str> = asked.iter().map(|(head, _)| head.as_str()).collect();
    assert!(!heads[0].contains("mcp-session-id"));
    for head in &heads[1..] {
        assert!(head.contains("mcp-session-id: sealed"), "{head}");
    }
    assert!(heads[2].contains("mcp-protocol-version: 2025-06-18"));
    assert!(heads[3].starts_with("delete "));
}

#[tokio::test]
async fn a_modern_request_carries_no_session() {
    let (address, asked) = gateway(|_| (200, "", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into())).await;
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

    run(&address, &format!("{line}\n")).await;

    let asked = asked.lock().unwrap();
    assert!(!asked[0].0.contains("mcp-"), "{}", asked[0].0);
}

#[tokio::test]
async fn a_slow_call_does_not_hold_up_the_next() {
    let (address, _) = gateway(|body| {
        (200, "", format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, body.contains("slow")))
    })
    .await;
    let input = "{\"id\":1,\"method\":\"ping\",\"params\":{\"slow\":1}}\n{\"id\":2,\"method\":\"ping\"}\n";

    let answers = run(&address, input).await;

    assert!(answers[0].contains("\"id\":false") && answers[1].contains("\"id\":true"), "{answers:?}");
}

/// G4: a call that never left is said to be not executed, in words that a model can read.
#[tokio::test]
async fn an_unreachable_gateway_is_said_to_have_executed_nothing() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
    );

    let mut answers: Vec<Value> = run(&format!("http://{closed}/stdio/notes"), input)
        .await
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    answers.sort_by_key(|answer| answer["id"].is_number());
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[0]["result"]["isError"], true);
    assert!(answers[0]["result"]["content"][0]["text"].as_str().unwrap().starts_with("Not executed."));
    assert_eq!(answers[1]["id"], 2);
    assert_eq!(answers[1]["error"]["code"], -32603);
}

#[tokio::test]
async fn a_lost_answer_is_not_said_to_be_not_executed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/stdio/notes", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut some = [0; 512];
            let _ = stream.read(&mut some).await;
        }
    });

    let answers = run(&address, "{\"id\":1,\"method\":\"tools/call\"}\n").await;

    assert!(answers[0].contains("not known") && !answers[0].contains("Not executed"), "{answers:?}");
}

#[tokio::test]
async fn a_refusal_without_json_becomes_an_answer_with_the_same_id() {
    let (address, _) = gateway(|_| (401, "www-authenticate: Bearer\r\n", String::new())).await;

    let answers =
        run(&address, "{\"id\":7,\"method\":\"tools/list\"}\n{\"id\":8,\"method\":\"tools/call\"}\n").await;

    let all = answers.join("\n");
    assert!(all.contains(r#""id":7,"error""#) && all.contains(r#""id":8,"result""#), "{all}");
    assert!(all.contains("does not know this API key"));
}

#[tokio::test]
async fn a_refusal_in_json_comes_through_as_it_is() {
    let (address, _) =
        gateway(|_| (400, "", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#.into()))
            .await;

    let answers = run(&address, "{not json\n").await;

    assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#]);
}

/// T9: the key is in no message.
#[test]
fn a_key_of_another_shape_is_refused_and_none_is_printed() {
    for bad in [
        "",
        "cfk_",
        "cfs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "cfk_A\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        let refused = Credential::new(bad).unwrap_err();
        assert!(matches!(refused, BridgeError::NotAKey));
    }
    assert!(!format!("{:?}", Credential::new(KEY).unwrap()).contains("AAAA"));
}
