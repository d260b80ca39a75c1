//! One life of a provider's child: requests out by number, answers back in any order.
//!
//! Promised: an answer is handed on as the bytes that came. A call that was given up before it was written is never
//! written. Requests of the provider are refused; we declare no capability that would allow one.
//! Not promised: that a call given up after it was written did not run.

use super::catalogue::{self, Catalogue};
use super::process::{Pipes, Process};
use super::wire::{self, Line, Read};
use super::{Away, Start};
use crate::raw::{Object, on_one_line, quoted};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Legacy revisions that a child may pick; we offer the newest.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// A package runner may have to fetch the provider first.
const INTRODUCTION: Duration = Duration::from_secs(60);
/// Largest line of a child. Four times what may come in, since results are larger than calls.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
const OUTBOX: usize = 256;

/// How a call ended.
#[derive(Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The `result` object as it came.
    Returned(String),
    /// The `error` object as it came.
    Failed(String),
    TimedOut,
    Cancelled,
    /// The child ended, or broke the protocol, while it had the call.
    Gone,
    Oversized,
    /// Given up before it was written: the provider never saw it.
    Unsent,
}

pub struct Connection {
    provider: String,
    outbox: mpsc::Sender<Outgoing>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
    stop: CancellationToken,
    ended: CancellationToken,
    pub(super) stale: Arc<AtomicBool>,
    pub(super) catalogue: tokio::sync::Mutex<Option<Arc<Catalogue>>>,
    instructions: Option<String>,
}

/// Answers that somebody waits for.
#[derive(Default)]
struct Waiting(Mutex<HashMap<u64, oneshot::Sender<Outcome>>>);

struct Outgoing {
    line: String,
    place: Arc<Place>,
}

/// Where an outgoing line is: whoever moves it out of QUEUED first decides whether it is written.
struct Place(AtomicU8);

const QUEUED: u8 = 0;
const WRITTEN: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Connection {
    /// Starts the child and exchanges introductions.
    pub async fn open(start: &Start) -> Result<Arc<Self>, Away> {
        let (process, Pipes { stdin, stdout }) = Process::start(start)?;
        let (outbox, lines) = mpsc::channel(OUTBOX);
        let mut connection = Self {
            provider: start.provider.clone(),
            outbox,
            waiting: Arc::default(),
            next_id: AtomicU64::new(1),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            stale: Arc::new(AtomicBool::new(true)),
            catalogue: tokio::sync::Mutex::new(None),
            instructions: None,
        };
        tokio::spawn(write(stdin, lines, connection.stop.clone()));
        tokio::spawn(listen(
            stdout,
            Ears {
                provider: start.provider.clone(),
                outbox: connection.outbox.clone(),
                waiting: connection.waiting.clone(),
                stale: connection.stale.clone(),
                stop: connection.stop.clone(),
            },
        ));
        let (stop, ended, waiting) =
            (connection.stop.clone(), connection.ended.clone(), connection.waiting.clone());
        tokio::spawn(async move {
            process.end(stop.clone()).await;
            stop.cancel();
            waiting.fail();
            ended.cancel();
        });
        connection.instructions = connection.introduce().await?;
        Ok(Arc::new(connection))
    }

    pub fn is_gone(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// What the provider says about itself, as a JSON string.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The tools it lists now: read once, and again after it said that they changed.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, Away> {
        let mut known = self.catalogue.lock().await;
        // Cleared before reading: a change announced meanwhile makes the next caller read again.
        if !self.stale.swap(false, Ordering::AcqRel)
            && let Some(catalogue) = &*known
        {
            return Ok(catalogue.clone());
        }
        match catalogue::read(self).await {
            Ok(catalogue) => {
                let catalogue = Arc::new(catalogue);
                *known = Some(catalogue.clone());
                Ok(catalogue)
            }
            Err(away) => {
                self.stale.store(true, Ordering::Release);
                Err(away)
            }
        }
    }

    /// Sends one request and waits for its answer, at most `within`, or until `cancel`.
    pub async fn ask(
        &self,
        method: &str,
        params: &str,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Outcome {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let place = Arc::new(Place(AtomicU8::new(QUEUED)));
        let answer = self.waiting.expect(id);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{}}}"#,
            quoted(method),
            on_one_line(params)
        );
        // Both ends of the wait forget the answer, so that a late one is thrown away.
        let _forget = Forget(&self.waiting, id);
        let exchange = async {
            let outgoing = Outgoing { line, place: place.clone() };
            if self.is_gone() || self.outbox.send(outgoing).await.is_err() {
                return None;
            }
            answer.await.ok()
        };
        let given_up = tokio::select! {
            outcome = exchange => match outcome {
                None | Some(Outcome::Gone) => Outcome::Gone,
                Some(outcome) => return outcome,
            },
            () = tokio::time::sleep(within) => Outcome::TimedOut,
            () = cancel.cancelled() => Outcome::Cancelled,
        };
        if place.withdraw() {
            return Outcome::Unsent;
        }
        if matches!(given_up, Outcome::TimedOut | Outcome::Cancelled) {
            self.notify_cancelled(id);
        }
        given_up
    }

    /// Asks the child to end and waits until it has.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }

    async fn introduce(&self) -> Result<Option<String>, Away> {
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"counterfoil-gateway","version":"{}"}}}}"#,
            REVISIONS[0],
            env!("CARGO_PKG_VERSION")
        );
        let outcome = self.ask("initialize", &params, INTRODUCTION, &self.stop).await;
        let Outcome::Returned(result) = outcome else {
            return Err(Away::NotIntroduced);
        };
        let result = Object::read(&result).map_err(|_| Away::NotIntroduced)?;
        let spoken = REVISIONS.iter().any(|known| result.value("protocolVersion") == Some(&quoted(known)));
        if !spoken {
            return Err(Away::NotIntroduced);
        }
        self.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into()).await;
        let instructions = result.value("instructions");
        Ok(instructions.filter(|text| text.starts_with('"')).map(str::to_owned))
    }

    async fn post(&self, line: String) {
        // The writer ends only with the connection; then nobody needs the notice.
        let _ = self.outbox.send(Outgoing::notice(line)).await;
    }

    fn notify_cancelled(&self, id: u64) {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        // Best effort: a full outbox means that the child does not read anyway.
        let _ = self.outbox.try_send(Outgoing::notice(line));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.provider)
    }
}

