//! One life of a provider's child: requests out by number, answers back in any order.

use super::connection::Outcome;
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
pub struct Child {
    outbox: mpsc::Sender<Outgoing>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl Child {
    /// Starts the child and exchanges introductions.
    pub async fn open(start: &Start, stale: Arc<AtomicBool>) -> Result<(Self, Option<String>), Away> {
        let (process, Pipes { stdin, stdout }) = Process::start(start)?;
        let (outbox, lines) = mpsc::channel(OUTBOX);
        let child = Self {
            outbox,
            waiting: Arc::default(),
            next_id: AtomicU64::new(1),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        tokio::spawn(write(stdin, lines, child.stop.clone()));
        tokio::spawn(listen(
            stdout,
            Ears {
                provider: start.provider.clone(),
                outbox: child.outbox.clone(),
                waiting: child.waiting.clone(),
                stale,
                stop: child.stop.clone(),
            },
        ));
        let (stop, ended, waiting) = (child.stop.clone(), child.ended.clone(), child.waiting.clone());
        tokio::spawn(async move {
            process.end(stop.clone()).await;
            stop.cancel();
            waiting.fail();
            ended.cancel();
        });
        let instructions = child.introduce().await?;
        Ok((child, instructions))
    }

    pub fn is_gone(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Sends one request, before `send_by` or never, and waits for its answer, at most `within`, or until `cancel`.
    pub async fn ask(
        &self,
        (method, params): (&str, &str),
        send_by: Instant,
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
            let outgoing = Outgoing { line, place: place.clone(), send_by: Some(send_by) };
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
            () = still_waiting(&place, send_by) => return Outcome::Unsent,
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
        let outcome =
            self.ask(("initialize", &params), Instant::now() + INTRODUCTION, INTRODUCTION, &self.stop).await;
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

/// Ends when a line was withdrawn because its time to be written was over; never for one that was written.
async fn still_waiting(place: &Place, send_by: Instant) {
    tokio::time::sleep_until(send_by.into()).await;
    if !place.withdraw() {
        std::future::pending::<()>().await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
