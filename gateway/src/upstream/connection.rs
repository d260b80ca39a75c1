//! One life of a provider's child: requests out by number, answers back in any order.
//!
//! Promised: an answer is handed on as the bytes that came. A call that was given up before it was written is never
//! written. Requests of the provider are refused; we declare no capability that would allow one.
//! Not promised: that a call given up after it was written did not run.

use super::catalogue::{self, Catalogue};
use super::lines::{Ears, Outgoing, Place, listen, write};
use super::process::{Pipes, Process};
use super::waiting::{Forget, Waiting};
use super::{Away, Start};
use crate::raw::{Object, on_one_line, quoted};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Legacy revisions that a child may pick; we offer the newest.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// A package runner may have to fetch the provider first.
const INTRODUCTION: Duration = Duration::from_secs(60);
const OUTBOX: usize = 256;
/// How long a definition may have changed before a call under it is held.
const LIST_AGE: Duration = Duration::from_secs(60);

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
    stale: Arc<AtomicBool>,
    catalogue: tokio::sync::Mutex<Option<(Instant, Arc<Catalogue>)>>,
    instructions: Option<String>,
}

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

    /// The tools it lists now: read again after it said that they changed, and every minute, since some do not say.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, Away> {
        let mut known = self.catalogue.lock().await;
        // Cleared before reading: a change announced meanwhile makes the next caller read again.
        if !self.stale.swap(false, Ordering::AcqRel)
            && let Some((read_at, catalogue)) = &*known
            && read_at.elapsed() < LIST_AGE
        {
            return Ok(catalogue.clone());
        }
        match catalogue::read(self).await {
            Ok(catalogue) => {
                let catalogue = Arc::new(catalogue);
                *known = Some((Instant::now(), catalogue.clone()));
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
        let place = Arc::new(Place::queued());
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
