//! Tasks (extension `io.modelcontextprotocol/tasks`): how a host that declares them waits for a person.
//!
//! Promised: a task is a held call and nothing else; it is asked about by the agent and key that began it, and by nobody
//! else. Its id is sealed, so any replica knows what it is about and asks the evidence service; a result is kept for ten
//! minutes, in the memory of the gateway that dispatched the call.
//! Not promised: the result on another replica, or after a restart. Then the task says that the call was dispatched.
//!
//!     tools/call → {"resultType":"task","taskId":"cft1.…","status":"working",…}
//!     tasks/get  → {"resultType":"complete","taskId":"cft1.…","status":"completed","result":{…},…}

use super::endpoint::Exchange;
use super::methods::broken_off;
use super::modern::{TASKS, declares};
use super::refusal::Refusal;
use super::reply::{self, Era};
use crate::answer::{Answer, Body};
use crate::call::{Asked, Received, Wants};
use crate::envelope::{Id, Request};
use crate::holds::{self, Begun, Manner, Round, TaskId};
use crate::house::House;
use crate::pipeline::{self, Turn};
use crate::raw::Object;
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{HoldIs, HoldState};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a result is kept.
const KEPT: Duration = Duration::from_secs(600);
/// Tasks that one gateway waits for at once; others wait as if they had declared no tasks.
const MOST: usize = 256;
const POLL_INTERVAL_MS: u32 = 2_000;
const REQUIRED_CAPABILITY: i64 = -32021;

/// What this gateway knows of tasks by itself.
#[derive(Default)]
pub struct Tasks(Mutex<HashMap<Digest, Progress>>);

enum Progress {
    /// Cancelling the token gives the call up.
    UnderWay(CancellationToken),
    Done(Arc<Answer>, Instant),
    Cancelled(Instant),
}

enum Known {
    Nothing,
    UnderWay,
    Done(Arc<Answer>),
    Cancelled,
}

impl Tasks {
    fn has_room(&self) -> bool {
        let mut known = self.lock();
        known.retain(|_, progress| match progress {
            Progress::UnderWay(_) => true,
            Progress::Done(_, at) | Progress::Cancelled(at) => at.elapsed() < KEPT,
        });
        known.len() < MOST
    }

    /// False if it is under way, or over, already.
    fn begin(&self, task: Digest, given_up: CancellationToken) -> bool {
        let mut known = self.lock();
        let new = !known.contains_key(&task);
        known.entry(task).or_insert(Progress::UnderWay(given_up));
        new
    }

    fn end(&self, task: Digest, answer: Answer) {
        let mut known = self.lock();
        if let Some(Progress::UnderWay(_)) | None = known.get(&task) {
            known.insert(task, Progress::Done(Arc::new(answer), Instant::now()));
        }
    }

    fn cancel(&self, task: Digest) {
        let mut known = self.lock();
        if let Some(Progress::Done(..)) = known.get(&task) {
            return;
        }
        if let Some(Progress::UnderWay(given_up)) = known.insert(task, Progress::Cancelled(Instant::now())) {
            given_up.cancel();
        }
    }

