//! An evidence service in memory: numbers, chains, signs checkpoints, and refuses what RECORD.md refuses.

use super::asked::{self, FakeAnswers};
use super::holds::{self, FakeHolds};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::control::{Snapshot, Unchanged};
use counterfoil_core::definition::{Definition, Definitions};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind, genesis};
use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::execution::Submitted;
use counterfoil_core::id::{KeyId, ProjectId, ProviderId};
use counterfoil_core::key::{Log, SigningKey};
use counterfoil_core::probe::ToldProbe;
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{
    ExecutionItem, Item, ItemAnswer, RecordAnswer, RecordRequest, Recorded, RefusedReason, StatementItem,
};
use counterfoil_core::session::{Running, SessionAnswer, Summary, key_of};
use counterfoil_core::statement::{
    Decision, Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer, Statement,
};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Frontier;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub const TOKEN: &str = "cfs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Which promise is broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Behaviour {
    Sound,
    Unavailable,
    /// Breaks off in the middle of an answer to a vendor.
    Gone,
    /// Says that it cannot use what it is sent.
    Picky,
    /// Commits, and then says that it does not know.
    Forgetful,
    /// Does not know what became of executions; all else is sound.
    DoubtingExecutions,
    /// Signs checkpoints with a key that nobody pinned.
    Forging,
    /// Answers with the receipt of another statement.
    Confused,
    /// Commits, and takes this long to say so.
    Slow(Duration),
}

pub struct Ledger {
    state: Mutex<LedgerState>,
    started: Instant,
}

pub struct LedgerState {
    pub behaviour: Behaviour,
    pub snapshot: Snapshot,
    pub statements: Vec<Value>,
    pub openings: HashMap<Digest, String>,
    pub holds: FakeHolds,
    pub sessions: HashMap<KeyId, Running>,
    pub asked: FakeAnswers,
    /// So many decisions of another gateway come in between asking for a session and recording.
    pub overtake: usize,
    pub silent_about_sessions: bool,
    /// What providers stated in their results, and which.
    pub executions: Vec<(ProviderId, String)>,
    /// What it was told that tools are listed as.
    pub definitions: Vec<Definition>,
    pub probes: Vec<ToldProbe>,
    /// How many items each record request had.
    pub batches: Vec<usize>,
    frontier: Frontier,
    prev: Digest,
    last: Option<Receipt>,
    pub known: HashMap<Digest, Receipt>,
}

/// When the test's world begins.
pub fn beginning() -> Timestamp {
    Timestamp::parse("2026-11-30T11:20:00.123Z").expect("a time")
}

pub fn log_key() -> SigningKey<Log> {
    SigningKey::from_seed(&[0x14; 32])
}

impl Ledger {
    /// Serves on a free port; the address is for `evidence_url`.
    pub async fn start(snapshot: Snapshot) -> (Arc<Self>, String) {
        let prev = genesis(snapshot.project);
        let ledger = Arc::new(Self {
            started: Instant::now(),
            state: Mutex::new(LedgerState {
                behaviour: Behaviour::Sound,
                snapshot: snapshot.with_version(),
                statements: Vec::new(),
                openings: HashMap::new(),
                holds: FakeHolds::default(),
                sessions: HashMap::new(),
                asked: FakeAnswers::default(),
                overtake: 0,
                silent_about_sessions: false,
                executions: Vec::new(),
                definitions: Vec::new(),
                probes: Vec::new(),
                batches: Vec::new(),
                frontier: Frontier::empty(),
                prev,
                last: None,
                known: HashMap::new(),
            }),
        });
        let router = Router::new()
            .route("/internal/v1/record", post(record))
            .route("/internal/v1/control", get(control))
            .route("/internal/v1/sessions", get(sessions))
            .route("/internal/v1/asked", post(asked::asked))
            .route("/internal/v1/holds", get(holds::newest))
            .route("/internal/v1/holds/{hold}", get(holds::one))
            .route("/internal/v1/definitions", post(definitions))
            .route("/internal/v1/probes", post(probes))
            .route("/v1/{*rest}", any(vendor))
            .with_state(ledger.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (ledger, address)
    }

    pub fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().expect("no holder panics")
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.lock().behaviour = behaviour;
    }

