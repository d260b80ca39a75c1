//! Sessions that a vendor declares, the places of its actions in them, and its catalogues, over the wire.

use std::time::Duration;

use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::declared::{Asked, AskedAction, AskedTool, Before, DeclaredSession};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::{ActionId, KeyId, ProjectId, SessionId};
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Execution as ExecutionKey, SigningKey};
use counterfoil_core::nonce::{base64url, unbase64url};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{Item, ItemAnswer, RefusedReason};
use counterfoil_core::statement::{Ask, FindingCode, Mode, Session, SessionEvent, Statement, Verdict};
use counterfoil_evidence::setup::Listed;
use josekit::jwe::{ECDH_ES_A256KW, deserialize_compact};
use josekit::jwk::Jwk;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::answers::{duplicate, reason, recorded};
use crate::deployment::{BY, DISCLOSURE_KEY, Deployment, Service, connect, now};
use crate::gateway::{Judged, decision, record, sign, statement};
use crate::provider_keys::{fresh_key, import, notes};

fn declaration(external: &str) -> Value {
    json!({
        "external_id": external, "agent": {"external_id": "a-1", "name": "Ordering"},
        "principal": {"type": "human", "ref": "u-7f3a"},
        "original_request": {"hash": Digest::of(b"buy a chair"), "anchors": ["t1"]},
        "task": {"ref": "t-1"}, "grant": {"hash": Digest::of(b"grant"), "scope": {"allowed_tools": ["send"]}},
        "started_at": "2026-12-01T09:00:00.000Z",
    })
}

async fn send(service: &Service, key: &str, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = service.http.request(method, format!("{}{path}", service.public)).bearer_auth(key);
    let answer = request.json(body).send().await.expect("an answer");
    (answer.status(), answer.json().await.expect("JSON"))
}

/// Declares a session, and how it was answered.
pub async fn open(service: &Service, key: &str, external: &str) -> DeclaredSession {
    let (status, said) = send(service, key, Method::POST, "/v1/sessions", &declaration(external)).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    let text = |name: &str| said[name].as_str().expect("a text").to_owned();
    DeclaredSession {
        session: text("session_id").parse().expect("an id"),
        head_hash: text("head_hash").parse().expect("a digest"),
        closed: false,
    }
}

async fn close(service: &Service, key: &str, external: &str) -> StatusCode {
    send(service, key, Method::POST, &format!("/v1/sessions/{external}/close"), &json!({})).await.0
}

fn action(seq: u64) -> AskedAction {
    AskedAction {
        seq,
        tool: AskedTool { name: "note_read".to_owned(), provider: None, server: None },
        args_hash: Digest::of(b"{}"),
        resolves_action: None,
        human_decision: None,
    }
}

/// A question about somebody's session.
pub fn asking(project: ProjectId, external: &str) -> Value {
    let key = KeyId::from_uuid(crate::gateway::fresh_uuid());
    json!({"v": 1, "project": project, "key": key, "external": external, "idempotency": null, "action": action(0)})
}

async fn ask(deployment: &Deployment, service: &Service, key: Option<&str>, action: &AskedAction) -> Asked {
    let body = json!({
        "v": 1, "project": deployment.id(), "key": deployment.api_key.id, "external": "order-17",
        "idempotency": key, "action": action,
    });
    let url = format!("{}/internal/v1/asked", service.internal);
    let answer =
        service.http.post(url).bearer_auth(&deployment.token).json(&body).send().await.expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    answer.json().await.expect("an answer")
}

/// What a test may want to be different about a decision on a vendor's action.
struct Told<'a> {
    session: SessionId,
    action: &'a AskedAction,
    key: Option<&'a str>,
    prev: Option<String>,
    verdict: Verdict,
    again: Option<(ActionId, Digest)>,
}

impl<'a> Told<'a> {
    fn of(session: SessionId, action: &'a AskedAction) -> Self {
        Self { session, action, key: None, prev: None, verdict: Verdict::Allow, again: None }
    }

    fn item(self, deployment: &Deployment) -> (Digest, Item) {
        let judged = Judged::now(deployment, self.verdict);
        let mut said = decision(deployment, &judged);
        said.mode = Mode::Hook;
        said.session = Some(self.session);
        said.ask = Some(Ask { seq: self.action.seq, prev: self.prev, at: now() });
        if let Some((action, decision)) = self.again {
            (said.action, said.supersedes) = (action, Some(decision));
        }
        let named = self.action.idempotency(self.session, self.key);
        let signed = sign(said, &deployment.decision);
        (signed.digest(), statement(deployment, signed.bytes(), Some(judged.credential), Some(named)))
    }
}

