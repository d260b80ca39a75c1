//! `counterfoil export chain`: a copy of a project's chain that its owner keeps.
//!
//! One JSON document a line, in the order of seq; `body` is null once it was erased:
//!
//!     {"entry":{"v":1,"project":"prj_…","seq":41,…},"body":{"payload":{…},"signature":{…}}}
//!
//! Beside it `<out>.checkpoint` holds the newest signed checkpoint: `fsck --held` later shows whether the record
//! still passes through it. An interrupted export goes on after the last whole line, if that line is of this chain.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, genesis};
use counterfoil_core::id::ProjectId;
use counterfoil_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::follow;
use crate::ledger::database::{Database, connect};
use crate::ledger::{EntryRow, Stored};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Write entries and bodies, one JSON document a line; goes on where an earlier export ended
    Chain(Arguments),
    /// Keep a copy over HTTP, verified as it comes; stops loudly where the record contradicts itself
    Follow(follow::Arguments),
}

#[derive(clap::Args)]
pub struct Arguments {
    /// An evidence.toml, or a connection string such as `host=/run/postgresql dbname=counterfoil user=…`
    #[arg(long)]
    database: String,

    #[arg(long)]
    project: ProjectId,

    /// The file to write or to continue
    #[arg(long)]
    out: PathBuf,
}

#[derive(Deserialize, Serialize)]
struct Line {
    entry: Entry,
    body: Option<Box<RawValue>>,
}

pub async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Follow(arguments) => follow::run(arguments).await,
        // The client is synchronous and brings its own executor, which may not run inside ours.
        Command::Chain(arguments) => {
            tokio::task::spawn_blocking(move || export(&arguments)).await??;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn export(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = Copy::open(&arguments.out, arguments.project)?;
    let mut client = connect(&arguments.database)?;
    let mut database = Database::open(&mut client)?;
    let projects = database.projects()?;
    let project = projects.iter().find(|row| row.id == arguments.project);
    let project = project.with_context(|| format!("no project `{}` here", arguments.project))?;
    database.enter(project)?;
    database.skip_to(i64::try_from(out.next)?);
    let before = out.next;
    while let Some(row) = database.next_entry()? {
        out.append(arguments.project, &row)?;
    }
    let head = database.head()?.context("the project has no head")?;
    if head.size != i64::try_from(out.next)? {
        bail!("the head says {} entries, {} are here; run fsck", head.size, out.next);
    }
    out.finish(&arguments.out, &head.checkpoint)?;
    println!("{} entries written, {} in `{}`", out.next - before, out.next, arguments.out.display());
    Ok(())
}

/// The file, and where the chain in it stands.
struct Copy {
    file: BufWriter<File>,
    next: u64,
    prev: Digest,
}

impl Copy {
    /// Reads what is there, line by line, and drops a last line that was cut off.
    fn open(path: &Path, project: ProjectId) -> anyhow::Result<Self> {
        let named = || format!("`{}`", path.display());
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut reader = BufReader::new(file.with_context(named)?);
        let (mut next, mut prev, mut whole) = (0, genesis(project), 0);
        let mut line = String::new();
        while reader.read_line(&mut line).with_context(named)? > 0 && line.ends_with('\n') {
            let Line { entry, .. } =
                serde_json::from_str(&line).with_context(|| format!("{} line {}", named(), next + 1))?;
            if entry.project != project || entry.seq != next || entry.prev != prev {
                bail!("{} line {}: not entry {next} of `{project}`", named(), next + 1);
            }
            (next, prev) = (next + 1, entry.hash());
            whole += line.len() as u64;
            line.clear();
        }
        let mut file = reader.into_inner();
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file: BufWriter::new(file), next, prev })
    }

    fn append(&mut self, project: ProjectId, row: &EntryRow) -> anyhow::Result<()> {
        let digest = |bytes: &[u8]| bytes.try_into().map(Digest::from_bytes);
        let (at, kind) = (Timestamp::from_millis(row.at)?, row.kind.parse()?);
        let entry = Entry::new(project, self.next, at, kind, digest(&row.body_digest)?, digest(&row.prev)?);
        if row.seq != i64::try_from(self.next)? || entry.prev != self.prev {
            bail!("entry {} does not follow the one before it; run fsck", row.seq);
        }
        self.prev = entry.hash();
        self.next += 1;
        let body =
            row.body.clone().map(String::from_utf8).transpose()?.map(RawValue::from_string).transpose()?;
        serde_json::to_writer(&mut self.file, &Line { entry, body })?;
        Ok(self.file.write_all(b"\n")?)
    }

    fn finish(&mut self, path: &Path, checkpoint: &str) -> anyhow::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        let mut named = path.as_os_str().to_owned();
        named.push(".checkpoint");
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(checkpoint.as_bytes())?;
        fresh.as_file().sync_all()?;
        fresh.persist(PathBuf::from(named))?;
        Ok(())
    }
}
