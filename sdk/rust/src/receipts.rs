//! Receipts that you keep, and what they let you find out.
//!
//! Promised: [`ReceiptStore::check`] reads the log's newest checkpoint and tiles and raises an alarm if the record no longer
//! begins with what you saw: it shrank, it forked, or an entry that you hold is not in it. The two notes that contradict
//! each other are saved first. Not promised: that somebody else was shown the same log. Compare notes.
//!
//!     <folder>/<seq>.json              one receipt each
//!     <folder>/checkpoint              the largest note that was seen
//!     <folder>/alarm-<time>-<n>.note   evidence
//!     <folder>/pending/<hex>.json      executions that were sent and not accepted yet

mod contradiction;
mod files;
mod pending;
mod tiles;

pub use contradiction::{Alarm, AlarmKind};

use crate::clock::{self, Clock};
use crate::execution::{Envelope, SeenCheckpoint};
use crate::fetch::{Bounds, Fetch, FetchError};
use crate::verify::{KeySet, Refused, Verified, verify_receipt};
use contradiction::contradiction;
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::receipt::{Refusal, signed_checkpoint};
use files::Folder;
use std::io;
use std::path::Path;
use std::time::Duration;
use tiles::Tiles;

/// A note has at most 64 KiB, signatures included.
const NOTE: Bounds = Bounds { most: 64 * 1024, within: Duration::from_secs(5) };
const CHECKPOINT: &str = "checkpoint";

#[derive(Debug, thiserror::Error)]
pub enum ReceiptsError {
    /// A receipt or a checkpoint that your keys do not hold up.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The log could not be asked; that proves nothing either way.
    #[error(transparent)]
    Away(#[from] FetchError),
    #[error("the folder of receipts: {0}")]
    Folder(#[from] io::Error),
}

impl From<Refusal> for ReceiptsError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

/// What one look at the log found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checked {
    /// Entries of the log.
    pub size: u64,
    /// Receipts whose entries were found in their places.
    pub found: usize,
    pub alarm: Option<Alarm>,
}

/// A signed note, and what it says.
pub(crate) struct HeldNote {
    pub(crate) note: String,
    pub(crate) checkpoint: Checkpoint,
}

/// A folder of receipts.
pub struct ReceiptStore {
    folder: Folder,
    pinned: KeySet,
    clock: Clock,
}

impl ReceiptStore {
    /// Makes the folder where it is not there.
    pub fn open(folder: impl AsRef<Path>, pinned: KeySet) -> io::Result<Self> {
        Ok(Self { folder: Folder::open(folder.as_ref())?, pinned, clock: clock::system() })
    }

    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps a receipt that verifies.
    pub fn keep(&self, receipt: &[u8]) -> Result<Verified, ReceiptsError> {
        let verified = verify_receipt(receipt, &self.pinned)?;
        self.folder.write(&format!("{}.json", verified.entry.seq), receipt)?;
        let held = self.held()?.map_or(0, |held| held.checkpoint.size);
        if verified.checkpoint.size > held {
            self.folder.write(CHECKPOINT, note_of(receipt)?.as_bytes())?;
        }
        Ok(verified)
    }

    /// The largest checkpoint held, for the next execution.
    pub fn seen(&self) -> Result<Option<SeenCheckpoint>, ReceiptsError> {
        let seen = |held: HeldNote| SeenCheckpoint { size: held.checkpoint.size, root: held.checkpoint.root };
        Ok(self.held()?.map(seen))
    }

    /// `log` is the address of the project's page.
    pub async fn check(&self, log: &str, fetch: &dyn Fetch) -> Result<Checked, ReceiptsError> {
        let log = log.trim_end_matches('/');
        let held = self.held()?;
        let size = held.as_ref().map_or(0, |held| held.checkpoint.size);
        let newest = self.newest(log, fetch, size).await?;
        let receipts = self.receipts()?;
        let mut tiles = Tiles::new(log, fetch, newest.checkpoint.size);
        let found = contradiction(held.as_ref(), &newest, &receipts, &mut tiles).await?;
        match &found.alarm {
            Some(alarm) => self.raise(alarm)?,
            None if newest.checkpoint.size > size => self.folder.write(CHECKPOINT, newest.note.as_bytes())?,
            None => {}
        }
        Ok(Checked { size: newest.checkpoint.size, found: found.count, alarm: found.alarm })
    }

    /// Remembers that a statement was sent and owes an acceptance.
    pub fn expect_acceptance(&self, statement: &Envelope) -> io::Result<()> {
        pending::expect(&self.folder, statement, (self.clock)())
    }

    /// Takes the acceptance: the receipt of the ledger's own wrapping of our statement.
    pub fn accept(&self, receipt: &[u8]) -> Result<Verified, ReceiptsError> {
        let verified = self.keep(receipt)?;
        pending::settle(&self.folder, &verified.statement)?;
        Ok(verified)
    }

    /// Statements that nobody accepted within ten minutes: send them again, and ask.
    pub fn overdue(&self) -> io::Result<Vec<Envelope>> {
        pending::overdue(&self.folder, (self.clock)())
    }

    /// What a log publishes may be two seconds behind its newest receipt.
    async fn newest(&self, log: &str, fetch: &dyn Fetch, expected: u64) -> Result<HeldNote, ReceiptsError> {
        let address = format!("{log}/{CHECKPOINT}");
        let mut newest = self.read(&fetch.get(&address, NOTE).await?)?;
        for pause in [500, 1000, 1000] {
            if newest.checkpoint.size >= expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
            newest = self.read(&fetch.get(&address, NOTE).await?)?;
        }
        Ok(newest)
    }

    fn held(&self) -> Result<Option<HeldNote>, ReceiptsError> {
        self.folder.read(CHECKPOINT)?.map(|note| self.read(&note)).transpose()
    }

    fn read(&self, note: &[u8]) -> Result<HeldNote, ReceiptsError> {
        // Bytes that are no text are no note either, and say so.
        let note = String::from_utf8_lossy(note).into_owned();
        let checkpoint = signed_checkpoint(&note, self.pinned.trust())?;
        Ok(HeldNote { note, checkpoint })
    }

    fn receipts(&self) -> Result<Vec<HeldReceipt>, ReceiptsError> {
        let read = |bytes: Vec<u8>| -> Result<HeldReceipt, ReceiptsError> {
            let entry = verify_receipt(&bytes, &self.pinned)?.entry;
            Ok(HeldReceipt { entry, note: note_of(&bytes)? })
        };
        self.folder.receipts()?.into_iter().map(read).collect()
    }

    fn raise(&self, alarm: &Alarm) -> io::Result<()> {
        let stamp: String =
            (self.clock)().to_string().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        for (note, at) in alarm.notes.iter().zip(1..) {
            self.folder.write(&format!("alarm-{stamp}-{at}.note"), note.as_bytes())?;
        }
        Ok(())
    }
}

/// An entry that is held, and the note that its receipt came under.
pub(crate) struct HeldReceipt {
    pub(crate) entry: counterfoil_core::entry::Entry,
    pub(crate) note: String,
}

/// The note inside a receipt that verified.
fn note_of(receipt: &[u8]) -> Result<String, ReceiptsError> {
    let receipt: counterfoil_core::receipt::Receipt =
        serde_json::from_slice(receipt).map_err(|error| Refusal::Shape(error.to_string()))?;
    let proof = counterfoil_core::receipt::LogProof::parse(receipt.proof()).map_err(Refusal::Proof)?;
    Ok(proof.checkpoint)
}
