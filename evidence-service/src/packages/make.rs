//! Making one package: one moment of the project, read in pages, written as it streams.

use std::fs::File;
use std::io;
use std::ops::Range;

use counterfoil_core::envelope::Signed;
use counterfoil_core::package::{FileDigest, Manifest, ManifestType, name, write_leaf};
use serde::Serialize;

use super::job::{Audience, Job};
use super::line::line;
use super::small;
use super::store::{self, Head};
use super::work::Lease;
use super::writer::{Closed, Output, Unsealed};
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::{AppendError, Ledger, Project};

/// Entries without bodies at once: some 100 KB.
const LEAVES: u64 = 1024;
/// Entries with bodies at once, and how many bytes of bodies: two such pages wait and one is written.
const BODIES: u64 = 512;
const BODY_BYTES: i64 = 4 << 20;
/// Openings are a kilobyte or a few.
const OPENINGS: u64 = 256;

/// Why there is no package. The first three are told to the one who asked; after the others it is begun again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("too_large")]
    TooLarge,
    #[error("unreadable")]
    Unreadable,
    #[error("it was begun too often")]
    GivenUp,
    #[error("another worker has it")]
    Lost,
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Ledger(#[from] AppendError),
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ => Self::Io(error),
        }
    }
}

impl Failure {
    /// What the one who asked is told, where another attempt would end the same.
    pub(super) fn word(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge => Some("too_large"),
            Self::Unreadable => Some("unreadable"),
            Self::GivenUp => Some("unavailable"),
            Self::Lost | Self::Database(_) | Self::Ledger(_) | Self::Io(_) => None,
        }
    }
}

/// Writes the package into `file`; whoever called gives it its name.
pub(super) async fn make(
    ledger: &Ledger,
    job: &Job,
    lease: &mut Lease<'_>,
    file: File,
    largest: u64,
) -> Result<File, Failure> {
    let project = ledger.project(lease.project).await?;
    let mut client = ledger.database().app().await?;
    let tx = client.begin_snapshot(lease.project).await?;
    let head = store::head(&tx).await?;
    if head.size <= job.first {
        return Err(Failure::Unreadable);
    }
    lease.covers(head.size - job.first);
    let output = Output::over(file, largest);
    let sent = send(&tx, &project, job, &head, lease, &output).await;
    let written = output.end().await;
    match sent {
        Ok(()) => {}
        // The writing thread knows why it stopped listening.
        Err(Halt::Closed) => return Err(written.err().map_or(Failure::Lost, Failure::from)),
        Err(Halt::Failed(failure)) => return Err(failure),
    }
    drop(tx);
    let (zip, digests) = written?;
    let manifest = Manifest {
        typ: ManifestType::V1,
        iss: project.issuer.clone(),
        project: project.id,
        at: clock::now(),
        first: job.first,
        size: head.size,
        files: digests,
    };
    let manifest = Signed::sign(manifest, &ledger.keys().ledger).bytes().to_vec();
    let sealed = tokio::task::spawn_blocking(move || seal(zip, &manifest)).await;
    Ok(sealed.map_err(io::Error::other)??)
}

fn seal(zip: Unsealed, manifest: &[u8]) -> io::Result<File> {
    let (zip, _): (_, FileDigest) = zip.whole(name::MANIFEST, manifest)?;
    zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Why sending stopped.
enum Halt {
    Closed,
    Failed(Failure),
}

impl From<Closed> for Halt {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl<E: Into<Failure>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn send(
    tx: &ProjectTx<'_>,
    project: &Project,
    job: &Job,
    head: &Head,
    lease: &mut Lease<'_>,
    output: &Output,
) -> Result<(), Halt> {
    let range = job.first..head.size;
    output.member(name::ENTRIES).await?;
    send_leaves(tx, range.clone(), lease, output).await?;
    output.member(name::STATEMENTS).await?;
    send_lines(tx, range.clone(), job.audience, lease, output).await?;
    if job.audience == Audience::Rules {
        output.member(name::OPENINGS).await?;
        send_openings(tx, range, lease, output).await?;
    }
    for (name, bytes) in small::files(tx, &project.issuer, job, head).await? {
        output.member(name).await?;
        output.bytes(bytes).await?;
    }
    Ok(())
}

async fn send_leaves(
    tx: &ProjectTx<'_>,
    mut range: Range<u64>,
    lease: &mut Lease<'_>,
    output: &Output,
) -> Result<(), Halt> {
    while !range.is_empty() {
        let rows = store::leaves(tx, range.clone(), LEAVES as i64).await?;
        let mut bundle = Vec::with_capacity(rows.len() * 320);
        for row in &rows {
            next(&mut range, row.entry.seq)?;
            write_leaf(&mut bundle, &row.entry.bytes()).ok_or(Failure::Unreadable)?;
        }
        ended_early(rows.is_empty())?;
        output.bytes(bundle).await?;
        lease.hold(0).await?;
    }
    Ok(())
}

async fn send_lines(
    tx: &ProjectTx<'_>,
    mut range: Range<u64>,
    audience: Audience,
    lease: &mut Lease<'_>,
    output: &Output,
) -> Result<(), Halt> {
    let first = range.start;
    while !range.is_empty() {
        let rows = store::page(tx, range.clone(), BODIES as i64, BODY_BYTES).await?;
        let mut lines = Vec::new();
        for row in &rows {
            next(&mut range, row.entry.seq)?;
            lines.extend(line(row, audience).ok_or(Failure::Unreadable)?.bytes());
        }
        ended_early(rows.is_empty())?;
        output.bytes(lines).await?;
        lease.hold(range.start - first).await?;
    }
    Ok(())
}

async fn send_openings(
    tx: &ProjectTx<'_>,
    range: Range<u64>,
    lease: &mut Lease<'_>,
    output: &Output,
) -> Result<(), Halt> {
    #[derive(Serialize)]
    struct Line<'o> {
        seq: u64,
        decision: counterfoil_core::digest::Digest,
        jwe: &'o str,
    }
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + OPENINGS);
        let mut lines = Vec::new();
        for (seq, decision, jwe) in store::openings(tx, start..end).await? {
            lines.extend(small::json(&Line { seq, decision, jwe: &jwe })?);
            lines.push(b'\n');
        }
        output.bytes(lines).await?;
        start = end;
        lease.hold(range.end - range.start).await?;
    }
    Ok(())
}

/// A hole in the numbers is for the self-audit to name; a package with one would be a lie.
fn next(range: &mut Range<u64>, seq: u64) -> Result<(), Failure> {
    if seq != range.start {
        return Err(Failure::Unreadable);
    }
    range.start += 1;
    Ok(())
}

fn ended_early(empty: bool) -> Result<(), Failure> {
    if empty { Err(Failure::Unreadable) } else { Ok(()) }
}