async fn tell(deployment: &Deployment, service: &Service, told: Told<'_>) -> ItemAnswer {
    let (_, item) = told.item(deployment);
    record(service, &deployment.token, vec![item]).await.expect("200").remove(0)
}

/// Every `session/v1` of the project, with its seq and the hash of its entry.
async fn entries(deployment: &Deployment) -> Vec<(u64, Digest, Session)> {
    let client = connect(&deployment.config, "postgres").await;
    let rows = client
        .query("select seq, hash, body from entries where kind = 'session' order by seq", &[])
        .await
        .expect("entries");
    let read = rows.iter().map(|row| {
        let envelope = Envelope::parse(row.get::<_, &[u8]>(2)).expect("an envelope");
        let Statement::Session(said) = envelope.statement().expect("a statement") else {
            panic!("no session")
        };
        let hash: [u8; 32] = row.get::<_, &[u8]>(1).try_into().expect("32 bytes");
        (u64::try_from(row.get::<_, i64>(0)).expect("a seq"), Digest::from_bytes(hash), *said)
    });
    read.collect()
}

async fn until_found(deployment: &Deployment, wanted: usize) -> Vec<Listed> {
    for _ in 0..400 {
        let found = deployment.setup.findings(deployment.id(), u64::MAX, 50).await.expect("findings");
        if found.len() >= wanted {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{wanted} findings never came")
}

/// P3, T4: the same answer whoever asks how often; nothing of it in clear, and the project's own key opens it.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_declared_once_and_only_its_owner_can_read_what_was_declared() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();

    let first = open(&service, key, "order-17").await;
    let again = open(&service, key, "order-17").await;
    let other = open(&service, key, "order-18").await;

    assert_eq!(first, again);
    assert_ne!(first.session, other.session);
    let entries = entries(&deployment).await;
    assert_eq!(entries.len(), 2);
    let (_, hash, said) = &entries[0];
    assert_eq!((*hash, said.session, said.event), (first.head_hash, first.session, SessionEvent::Opened));
    assert_eq!((said.via, said.agent), (deployment.api_key.id, deployment.agent));
    let text = serde_json::to_string(said).expect("text");
    for word in ["order-17", "u-7f3a", "Ordering", "t-1", &Digest::of(b"buy a chair").to_string()] {
        assert!(!text.contains(word), "{word}: {text}");
    }

    let client = connect(&deployment.config, "postgres").await;
    let sealed = client.query("select jwe from openings order by opening_id", &[]).await.expect("openings");
    let (x, y, d) = DISCLOSURE_KEY;
    let private = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "d": d}).to_string();
    let decrypter = ECDH_ES_A256KW
        .decrypter_from_jwk(&Jwk::from_bytes(private.as_bytes()).expect("a key"))
        .expect("a decrypter");
    let (opened, _) = deserialize_compact(sealed[0].get::<_, &str>(0), &decrypter).expect("opens");
    let opened: Value = serde_json::from_slice(&opened).expect("JSON");
    assert_eq!(opened["facts"], declaration("order-17"));
    let seed = unbase64url(opened["seed"].as_str().expect("a seed")).expect("base64url");
    let seed = OpeningSeed::from_bytes(seed.try_into().expect("16 bytes"));
    let principal = seed.commit("principal", opened["values"]["principal"].as_str().expect("a value"));
    assert_eq!(said.principal, Some(principal.commitment()));
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// T4: an address is answered with 400, not scrubbed, and nothing is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_principal_that_looks_like_an_address_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let refused = async |change: fn(&mut Value)| {
        let mut body = declaration("order-17");
        change(&mut body);
        send(&service, key, Method::POST, "/v1/sessions", &body).await.0
    };

    let answers = [
        refused(|body| body["principal"]["ref"] = json!("ann@example.com")).await,
        refused(|body| body["task"]["ref"] = json!("ann@example.com")).await,
        refused(|body| body["grant"]["scope"]["allowed_tools"] = json!([])).await,
        refused(|body| body["original_request"]["hash"] = json!("sha256:0")).await,
        refused(|body| body["external_id"] = json!("")).await,
    ];

    assert_eq!(answers, [StatusCode::BAD_REQUEST; 5]);
    assert!(entries(&deployment).await.is_empty());
}

