use crate::testing::provider;
use crate::testing::site::{Kind, Remote as Server};
use crate::upstream::{Away, Connection, Outcome, Site, Start};
use counterfoil_core::id::ProviderId;
use counterfoil_jwks::Kek;
use counterfoil_jwks::credentials::{Credential, Credentials, HeaderName, Place};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const SOON: Duration = Duration::from_secs(5);

fn start_at(url: &str) -> Start {
    let (name, value) = ("authorization".parse(), Credential::parse("Bearer upstream"));
    let headers = [(name.expect("a name"), value.expect("a value"))];
    let values = headers.iter().map(|(name, value)| (name, value));
    let site = Site::new(url).and_then(|site| site.with_values(values)).expect("a site");
    Start {
        provider: "notes".into(),
        command: Vec::new(),
        env: Default::default(),
        folder: None,
        sharing: crate::upstream::Sharing::Key,
        site: Some(Arc::new(site)),
    }
}

async fn ask(connection: &Connection, tool: &str, within: Duration) -> Outcome {
    let params = format!(r#"{{"name":"{tool}","arguments":{{"n":1.0}},"_meta":{{"theirs":1}}}}"#);
    connection.ask("tools/call", &params, within, &CancellationToken::new()).await
}

fn returned() -> Outcome {
    Outcome::Returned(provider::RESULT.into())
}

async fn methods_of(server: &Server) -> Vec<Value> {
    // What nobody waits for arrives a little later.
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.seen().into_iter().map(|(_, message)| message["method"].clone()).collect()
}

#[tokio::test]
async fn each_era_is_spoken_to_in_its_own_way() {
    for (kind, words) in [(Kind::Modern, "be modern"), (Kind::Legacy, "be old"), (Kind::Oldest, "be old")] {
        let server = Server::start(kind).await;
        let connection = Connection::open(&start_at(&server.url)).await.expect("introduced");

        let catalogue = connection.catalogue().await.expect("a list");
        let outcome = ask(&connection, "note_read", SOON).await;

        assert_eq!(connection.instructions(), Some(format!("\"{words}\"").as_str()), "{kind:?}");
        assert_eq!(catalogue.tools().len(), provider::tools().len());
        assert_eq!(outcome, returned(), "{kind:?}");
        let (headers, message) = &server.calls()[0];
        assert_eq!(headers["authorization"], "Bearer upstream");
        assert_eq!(message["params"]["_meta"]["theirs"], 1);
        connection.stop().await;
    }
}

#[tokio::test]
async fn a_modern_provider_gets_headers_that_say_what_the_body_says() {
    let server = Server::start(Kind::Modern).await;
    let connection = Connection::open(&start_at(&server.url)).await.expect("introduced");

    ask(&connection, "note_read", SOON).await;

    let (headers, message) = &server.calls()[0];
    assert_eq!(headers["mcp-name"], "note_read");
    assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(methods_of(&server).await, [json!("server/discover"), json!("tools/call")]);
}

#[tokio::test]
async fn a_legacy_provider_has_a_session_that_begins_and_ends_and_its_requests_are_refused() {
    let server = Server::start(Kind::Legacy).await;
    let start = start_at(&server.url);
    let connection = Connection::open(&start).await.expect("introduced");

    assert_eq!(ask(&connection, "note_read", SOON).await, returned());
    let methods = methods_of(&server).await;
    connection.stop().await;

    let expected =
        ["server/discover", "initialize", "notifications/initialized", "tools/call"].map(Value::from);
    assert_eq!(methods[..4], expected);
    let seen = server.seen();
    let refused = seen.iter().find(|(_, message)| message["id"] == "s-1").expect("an answer to sampling");
    assert_eq!(refused.1["error"]["code"], -32601);
    let (headers, last) = seen.last().expect("one");
    assert_eq!((last, &headers["mcp-session-id"]), (&Value::Null, &"a-session".parse().expect("a value")));
    // What it speaks is known by now.
    let _again = Connection::open(&start).await.expect("introduced");
    let methods = methods_of(&server).await;
    assert_eq!(methods.iter().filter(|method| **method == "server/discover").count(), 1);
}

// G4
#[tokio::test]
async fn a_call_whose_stream_breaks_off_is_not_sent_again() {
    let server = Server::start(Kind::Breaking).await;
    let connection = Connection::open(&start_at(&server.url)).await.expect("introduced");

    assert_eq!(ask(&connection, "note_read", SOON).await, Outcome::Gone);

    assert_eq!(methods_of(&server).await.iter().filter(|method| **method == "tools/call").count(), 1);
    assert!(!connection.is_gone());
}

#[tokio::test]
async fn a_session_that_is_gone_is_not_used_again() {
    let server = Server::start(Kind::Legacy).await;
    let connection = Connection::open(&start_at(&server.url)).await.expect("introduced");
    server.forgetful.store(true, Ordering::Relaxed);

    assert_eq!(ask(&connection, "note_read", SOON).await, Outcome::Gone);

    assert!(connection.is_gone());
    assert_eq!(ask(&connection, "note_read", SOON).await, Outcome::Unsent);
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn a_call_that_takes_too_long_or_is_given_up_is_cancelled_there_too() {
    let server = Server::start(Kind::Legacy).await;
    let connection = Connection::open(&start_at(&server.url)).await.expect("introduced");
    let late = ask(&connection, "slow", Duration::from_millis(200)).await;
    let given_up = CancellationToken::new();
    let soon = given_up.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        soon.cancel();
    });
    let cancelled = connection.ask("tools/call", r#"{"name":"slow"}"#, SOON, &given_up).await;
    let never = connection.ask("tools/call", r#"{"name":"slow"}"#, SOON, &given_up).await;

    assert_eq!((late, cancelled, never), (Outcome::TimedOut, Outcome::Cancelled, Outcome::Unsent));
    let methods = methods_of(&server).await;
    let count = |method: &str| methods.iter().filter(|m| **m == method).count();
    assert_eq!((count("notifications/cancelled"), count("tools/call")), (2, 2));
}

// C7
#[tokio::test]
async fn whoever_sends_us_elsewhere_or_is_not_there_is_away() {
    let redirecting = Server::start(Kind::Redirecting).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");

    let elsewhere = Connection::open(&start_at(&redirecting.url)).await;
    let absent = Connection::open(&start_at(&format!("http://{closed}/mcp"))).await;
    let unknown = Server::start(Kind::Closed).await;
    let unknown = Connection::open(&start_at(&unknown.url)).await;

    assert_eq!(unknown.map(|_| ()), Err(Away::Unauthorized));
    assert_eq!(elsewhere.map(|_| ()), Err(Away::NotIntroduced));
    assert_eq!(absent.map(|_| ()), Err(Away::Unreachable));
    // Two questions, none of them asked elsewhere.
    assert_eq!(redirecting.seen().len(), 2);
}

#[tokio::test]
async fn a_list_for_pins_is_asked_for_as_a_call_would_be() {
    for kind in [Kind::Modern, Kind::Legacy, Kind::Oldest] {
        let server = Server::start(kind).await;
        let site = Site::new(&server.url).expect("a site");

        let listed = crate::listing::over_http("notes", site).await.expect("a list");

        let first: Value = serde_json::from_str(&listed[0]).expect("JSON");
        assert_eq!((listed.len(), &first), (provider::tools().len(), &provider::tools()[0]), "{kind:?}");
    }
}

// C5
#[tokio::test]
async fn a_sealed_header_goes_with_every_request_to_its_provider() {
    let server = Server::start(Kind::Legacy).await;
    let folder = tempfile::tempdir().expect("a folder");
    let kek = Kek::from_hex(&"3b".repeat(32), "the test").expect("a key");
    let mut sealed = Credentials::open_or_begin(&folder.path().join("sealed"), kek).expect("a file");
    let (provider, name): (ProviderId, HeaderName) =
        ("notes".parse().expect("an id"), "x-key".parse().expect("a name"));
    let origin = Site::new(&server.url).expect("a site").origin();
    let place = Place { provider: provider.clone(), name: name.clone(), origin };
    sealed.set(place, &Credential::parse("hunter2").expect("a value")).expect("sealed");
    let site = Site::new(&server.url)
        .and_then(|site| site.with_sealed(&provider, &[name].into(), &Arc::new(sealed)))
        .expect("a site");

    let listed = crate::listing::over_http("notes", site).await;

    assert!(listed.is_ok());
    let seen = server.seen();
    assert!(
        seen.len() > 3 && seen.iter().all(|(headers, _)| headers["x-key"] == "hunter2"),
        "{}",
        seen.len()
    );
}
