//! `counterfoil export follow <dir>`: a copy of a record that its keeper verifies as it grows.
//!
//!     <dir>/chain.ndjson    the entry lines, as `export chain` writes them
//!     <dir>/checkpoint      the newest checkpoint that the record passed through
//!     <dir>/contradiction   written once: the line that the record contradicted itself with
//!
//! What is kept is verified again at every start, so an edit of the copy shows too. Exit codes: 0 when asked to stop or
//! with --once, 30 FORKED or SHRUNK, 40 BROKEN, 1 when the service cannot be reached with --once.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use counterfoil_core::audit::Trust;
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::export::{Contradiction, Follower, Line, MAX_LINE};
use counterfoil_core::key::{JwkSet, PublicKey, Purpose};
use reqwest::{Client, StatusCode};

use crate::remote;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where the copy is kept; made if it is not there
    dir: PathBuf,

    /// The keys that you pinned: a JWKS with iss, log and ledger keys
    #[arg(long)]
    trust: PathBuf,

    /// Where the evidence service listens
    #[arg(long, env = "COUNTERFOIL_EVIDENCE", default_value = "http://127.0.0.1:8788")]
    evidence: String,

    /// A file with the API key, mode 0600; without it the key is taken from COUNTERFOIL_KEY
    #[arg(long)]
    key_file: Option<PathBuf>,

    /// Stop when there is nothing newer, for cron
    #[arg(long)]
    once: bool,
}

/// Less than the silence after which our client gives a connection up.
const WAIT_SECONDS: u64 = 20;
const BREATH: Duration = Duration::from_secs(5);
const FORKED: u8 = 30;
const BROKEN: u8 = 40;

