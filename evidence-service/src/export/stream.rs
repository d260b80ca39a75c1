//! The stream behind one answer: a task that reads a little ahead of whoever takes the lines.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use counterfoil_core::export::Line;
use counterfoil_core::id::ProjectId;
use futures_util::Stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::store::{self, Noted};
use crate::database::{Database, DatabaseError};
use crate::ledger::Ledger;

/// Streams of one project at once: a mirror, its standby, and two people who look.
const AT_ONCE: usize = 4;
/// Entries under one checkpoint line, about.
const BATCH: u64 = 256;
/// Entries read at once, and their bodies' bytes: what one stream holds in memory, twice.
const PAGE: i64 = 64;
const PAGE_BYTES: i64 = 1024 * 1024;
/// One answer ends after so much, with a checkpoint.
const MOST_ENTRIES: u64 = 16 * 1024;
const LONGEST: Duration = Duration::from_secs(60);
/// A reader that takes nothing for so long has hung up without saying so.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a waiting stream looks for something new.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What the streams of one process share.
#[derive(Clone)]
pub(crate) struct Exports {
    ledger: Arc<Ledger>,
    open: Arc<Mutex<HashMap<ProjectId, Arc<Semaphore>>>>,
    /// Closes when the service stops.
    stopped: watch::Receiver<()>,
}

/// Why a stream ends before its time.
enum End {
    /// The reader is gone, or takes nothing.
    Unread,
    Database(DatabaseError),
}

impl From<DatabaseError> for End {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

impl Exports {
    pub(crate) fn new(ledger: Arc<Ledger>, stopped: watch::Receiver<()>) -> Self {
        Self { ledger, open: Arc::default(), stopped }
    }

    pub(super) fn database(&self) -> &Database {
        self.ledger.database()
    }

    /// Lines from the entry `next` on. None if the project has too many streams already.
    pub(super) fn open(
        &self,
        project: ProjectId,
        next: u64,
        wait: Duration,
    ) -> Option<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
        let place = self.place(project)?;
        let (lines, taken) = mpsc::channel(1);
        let writer = Writer { exports: self.clone(), project, next, lines, began: Instant::now() };
        tokio::spawn(writer.run(wait, place));
        let taken = futures_util::stream::unfold(taken, |mut taken| async move {
            let line = taken.recv().await?;
            Some((line, taken))
        });
        Some(taken)
    }

    fn place(&self, project: ProjectId) -> Option<OwnedSemaphorePermit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, places| places.available_permits() < AT_ONCE);
        let places = open.entry(project).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE)));
        Arc::clone(places).try_acquire_owned().ok()
    }
}

struct Writer {
    exports: Exports,
    project: ProjectId,
    next: u64,
    lines: mpsc::Sender<io::Result<Bytes>>,
    began: Instant,
}

impl Writer {
    async fn run(mut self, wait: Duration, _place: OwnedSemaphorePermit) {
        match self.write(wait).await {
            Ok(()) | Err(End::Unread) => {}
            Err(End::Database(error)) => {
                tracing::warn!(project = %self.project, %error, "export");
                // Breaks the answer off, so that its reader does not take it for the end.
                let _ = self.lines.try_send(Err(io::Error::other("the record cannot be read now")));
            }
        }
    }

    /// Batches while there are any; else one checkpoint, after waiting for something new.
    async fn write(&mut self, wait: Duration) -> Result<(), End> {
        let first = self.next;
        while self.next - first < MOST_ENTRIES && self.began.elapsed() < LONGEST && !self.is_stopping() {
            let Some(end) = self.end_of_batch().await? else { break };
            self.batch(end).await?;
        }
        if self.next > first {
            return Ok(());
        }
        match self.something_new(wait).await? {
            Some(end) => self.batch(end).await,
            None => {
                let newest = self.newest().await?;
                self.send(Line::of_checkpoint(&newest.note)).await
            }
        }
    }

    async fn batch(&mut self, end: Noted) -> Result<(), End> {
        while self.next < end.size {
            let lines = self.page(end.size).await?;
            self.send(lines).await?;
        }
        self.send(Line::of_checkpoint(&end.note)).await
    }

    /// The lines of a few entries. The connection is back in its pool before anybody is waited for.
    async fn page(&mut self, end: u64) -> Result<Vec<u8>, DatabaseError> {
        let mut client = self.exports.database().reader().await?;
        let tx = client.begin(self.project).await?;
        let rows = store::entries(&tx, self.next, end, PAGE, PAGE_BYTES).await?;
        let mut lines = Vec::new();
        for row in &rows {
            if row.entry.seq != self.next {
                break;
            }
            lines.extend(Line::of_entry(&row.entry, row.body.as_deref()));
            self.next += 1;
        }
        if lines.is_empty() {
            return Err(DatabaseError::Unreadable(format!("entry {} is not there", self.next)));
        }
        Ok(lines)
    }

    async fn something_new(&self, wait: Duration) -> Result<Option<Noted>, DatabaseError> {
        let began = Instant::now();
        loop {
            // A reader that is ahead of the record learns it from the checkpoint, at once.
            if self.newest().await?.size < self.next || began.elapsed() >= wait || self.is_stopping() {
                return Ok(None);
            }
            if let Some(end) = self.end_of_batch().await? {
                return Ok(Some(end));
            }
            let mut stopped = self.exports.stopped.clone();
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY.min(wait)) => {}
                _ = stopped.changed() => {}
                () = self.lines.closed() => return Ok(None),
            }
        }
    }

    async fn end_of_batch(&self) -> Result<Option<Noted>, DatabaseError> {
        let mut client = self.exports.database().reader().await?;
        let tx = client.begin(self.project).await?;
        store::end_of_batch(&tx, self.next, BATCH).await
    }

    async fn newest(&self) -> Result<Noted, DatabaseError> {
        let mut client = self.exports.database().reader().await?;
        let tx = client.begin(self.project).await?;
        store::newest(&tx).await
    }

    async fn send(&self, lines: Vec<u8>) -> Result<(), End> {
        let sent = tokio::time::timeout(PATIENCE, self.lines.send(Ok(lines.into()))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Unread),
        }
    }

    /// The signal is that the sender is gone.
    fn is_stopping(&self) -> bool {
        self.exports.stopped.has_changed().is_err()
    }
}
