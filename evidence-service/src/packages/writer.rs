//! The thread that compresses and writes, fed by the task that reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use counterfoil_core::package::FileDigest;
use counterfoil_core::package::zip::Writer;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Pages on their way: one is written while the next is read.
const WAITING: usize = 2;

enum Piece {
    Member(&'static str),
    Bytes(Vec<u8>),
}

/// A zip that waits for its manifest.
pub(super) type Unsealed = Writer<BufWriter<File>>;

/// The zip so far, and the digest of every member.
pub(super) type Written = (Unsealed, BTreeMap<String, FileDigest>);

/// Takes members in order and their bytes in pieces. Slower than its reader, it holds the reader back.
pub(super) struct Output {
    pieces: mpsc::Sender<Piece>,
    thread: JoinHandle<io::Result<Written>>,
}

/// The thread is gone; [`Output::end`] says why.
pub(super) struct Closed;

impl Output {
    pub(super) fn over(file: File, largest: u64) -> Self {
        let (pieces, received) = mpsc::channel(WAITING);
        let thread = tokio::task::spawn_blocking(move || write(file, largest, received));
        Self { pieces, thread }
    }

    pub(super) async fn member(&self, name: &'static str) -> Result<(), Closed> {
        self.pieces.send(Piece::Member(name)).await.map_err(|_| Closed)
    }

    pub(super) async fn bytes(&self, bytes: Vec<u8>) -> Result<(), Closed> {
        self.pieces.send(Piece::Bytes(bytes)).await.map_err(|_| Closed)
    }

    /// After the last member: what is written so far, and every member's digest.
    pub(super) async fn end(self) -> io::Result<Written> {
        drop(self.pieces);
        self.thread.await.map_err(io::Error::other)?
    }
}

fn write(file: File, largest: u64, mut pieces: mpsc::Receiver<Piece>) -> io::Result<Written> {
    let mut writer = Writer::new(BufWriter::with_capacity(256 * 1024, file), largest);
    let mut digests = BTreeMap::new();
    let mut next = pieces.blocking_recv();
    while let Some(piece) = next {
        let Piece::Member(name) = piece else { return Err(io::Error::other("bytes of no member")) };
        let mut member = writer.file(name)?;
        loop {
            next = pieces.blocking_recv();
            match &next {
                Some(Piece::Bytes(bytes)) => member.write_all(bytes)?,
                Some(Piece::Member(_)) | None => break,
            }
        }
        let digest;
        (writer, digest) = member.end()?;
        digests.insert(name.to_owned(), digest);
    }
    Ok((writer, digests))
}
