//! `counterfoil watch <page>`: from cron. Says nothing and exits 0 while the log only grows.
//!
//!     */10 * * * * counterfoil watch https://gw.example/p/7-k3m9q2v8 --trust pinned.json --state gw.checkpoint
//!
//! Exit codes: 0 the same or extended, 20 an older checkpoint is shown, 30 FORKED (both notes are printed and kept), 40 a
//! signature or a tile that does not hold, 50 signed by no log key that was pinned, 1 not reachable. The state file is the
//! newest note itself, which `verify --since` takes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use counterfoil_core::receipt::Trust;
use counterfoil_jwks::file;
use reqwest::Client;

use crate::remote;
use crate::watch::{Seen, look};

#[derive(clap::Args)]
pub struct Arguments {
    /// The page of the project, such as https://gw.example/p/7-k3m9q2v8
    page: String,

    /// The keys that you pinned: a JWKS with iss and log keys
    #[arg(long, required_unless_present = "trust_on_first_use")]
    trust: Option<PathBuf>,

    /// Pin what the page itself names, the first time; kept beside the state file. Whoever stands in the way then is trusted
    /// for ever
    #[arg(long, conflicts_with = "trust")]
    trust_on_first_use: bool,

    /// Where the newest checkpoint is kept
    #[arg(long)]
    state: PathBuf,

    /// Say what was seen even where all is well
    #[arg(long)]
    verbose: bool,
}

const LARGEST_KEY_SET: usize = 1 << 20;

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let page = remote::address(&arguments.page)?;
    let client = remote::client(None)?;
    let trust = trust(&arguments, &client, &page).await?;
    let kept = kept(&arguments.state)?;
    let (seen, keep) = look(&client, &page, &trust, kept.as_deref()).await?;
    if let Some(note) = keep {
        file::replace(&arguments.state, note.as_bytes())?;
    }
    match &seen {
        Seen::First(size) => say(&arguments, &format!("{size} entries, for the first time")),
        Seen::Same(size) => say(&arguments, &format!("{size} entries, as before")),
        Seen::Extended { from, to } => say(&arguments, &format!("from {from} to {to} entries")),
        Seen::Older { kept, shown } => {
            println!("INCOMPLETE: {page} shows {shown} entries, and showed {kept} before");
        }
        Seen::Forked { kept, shown } => fork(&arguments.state, kept, shown)?,
        Seen::Broken(why) => println!("BROKEN: {page}: {why}"),
        Seen::Unpinned(why) => println!("UNPINNED: {page}: {why}"),
    }
    Ok(ExitCode::from(seen.exit_code()))
}

fn say(arguments: &Arguments, what: &str) {
    if arguments.verbose {
        println!("{}: {what}", arguments.page);
    }
}

/// Both notes, on paper and as files: each is signed by the log, and no honest log signs both.
fn fork(state: &Path, kept: &str, shown: &str) -> anyhow::Result<()> {
    println!("FORKED: two notes of one log\n\n{kept}\n{shown}");
    for (note, end) in [(kept, "fork-kept"), (shown, "fork-shown")] {
        file::replace(&beside(state, end), note.as_bytes())?;
    }
    println!(
        "kept as {} and {}",
        beside(state, "fork-kept").display(),
        beside(state, "fork-shown").display()
    );
    Ok(())
}

fn beside(state: &Path, end: &str) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

fn kept(state: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(state) {
        Ok(note) => Ok(Some(note)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("`{}`", state.display())),
    }
}

async fn trust(arguments: &Arguments, client: &Client, page: &str) -> anyhow::Result<Trust> {
    let named = |path: &Path| format!("`{}`", path.display());
    let first_use = beside(&arguments.state, "jwks.json");
    let path = arguments.trust.as_ref().unwrap_or(&first_use);
    if arguments.trust_on_first_use && !path.exists() {
        if arguments.state.exists() {
            bail!(
                "{} is there and the keys beside it are gone: pin them with --trust",
                named(&arguments.state)
            );
        }
        let set =
            remote::small(client.get(format!("{page}/jwks.json")).send().await?, LARGEST_KEY_SET).await?;
        Trust::from_jwks(&set).context("the page's key set")?;
        file::replace(path, &set)?;
    }
    let set = std::fs::read(path).with_context(|| named(path))?;
    Trust::from_jwks(&set).with_context(|| named(path))
}