    /// Changes what decides, without anybody being told but those who ask.
    pub fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut state = self.lock();
        let mut snapshot = state.snapshot.clone();
        change(&mut snapshot);
        state.snapshot = snapshot.with_version();
    }

    pub fn of_type(&self, typ: &str) -> Vec<Value> {
        let state = self.lock();
        let of = |payload: &&Value| payload["typ"] == typ;
        state.statements.iter().filter(of).cloned().collect()
    }

    /// Waits until this many observations arrived.
    pub async fn observations(&self, count: usize) -> Vec<Value> {
        for _ in 0..500 {
            let seen = self.of_type("observation/v1");
            if seen.len() >= count {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{count} observations did not arrive");
    }

    /// Waits until this many calls left both their observation and their opening.
    pub async fn settled(&self, count: usize) {
        self.observations(count).await;
        for _ in 0..500 {
            if self.lock().openings.len() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{count} openings did not arrive");
    }

    pub fn now(&self) -> Timestamp {
        let millis = i64::try_from(self.started.elapsed().as_millis()).expect("a short test");
        beginning().plus_millis(millis)
    }
}

async fn record(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    Json(request): Json<RecordRequest>,
) -> Response {
    if headers.get("authorization").is_none_or(|v| v != &format!("Bearer {TOKEN}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let behaviour = ledger.lock().behaviour;
    if behaviour == Behaviour::Unavailable {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if behaviour == Behaviour::Picky {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    }
    let now = ledger.now();
    let answers = {
        let mut state = ledger.lock();
        state.batches.push(request.items.len());
        let answers = request.items.iter().map(|raw| match Item::from_raw(raw).expect("an item") {
            Item::Statement(item) => state.take(item, now),
            Item::Opening(item) => {
                state.openings.insert(item.decision, item.jwe);
                ItemAnswer::Kept { digest: item.decision }
            }
            Item::Execution(item) => state.accept(item, now),
        });
        answers.collect()
    };
    if let Behaviour::Slow(pause) = behaviour {
        tokio::time::sleep(pause).await;
    }
    Json(RecordAnswer { v: 1, ledger_time: now, answers }).into_response()
}

async fn sessions(
    State(ledger): State<Arc<Ledger>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let mut state = ledger.lock();
    if state.silent_about_sessions {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let key: KeyId = query["key"].parse().expect("a key");
    let running = state.sessions.get(&key).cloned();
    if state.overtake > 0 {
        state.overtake -= 1;
        let seq = state.frontier.size();
        let ours =
            state.statements.iter().rev().find(|said| said["typ"] == "decision/v1").expect("one").clone();
        let ours: Decision = serde_json::from_value(ours).expect("a decision");
        state.sessions.insert(key, Running::after(running.as_ref(), &ours, (seq, ledger.now())));
    }
    Json(SessionAnswer { v: 1, running }).into_response()
}

async fn definitions(State(ledger): State<Arc<Ledger>>, Json(told): Json<Definitions>) -> StatusCode {
    let mut state = ledger.lock();
    if state.behaviour == Behaviour::Unavailable {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    state.definitions.extend(told.definitions);
    StatusCode::NO_CONTENT
}

async fn probes(State(ledger): State<Arc<Ledger>>, Json(told): Json<ToldProbe>) -> StatusCode {
    ledger.lock().probes.push(told);
    StatusCode::NO_CONTENT
}

/// Says what it was asked, and by whom.
async fn vendor(
    State(ledger): State<Arc<Ledger>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    // A handler that panics breaks the connection off.
    assert_ne!(ledger.lock().behaviour, Behaviour::Gone, "gone");
    let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let said = serde_json::json!({
        "method": method.as_str(), "target": uri.to_string(), "body": body,
        "authorization": sent("authorization"), "type": sent("content-type"), "cookie": sent("cookie"),
    });
    let headers = [("retry-after", "7"), ("x-inside", "1")];
    (StatusCode::TOO_MANY_REQUESTS, headers, Json(said)).into_response()
}

async fn control(
    State(ledger): State<Arc<Ledger>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let known = query.get("known").cloned();
    let wait = query.get("wait_ms").and_then(|text| text.parse().ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_millis(wait);
    loop {
        let now = ledger.now();
        {
            let state = ledger.lock();
            if state.behaviour == Behaviour::Unavailable {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let asked = query.get("project").map(String::as_str);
            let snapshot = &state.snapshot.clone();
            let snapshot = &match asked == Some(&snapshot.project.to_string()) {
                true => snapshot.clone(),
                false => of_another_project(snapshot, asked),
            };
            if known.as_deref() != Some(&snapshot.version.to_string()) {
                let told = Snapshot { ledger_time: now, ..snapshot.clone() };
                return Json(told).into_response();
            }
            if Instant::now() >= until {
                return Json(unchanged(snapshot, now)).into_response();
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A second project that nobody has a key of.
fn of_another_project(snapshot: &Snapshot, project: Option<&str>) -> Snapshot {
    let other = Snapshot {
        project: project.and_then(|id| id.parse().ok()).expect("a project"),
        iss: "https://gw.example/p/8-k3m9q2v8".parse().expect("an issuer"),
        credentials: Vec::new(),
        ..snapshot.clone()
    };
    other.with_version()
}

fn unchanged(snapshot: &Snapshot, ledger_time: Timestamp) -> Unchanged {
    Unchanged {
        v: 1,
        unchanged: true,
        ledger_time,
        control: snapshot.control,
        floor: snapshot.floor,
        generation: snapshot.generation,
        killed: snapshot.killed,
    }
}

impl LedgerState {
    fn take(&mut self, item: StatementItem, now: Timestamp) -> ItemAnswer {
        let envelope = Envelope::parse(item.statement.get().as_bytes()).expect("an envelope");
        let digest = envelope.digest();
        if let Some(receipt) = self.known.get(&digest) {
            let receipt = receipt.clone();
            return ItemAnswer::Duplicate(Recorded { digest, receipt });
        }
        let statement = envelope.statement().expect("a statement");
        if let Statement::Decision(decision) = &statement
            && let Some(reason) = self.refuses(decision, item.judged_on, now)
        {
            return ItemAnswer::Refused { digest: Some(digest), reason };
        }
        if let Statement::Decision(decision) = &statement {
            if decision.is_cleared() && !self.holds.use_up(decision) {
                return ItemAnswer::Refused { digest: Some(digest), reason: RefusedReason::HoldGone };
            }
            if let Some(idempotency) = &item.idempotency {
                self.asked.occupy(idempotency, decision.action, digest);
            }
            if let Some(parked) = item.parked {
                self.holds.open(decision, digest, parked);
            }
        }
        if let Statement::Decision(decision) = &statement {
            self.count(decision, now);
        }
        self.statements.push(envelope.payload().clone());
        let receipt = self.place(envelope.bytes(), statement.kind(), item.project, now);
        self.known.insert(digest, receipt.clone());
        let before = self.last.replace(receipt.clone());
        match (self.behaviour, before) {
            (Behaviour::Forgetful, _) => ItemAnswer::Unknown { digest },
            (Behaviour::Confused, Some(receipt)) => ItemAnswer::Recorded(Recorded { digest, receipt }),
            _ => ItemAnswer::Recorded(Recorded { digest, receipt }),
        }
    }

    /// As the evidence service does: what others made is wrapped, whoever signed it.
    fn accept(&mut self, item: ExecutionItem, now: Timestamp) -> ItemAnswer {
        let bytes = item.execution.get().as_bytes().to_vec();
        let digest = Digest::of(&bytes);
        let Ok(submitted) = Submitted::parse(ReceivedForm::ExecutionNative, &bytes) else {
            return ItemAnswer::Refused { digest: None, reason: RefusedReason::Malformed };
        };
        if matches!(self.behaviour, Behaviour::Forgetful | Behaviour::DoubtingExecutions) {
            return ItemAnswer::Unknown { digest };
        }
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::ExecutionNative,
            signer: Signer {
                kid: Some(submitted.kid().to_owned()),
                thumbprint: submitted.kid().parse().ok(),
            },
            project: item.project,
            at: now,
            holds: true,
            bytes: ReceivedBytes(bytes),
        };
        let signed =
            Signed::sign(received, &SigningKey::<counterfoil_core::key::Ledger>::from_seed(&[0x13; 32]));
        self.executions.push((item.provider, item.execution.get().to_owned()));
        let receipt = self.place(signed.bytes(), Kind::Execution, item.project, now);
        ItemAnswer::Recorded(Recorded { digest: signed.digest(), receipt })
    }

    fn place(&mut self, body: &[u8], kind: Kind, project: ProjectId, now: Timestamp) -> Receipt {
        let entry = Entry::new(project, self.frontier.size(), now, kind, Digest::of(body), self.prev);
        self.prev = entry.hash();
        let paths = self.frontier.append(&[entry.leaf_hash()]);
        let checkpoint = Checkpoint {
            origin: self.snapshot.iss.origin(),
            size: self.frontier.size(),
            root: self.frontier.root(),
        };
        let note = match self.behaviour {
            Behaviour::Forging => checkpoint.sign(&SigningKey::from_seed(&[0x99; 32])),
            _ => checkpoint.sign(&log_key()),
        };
        Receipt::new(body, entry, &paths[0], &note).expect("a receipt")
    }

    fn count(&mut self, decision: &Decision, now: Timestamp) {
        // A vendor's sessions are its own.
        let Some(key) = key_of(decision) else { return };
        let place = (self.frontier.size(), now);
        self.sessions.insert(key, Running::after(self.sessions.get(&key), decision, place));
    }

    fn refuses(&self, decision: &Decision, judged_on: Option<u64>, now: Timestamp) -> Option<RefusedReason> {
        if !decision.is_cleared() {
            return None;
        }
        if self.snapshot.killed || decision.generation != self.snapshot.generation {
            return Some(RefusedReason::Killed);
        }
        let named = key_of(decision).and_then(|key| Some((key, decision.session?)));
        let overtaken = named.is_some_and(|(key, named)| {
            let stands = Summary::at(self.sessions.get(&key), now, decision.action);
            (stands.session, stands.upto) != (named, judged_on)
        });
        (overtaken || decision.control < self.snapshot.floor).then_some(RefusedReason::Stale)
    }
}