/// T1: closed once, by the key that declared it; the same id is another session for another key.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_closed_by_the_key_that_declared_it() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let other =
        deployment.setup.create_api_key(deployment.id(), deployment.agent, None).await.expect("a key");
    let other = other.secret.reveal();
    let opened = open(&service, key, "order-17").await;

    assert_eq!(close(&service, other, "order-17").await, StatusCode::NOT_FOUND);
    assert_eq!(close(&service, key, "order-99").await, StatusCode::NOT_FOUND);
    assert_eq!(close(&service, key, "order-17").await, StatusCode::OK);
    assert_eq!(close(&service, key, "order-17").await, StatusCode::OK);

    assert_ne!(open(&service, other, "order-17").await.session, opened.session);
    let events: Vec<SessionEvent> = entries(&deployment).await.iter().map(|(.., said)| said.event).collect();
    assert_eq!(events, [SessionEvent::Opened, SessionEvent::Closed, SessionEvent::Opened]);
    let asked = ask(&deployment, &service, None, &action(0)).await;
    assert!(asked.session.expect("a session").closed);
}

/// G4: an action has its place in an open session of the key that asks, and no other does.
#[tokio::test(flavor = "multi_thread")]
async fn an_action_takes_one_place_in_an_open_session() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let session = open(&service, key, "order-17").await.session;
    let unknown = SessionId::from_uuid(crate::gateway::fresh_uuid());
    let (zero, one) = (action(0), action(1));
    let changed = AskedAction { args_hash: Digest::of(b"[]"), ..action(0) };

    let first = tell(&deployment, &service, Told::of(session, &zero)).await;
    let again = tell(&deployment, &service, Told { key: Some("another"), ..Told::of(session, &zero) }).await;
    let reused =
        tell(&deployment, &service, Told { key: Some("third"), ..Told::of(session, &changed) }).await;
    let nowhere = tell(&deployment, &service, Told::of(unknown, &one)).await;
    let (_, twin) = Told { key: Some("x"), ..Told::of(session, &one) }.item(&deployment);
    let other = AskedAction { args_hash: Digest::of(b"[]"), ..action(1) };
    let (_, rival) = Told { key: Some("y"), ..Told::of(session, &other) }.item(&deployment);
    let batch = record(&service, &deployment.token, vec![twin, rival]).await.expect("200");

    let stored = recorded(&first).digest;
    assert_eq!(duplicate(&again).digest, stored);
    assert_eq!(reason(&reused), RefusedReason::Conflict);
    assert_eq!(reason(&nowhere), RefusedReason::SessionUnknown);
    recorded(&batch[0]);
    assert_eq!(reason(&batch[1]), RefusedReason::Conflict);

    assert_eq!(close(&service, key, "order-17").await, StatusCode::OK);
    let late = tell(&deployment, &service, Told::of(session, &action(2))).await;
    let told = tell(&deployment, &service, Told::of(session, &zero)).await;
    assert_eq!(reason(&late), RefusedReason::SessionClosed);
    assert_eq!(duplicate(&told).digest, stored);
}