impl Outgoing {
    fn notice(line: String) -> Self {
        Self { line, place: Arc::new(Place(AtomicU8::new(QUEUED))) }
    }
}

impl Place {
    fn take(&self, next: u8) -> bool {
        self.0.compare_exchange(QUEUED, next, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn withdraw(&self) -> bool {
        self.take(WITHDRAWN)
    }
}

impl Waiting {
    fn expect(&self, id: u64) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id, sender);
        receiver
    }

    fn answer(&self, id: u64, outcome: Outcome) {
        if let Some(sender) = self.lock().remove(&id) {
            // Nobody waits any more: it was given up a moment ago.
            let _ = sender.send(outcome);
        }
    }

    fn fail(&self) {
        for (_, sender) in self.lock().drain() {
            let _ = sender.send(Outcome::Gone);
        }
    }

    /// Whose line it was can only be told when one call is out.
    fn fail_oversized(&self) {
        let mut waiting = self.lock();
        if waiting.len() == 1 {
            for (_, sender) in waiting.drain() {
                let _ = sender.send(Outcome::Oversized);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Outcome>>> {
        self.0.lock().expect("no holder panics")
    }
}

struct Forget<'a>(&'a Waiting, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Outgoing>, stop: CancellationToken) {
    loop {
        let outgoing = tokio::select! {
            outgoing = lines.recv() => outgoing,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { mut line, place }) = outgoing else {
            break;
        };
        if !place.take(WRITTEN) {
            continue;
        }
        line.push('\n');
        let written = tokio::select! {
            written = stdin.write_all(line.as_bytes()) => written.is_ok(),
            () = stop.cancelled() => false,
        };
        if !written || stdin.flush().await.is_err() {
            break;
        }
    }
    // Dropping stdin is how the child learns that it is over.
    stop.cancel();
}

struct Ears {
    provider: String,
    outbox: mpsc::Sender<Outgoing>,
    waiting: Arc<Waiting>,
    stale: Arc<AtomicBool>,
    stop: CancellationToken,
}

async fn listen(mut stdout: BufReader<ChildStdout>, ears: Ears) {
    let mut skipped = 0_u64;
    loop {
        match wire::next(&mut stdout, LONGEST_LINE).await {
            Read::Line(bytes) => skipped += u64::from(!ears.hear(&bytes)),
            Read::End => break,
            Read::TooLong => {
                tracing::warn!(provider = %ears.provider, limit = LONGEST_LINE, "provider wrote too long a line");
                ears.waiting.fail_oversized();
                break;
            }
        }
    }
    if skipped > 0 {
        tracing::info!(provider = %ears.provider, skipped, "provider wrote lines that are no messages");
    }
    ears.stop.cancel();
    ears.waiting.fail();
}

impl Ears {
    /// Whether the line was a message.
    fn hear(&self, bytes: &[u8]) -> bool {
        match wire::read(bytes) {
            Line::Result { id, result } => self.waiting.answer(id, Outcome::Returned(result)),
            Line::Error { id, error } => self.waiting.answer(id, Outcome::Failed(error)),
            Line::Request { id, method } => {
                let answer = match method.as_str() {
                    "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
                    _ => format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
                    ),
                };
                // Never waits: a child that floods us with requests and reads none loses its answers.
                let _ = self.outbox.try_send(Outgoing::notice(on_one_line(&answer)));
            }
            Line::Notice { method } if method == "notifications/tools/list_changed" => {
                self.stale.store(true, Ordering::Release);
            }
            Line::Notice { .. } => {}
            Line::Other => return false,
        }
        true
    }
}