/// Why following ends.
enum End {
    Contradiction {
        why: Contradiction,
        line: Vec<u8>,
    },
    Malformed(Vec<u8>),
    /// Nothing is known to be wrong with the record.
    Interrupted(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for End {
    fn from(error: E) -> Self {
        Self::Interrupted(error.into())
    }
}

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut copy = Kept::open(&arguments.dir, &arguments.trust)?;
    let evidence = remote::address(&arguments.evidence)?;
    let key = remote::api_key(arguments.key_file.as_deref())?;
    let client = remote::client(Some(&key))?;
    println!("{} entries kept in `{}`", copy.follower.size(), arguments.dir.display());
    loop {
        let before = copy.follower.size();
        match copy.ask(&client, &evidence, if arguments.once { 0 } else { WAIT_SECONDS }).await {
            Ok(()) if copy.follower.size() == before && arguments.once => {
                println!("{before} entries, all of it holds");
                return Ok(ExitCode::SUCCESS);
            }
            Ok(()) => {}
            Err(End::Interrupted(error)) if arguments.once => return Err(error),
            Err(End::Interrupted(error)) => {
                eprintln!("counterfoil: {error:#}; trying again");
                tokio::time::sleep(BREATH).await;
            }
            Err(end) => return copy.stop(end),
        }
    }
}

/// The copy, and where the record in it stands.
struct Kept {
    dir: PathBuf,
    file: BufWriter<File>,
    follower: Follower,
}

impl Kept {
    /// Verifies what is there, and drops a last line that was cut off.
    fn open(dir: &Path, trust: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("`{}`", dir.display()))?;
        if dir.join("contradiction").exists() {
            bail!(
                "`{}` holds a contradiction: what came after {} was not the same record. Look at it before you \
                 follow anything again, in another folder",
                dir.display(),
                dir.join("checkpoint").display()
            );
        }
        let path = dir.join("chain.ndjson");
        let mut follower = pinned(trust, &dir.join("checkpoint"))?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut reader = BufReader::new(file.with_context(|| format!("`{}`", path.display()))?);
        let (mut whole, mut line) = (0, Vec::new());
        loop {
            line.clear();
            let limit = MAX_LINE as u64 + 1;
            let read = reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
            let Some(text) = line.strip_suffix(b"\n") else { break };
            let place = || format!("`{}` line {}", path.display(), follower.size() + 1);
            let kept = Line::parse(text).with_context(place)?;
            ensure!(matches!(kept, Line::Entry(_)), "{}: not an entry", place());
            let place = place();
            follower.follow(&kept).context(place)?;
            whole += read as u64;
        }
        let mut file = reader.into_inner();
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { dir: dir.to_owned(), file: BufWriter::new(file), follower })
    }

    /// One answer of the service, to its end.
    async fn ask(&mut self, client: &Client, evidence: &str, wait: u64) -> Result<(), End> {
        let before = self.follower.size();
        let after = before.checked_sub(1).map(|after| format!("after={after}&")).unwrap_or_default();
        let url = format!("{evidence}/v1/export?{after}wait={wait}");
        let mut answer = client.get(&url).send().await?;
        if answer.status() != StatusCode::OK {
            return Err(anyhow::anyhow!("`{evidence}/v1/export` answers {}", answer.status()).into());
        }
        let mut waiting = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            waiting.extend_from_slice(&chunk);
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=end).collect();
                self.take(line)?;
            }
            if waiting.len() > MAX_LINE {
                return Err(End::Malformed(waiting));
            }
        }
        if !waiting.is_empty() {
            return Err(anyhow::anyhow!("the answer ends inside a line").into());
        }
        // Nothing came: then everything is here, and with it every tombstone.
        match self.follower.nothing_is_missing() {
            Err(broken) if self.follower.size() == before => {
                Err(End::Contradiction { why: broken.into(), line: Vec::new() })
            }
            Err(_) | Ok(()) => Ok(()),
        }
    }

    fn take(&mut self, line: Vec<u8>) -> Result<(), End> {
        let Ok(read) = Line::parse(&line[..line.len() - 1]) else { return Err(End::Malformed(line)) };
        if let Err(why) = self.follower.follow(&read) {
            return Err(End::Contradiction { why, line });
        }
        match read {
            Line::Entry(_) => self.file.write_all(&line)?,
            Line::Checkpoint(line) => self.keep(&line.checkpoint)?,
        }
        Ok(())
    }

    /// Entries first: a checkpoint that is kept has its entries beside it.
    fn keep(&mut self, note: &str) -> anyhow::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        let mut fresh = tempfile::NamedTempFile::new_in(&self.dir)?;
        fresh.write_all(note.as_bytes())?;
        fresh.as_file().sync_all()?;
        fresh.persist(self.dir.join("checkpoint"))?;
        Ok(())
    }

    /// Says it, and keeps what was said against it.
    fn stop(mut self, end: End) -> anyhow::Result<ExitCode> {
        self.file.flush()?;
        let (words, line, code) = match end {
            End::Interrupted(error) => return Err(error),
            End::Malformed(line) => {
                ("BROKEN: a line that is neither an entry nor a checkpoint".to_owned(), line, BROKEN)
            }
            End::Contradiction { why, line } => {
                let code = match why {
                    Contradiction::Broken(_) => BROKEN,
                    Contradiction::Shrunk { .. } | Contradiction::Forked { .. } => FORKED,
                };
                (why.to_string(), line, code)
            }
        };
        fs::write(self.dir.join("contradiction"), &line)?;
        eprintln!("{words}");
        if let Some(kept) = self.follower.checkpoint() {
            eprintln!("The record passed through this checkpoint:\n{kept}");
        }
        eprintln!("What came after it is in `{}`.", self.dir.join("contradiction").display());
        Ok(ExitCode::from(code))
    }
}

/// A follower under the pinned keys, which must pass through the checkpoint that was kept.
fn pinned(trust: &Path, kept: &Path) -> anyhow::Result<Follower> {
    let named = || format!("`{}`", trust.display());
    let set = JwkSet::parse(&fs::read(trust).with_context(named)?).with_context(named)?;
    let of = |purpose| -> anyhow::Result<Vec<PublicKey>> {
        let keys = set.keys.iter().filter(|key| key.purpose == purpose);
        Ok(keys.map(|key| key.public_key()).collect::<Result<_, _>>()?)
    };
    let mut trust = Trust { log: of(Purpose::Log)?, ledger: of(Purpose::Ledger)?, ..Trust::default() };
    ensure!(!trust.log.is_empty() && !trust.ledger.is_empty(), "{}: no log key, or no ledger key", named());
    if kept.exists() {
        let note = fs::read_to_string(kept).with_context(|| format!("`{}`", kept.display()))?;
        let signed = trust.log.iter().find_map(|key| Checkpoint::verify(&note, key).ok());
        let signed = signed.with_context(|| format!("`{}`: no pinned log key signed it", kept.display()))?;
        trust.held.insert(signed.size, signed.root);
    }
    Ok(Follower::new(set.iss, trust))
}