/// What was let go and may be no longer is judged again, as the same action; what was refused is refused for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_told_what_was_decided_or_judged_again_as_the_same_action() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let session = open(&service, key, "order-17").await.session;
    let (zero, one) = (action(0), action(1));
    let changed = AskedAction { args_hash: Digest::of(b"1"), ..action(0) };
    let before = async |key, action| ask(&deployment, &service, key, action).await.before;

    assert!(matches!(before(None, &zero).await, Before::Nothing));
    let (digest, item) = Told { key: Some("k-0"), ..Told::of(session, &zero) }.item(&deployment);
    let receipt = record(&service, &deployment.token, vec![item]).await.expect("200");
    let receipt: &Receipt = &recorded(&receipt[0]).receipt;
    let Before::Answered(told) = before(Some("k-0"), &zero).await else { panic!("not told again") };
    assert_eq!((told.digest, told.receipt.entry().seq), (digest, receipt.entry().seq));
    assert!(matches!(before(Some("k-0"), &one).await, Before::Conflict));
    assert!(matches!(before(Some("k-9"), &changed).await, Before::Conflict));
    let denied =
        tell(&deployment, &service, Told { verdict: Verdict::Deny, ..Told::of(session, &one) }).await;

    deployment.setup.kill(deployment.id(), BY).await.expect("killed");

    let Before::Again { action: same, decision } = before(Some("k-0"), &zero).await else {
        panic!("not again")
    };
    assert_eq!(decision, digest);
    let deny = |again| Told { verdict: Verdict::Deny, key: Some("k-0"), again, ..Told::of(session, &zero) };
    let silent = tell(&deployment, &service, deny(None)).await;
    assert_eq!(reason(&silent), RefusedReason::Stale);
    let judged = tell(&deployment, &service, deny(Some((same, decision)))).await;
    let judged = recorded(&judged).digest;
    let Before::Answered(told) = before(Some("k-0"), &zero).await else { panic!("not told again") };
    assert_eq!(told.digest, judged);
    let Before::Answered(told) = before(None, &one).await else { panic!("not told again") };
    assert_eq!(told.digest, recorded(&denied).digest);
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// P4: calls at the same time name one hash and are honest; a hash that the session never had is found, and nothing refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_previous_hash_that_was_never_issued_is_a_finding_and_a_fan_out_is_none() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = deployment.api_key.secret.reveal();
    let opened = open(&service, key, "order-17").await;
    let elsewhere = open(&service, key, "order-18").await;
    let named = |prev: &str, action| Told { prev: Some(prev.to_owned()), ..Told::of(opened.session, action) };
    let actions: Vec<AskedAction> = (0..6).map(action).collect();
    let head = opened.head_hash.to_string();

    let first = tell(&deployment, &service, named(&head, &actions[0])).await;
    let own = Digest::of(&recorded(&first).receipt.entry().bytes()).to_string();
    for (prev, place) in [(&head, 1), (&own, 2)] {
        recorded(&tell(&deployment, &service, named(prev, &actions[place])).await);
    }
    let mut strange = Vec::new();
    let foreign = elsewhere.head_hash.to_string();
    for (prev, place) in [(&Digest::of(b"?").to_string(), 3), (&foreign, 4), (&"nothing".to_owned(), 5)] {
        strange.push(recorded(&tell(&deployment, &service, named(prev, &actions[place])).await).digest);
    }

    let mut found = until_found(&deployment, 3).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    found.clone_from(&until_found(&deployment, 3).await);
    assert!(found.iter().all(|found| found.code == FindingCode::UnknownPrevious), "{found:?}");
    assert_eq!(found.len(), strange.len());
}

fn catalog(key: &SigningKey<ExecutionKey>, tools: &Value) -> Value {
    let mut body = json!({"v": 1, "tools": tools});
    let value = base64url(&key.sign(&canonical(&body)));
    body["signature"] = json!({"kid": "k1", "alg": "Ed25519", "value": value});
    body
}

/// C4, P4: a catalogue is one entry for what it states; a forged one is answered, kept and found.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_twice_is_one_entry_and_a_forged_one_is_a_finding() {
    let deployment = Deployment::new().await;
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let service = deployment.serve().await;
    let api_key = deployment.api_key.secret.reveal();
    let tools = json!([{"name": "send", "aliases": ["SEND"], "signals": {"op": "send"}}, {"name": "read", "signals": {}}]);
    let put = async |body: &Value| send(&service, api_key, Method::PUT, "/v1/tool-catalog", body).await;

    let (_, first) = put(&catalog(&key, &tools)).await;
    let (_, again) = put(&catalog(&key, &tools)).await;
    let (status, forged) = put(&catalog(&fresh_key(), &tools)).await;
    let (wrong, _) = put(&json!({"v": 1, "tools": []})).await;

    let hash = Digest::of(&canonical(&json!({"v": 1, "tools": tools})));
    let expected = |valid, replay| json!({"ok": true, "catalog_hash": hash, "tools": 2, "signature_valid": valid, "replay": replay});
    assert_eq!((first, again), (expected(true, false), expected(true, true)));
    assert_eq!((status, forged, wrong), (StatusCode::OK, expected(false, false), StatusCode::BAD_REQUEST));
    let found = until_found(&deployment, 1).await;
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [FindingCode::CatalogSignature]);
    let client = connect(&deployment.config, "postgres").await;
    let rows =
        client.query_one("select count(*) from entries where kind = 'catalog'", &[]).await.expect("entries");
    assert_eq!(rows.get::<_, i64>(0), 2);
}
