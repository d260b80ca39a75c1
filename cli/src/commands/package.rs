//! `counterfoil package <out.zip>`: asks the evidence service for a package of one's project, follows it, fetches it.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::note::Note;

use crate::package::fetch::{Fetched, Progress, Wanted, fetch};
use crate::remote;

#[derive(clap::Args)]
pub struct Arguments {
    /// The file to write; it must not be there
    out: PathBuf,

    /// The first entry that is needed, as a number or as a checkpoint that you kept; without it, all of the record
    #[arg(long)]
    from: Option<String>,

    /// With published registries and rules, and sealed openings: for `verify --replay`, not for strangers
    #[arg(long)]
    with_rules: bool,

    /// As strangers get it: wrapped bodies of others are withheld
    #[arg(long, conflicts_with = "with_rules")]
    public: bool,

    /// Where the evidence service listens
    #[arg(long, env = "COUNTERFOIL_EVIDENCE", default_value = "http://127.0.0.1:8788")]
    evidence: String,

    /// A file with the API key, mode 0600; without it the key is taken from COUNTERFOIL_KEY
    #[arg(long)]
    key_file: Option<PathBuf>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    ensure!(!arguments.out.exists(), "`{}` is there already", arguments.out.display());
    let evidence = remote::address(&arguments.evidence)?;
    let key = remote::api_key(arguments.key_file.as_deref())?;
    let client = remote::client(Some(&key))?;
    let from = arguments.from.as_deref().map_or(Ok(0), first)?;
    let wanted = Wanted { from, with_rules: arguments.with_rules, public: arguments.public };
    let watched = std::io::stderr().is_terminal();
    let tell = |progress: &Progress| {
        if watched {
            eprint!("\r{} of {} entries ", progress.done, progress.of);
        }
    };
    let fetched = fetch(&client, &evidence, wanted, &arguments.out, tell).await;
    if watched {
        eprintln!();
    }
    let Fetched { entries, bytes } = fetched?;
    println!("{entries} entries, {bytes} bytes in `{}`", arguments.out.display());
    Ok(())
}

/// A number, or the size of a checkpoint in a file.
fn first(text: &str) -> anyhow::Result<u64> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let note = std::fs::read_to_string(text).with_context(|| format!("`{text}`"))?;
    let checkpoint = Note::parse(&note).ok().and_then(|note| Checkpoint::parse(&note).ok());
    Ok(checkpoint.with_context(|| format!("`{text}` is no checkpoint"))?.size)
}