    fn look(&self, task: Digest) -> Known {
        match self.lock().get(&task) {
            None => Known::Nothing,
            Some(Progress::UnderWay(_)) => Known::UnderWay,
            Some(Progress::Done(_, at)) if at.elapsed() >= KEPT => Known::Nothing,
            Some(Progress::Done(answer, _)) => Known::Done(answer.clone()),
            Some(Progress::Cancelled(_)) => Known::Cancelled,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Progress>> {
        self.0.lock().expect("no holder panics")
    }
}

/// A call whose caller takes a task if a person has to be asked. Goes the one way; only its waiting is another.
pub async fn run(
    exchange: &Exchange,
    received: Received,
    given_up: &CancellationToken,
) -> Result<Answer, Refusal> {
    let house = exchange.house.clone();
    let (begin, begun) = oneshot::channel();
    let manner = match house.tasks.has_room() {
        true => Manner::Task(begin),
        false => received.manner,
    };
    let received = Received { manner, ..received };
    let mut running = spawn(&house, received);
    let begun = tokio::select! {
        answer = &mut running => return answer.map_err(|_| broken_off()),
        Ok(begun) = begun => begun,
    };
    let Ok(now) = exchange.caller.project.clock.now() else {
        return Ok(Answer::unrecorded());
    };
    let Begun { answer, hold, call, expires_at } = begun;
    let task = TaskId::new(&exchange.caller, (hold, call), (now, expires_at));
    let id = task.text(&exchange.caller, &house.holds.sealer);
    keep(&house, digest_of(&id), running, given_up.clone());
    let said = task_json(&id, &task, "working", "waits for a person to approve it");
    let body = Body::Result(with(&said, "resultType", "\"task\""));
    Ok(Answer { body, ..answer })
}

fn spawn(house: &Arc<House>, received: Received) -> JoinHandle<Answer> {
    let calling = house.clone();
    house.calls.spawn(async move { pipeline::run(received, &calling).await })
}

/// Keeps what comes of it. Begun before anybody hears of the task, so that whoever asks finds it.
fn keep(house: &Arc<House>, task: Digest, running: JoinHandle<Answer>, given_up: CancellationToken) {
    if !house.tasks.begin(task, given_up) {
        return;
    }
    let keeping = house.clone();
    house.calls.spawn(async move {
        let answer = running.await.unwrap_or_else(|_| Answer::unrecorded());
        keeping.tasks.end(task, answer);
    });
}

fn digest_of(id: &str) -> Digest {
    Digest::of(id.as_bytes())
}

pub async fn answer(exchange: &Exchange, request: &Request) -> Result<Response, Refusal> {
    if !declares(request, &["extensions", TASKS]) {
        let required = json!({"requiredCapabilities": {"extensions": { TASKS: {} }}});
        let refusal = Refusal::bad(REQUIRED_CAPABILITY, "tasks are asked about by hosts that declare them");
        return Err(refusal.with(required));
    }
    let unknown = || Refusal::bad_parameter("$.params.taskId", "unknown task");
    let text = request.params.value().get("taskId").and_then(Value::as_str).ok_or_else(unknown)?;
    let task = TaskId::parse(text, &exchange.caller, &exchange.house.holds.sealer).ok_or_else(unknown)?;
    match request.method.as_str() {
        "tasks/cancel" => {
            exchange.house.tasks.cancel(digest_of(text));
            Ok(acknowledged(&request.id))
        }
        // We ask for no input, so there is none to take.
        "tasks/update" => Ok(acknowledged(&request.id)),
        _ => status(exchange, &request.id, text, &task).await,
    }
}

fn acknowledged(id: &Id) -> Response {
    reply::result(id, r#"{"resultType":"complete"}"#)
}

async fn status(exchange: &Exchange, id: &Id, text: &str, task: &TaskId) -> Result<Response, Refusal> {
    let house = &exchange.house;
    let said = match house.tasks.look(digest_of(text)) {
        Known::UnderWay => task_json(text, task, "working", "waits for a person to approve it, or runs"),
        Known::Cancelled => task_json(text, task, "cancelled", "given up; its hold may still be answered"),
        Known::Done(answer) => done(text, task, &answer),
        Known::Nothing => {
            let project = exchange.caller.project.id;
            let state = house.holds.evidence.hold(project, task.hold, Duration::ZERO).await;
            // Nobody learns that a task is gone from a service that did not answer.
            let state = state.map_err(|_| Refusal::new(StatusCode::OK, -32603, "ask again"))?;
            elsewhere(exchange, text, task, state)
        }
    };
    Ok(reply::result(id, &with(&said, "resultType", "\"complete\"")))
}

/// A task that another replica began, or this one before it was started again.
fn elsewhere(exchange: &Exchange, text: &str, task: &TaskId, state: Option<HoldState>) -> String {
    let told = |words: &str| {
        let answer = Answer { body: Body::refusing(words), receipt: None };
        done(text, task, &answer)
    };
    let Some(state) = state.filter(|state| state.hold == task.hold) else {
        return told("Not executed. Nothing is known of this call any more; repeat it to ask again.");
    };
    match state.is {
        HoldIs::Open => task_json(text, task, "working", "waits for a person to approve it"),
        HoldIs::Approved => match resumed(exchange, task, &state) {
            Ok((received, given_up)) => {
                keep(&exchange.house, digest_of(text), spawn(&exchange.house, received), given_up);
                task_json(text, task, "working", "approved; runs now")
            }
            Err(answer) => done(text, task, &answer),
        },
        HoldIs::Dispatched => told(
            "Dispatched, and its result is not kept here: another gateway had it, or too much time has passed. Look at \
             what it brought before you repeat the call.",
        ),
        HoldIs::Denied => {
            told("Denied, not executed: a person said no to this call. Nothing was sent to the tool.")
        }
        HoldIs::Expired => {
            told("Denied, not executed: nobody answered in time. Nothing was sent to the tool.")
        }
        HoldIs::Swept => {
            told("Denied, not executed: this project was stopped. Nothing was sent to the tool.")
        }
    }
}

/// The call as it was parked, to go the way of every call.
fn resumed(
    exchange: &Exchange,
    task: &TaskId,
    state: &HoldState,
) -> Result<(Received, CancellationToken), Answer> {
    let caller = exchange.caller.clone();
    let named = (task.call.clone(), String::new());
    let given_up = CancellationToken::new();
    let received = Received {
        round: Some(Round::first(&caller, task.hold, named, task.expires_at)),
        caller,
        origin: exchange.origin,
        provider: None,
        asked: Asked::Unreadable,
        wants: Wants::Reference,
        manner: Manner::Repeat,
        reopened: None,
        given_up: given_up.clone(),
    };
    match holds::taken_up(state, received, &exchange.house) {
        Turn::Answered(received) => Ok((*received, given_up)),
        Turn::Ended(answer) => Err(answer),
        Turn::Overtaken(_) | Turn::Unrecorded => Err(Answer::unrecorded()),
    }
}

fn done(text: &str, task: &TaskId, answer: &Answer) -> String {
    let receipt = answer.receipt.as_deref();
    match &answer.body {
        Body::Result(result) => {
            let said = task_json(text, task, "completed", "over");
            with(&said, "result", &reply::dressed(result, receipt, Era::Modern))
        }
        Body::Error { code, message, data, .. } => {
            let data = reply::with_receipt(data.clone(), receipt);
            let error = json!({"code": code, "message": message}).to_string();
            let error = data.map_or(error.clone(), |data| with(&error, "data", &data));
            with(&task_json(text, task, "failed", "the tool provider failed"), "error", &error)
        }
    }
}

fn task_json(id: &str, task: &TaskId, status: &str, message: &str) -> String {
    let ttl =
        task.expires_at.millis() - task.begun_at.millis() + i64::try_from(KEPT.as_millis()).unwrap_or(0);
    json!({
        "taskId": id, "status": status, "statusMessage": message, "createdAt": task.begun_at,
        "lastUpdatedAt": task.begun_at, "ttlMs": ttl.max(0), "pollIntervalMs": POLL_INTERVAL_MS,
    })
    .to_string()
}

fn with(object: &str, member: &str, value: &str) -> String {
    Object::read_loosely(object).map_or_else(|_| object.to_owned(), |read| read.with(member, value))
}
