//! The two ends of a child's pipes: lines out in order, lines in as they come.
//!
//! Promised: a line that was withdrawn before its turn, or whose turn came too late, is never written.

use super::connection::Outcome;
use super::waiting::Waiting;
use super::wire::{self, Line, Read};
use crate::raw::on_one_line;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Instant;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Largest line of a child. Four times what may come in, since results are larger than calls.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

pub(super) struct Outgoing {
    pub line: String,
    pub place: Arc<Place>,
    /// Not written from then on. Whoever waits for the answer withdraws it at the same moment.
    pub send_by: Option<Instant>,
}

/// Where an outgoing line is: whoever moves it out of QUEUED first decides whether it is written.
pub(super) struct Place(AtomicU8);

const QUEUED: u8 = 0;
const WRITTEN: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Outgoing {
    pub fn notice(line: String) -> Self {
        Self { line, place: Arc::new(Place::queued()), send_by: None }
    }
}

impl Place {
    pub fn queued() -> Self {
        Self(AtomicU8::new(QUEUED))
    }

    fn take(&self, next: u8) -> bool {
        self.0.compare_exchange(QUEUED, next, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it was still in the queue. If so, it never leaves it.
    pub fn withdraw(&self) -> bool {
        self.take(WITHDRAWN)
    }
}

pub(super) async fn write(
    mut stdin: ChildStdin,
    mut lines: mpsc::Receiver<Outgoing>,
    stop: CancellationToken,
) {
    loop {
        let outgoing = tokio::select! {
            outgoing = lines.recv() => outgoing,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { mut line, place, send_by }) = outgoing else {
            break;
        };
        // Asked here too: a process that was stopped meanwhile runs its timers in any order.
        let is_late = send_by.is_some_and(|by| Instant::now() >= by);
        if is_late || !place.take(WRITTEN) {
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

/// What a listener tells whom.
pub(super) struct Ears {
    pub provider: String,
    pub outbox: mpsc::Sender<Outgoing>,
    pub waiting: Arc<Waiting>,
    pub stale: Arc<AtomicBool>,
    pub stop: CancellationToken,
}

pub(super) async fn listen(mut stdout: BufReader<ChildStdout>, ears: Ears) {
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
