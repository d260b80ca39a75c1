//! `counterfoil package <out.zip>`: asks the evidence service for a package of one's project, follows it, fetches it.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::id::PackageId;
use counterfoil_core::note::Note;
use reqwest::Client;
use serde::Deserialize;
use serde_json::json;

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

#[derive(Deserialize)]
struct Progress {
    id: PackageId,
    state: String,
    done: u64,
    of: u64,
    failure: Option<String>,
}

const POLL: Duration = Duration::from_millis(300);
const SMALL: usize = 64 * 1024;

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    ensure!(!arguments.out.exists(), "`{}` is there already", arguments.out.display());
    let evidence = remote::address(&arguments.evidence)?;
    let key = remote::api_key(arguments.key_file.as_deref())?;
    let client = remote::client(Some(&key))?;
    let from = arguments.from.as_deref().map_or(Ok(0), first)?;
    let wanted = json!({ "from": from, "with_rules": arguments.with_rules, "public": arguments.public });
    let url = format!("{evidence}/v1/packages");
    let asked = client.post(&url).json(&wanted).send().await?;
    let mut progress: Progress = serde_json::from_slice(&remote::small(asked, SMALL).await?)?;
    let shown = Shown::new();
    while progress.state != "done" {
        if progress.state == "failed" {
            shown.end();
            bail!("{}", failed(&progress));
        }
        shown.tell(&progress);
        tokio::time::sleep(POLL).await;
        let answer = client.get(format!("{url}/{}", progress.id)).send().await?;
        progress = serde_json::from_slice(&remote::small(answer, SMALL).await?)?;
    }
    shown.end();
    let bytes = fetch(&client, &format!("{url}/{}/package.zip", progress.id), &arguments.out).await?;
    println!("{} entries, {bytes} bytes in `{}`", progress.of, arguments.out.display());
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

fn failed(progress: &Progress) -> String {
    match progress.failure.as_deref() {
        Some("too_large") => {
            "it would be larger than the service allows; take it in ranges with --from".to_owned()
        }
        Some("unreadable") => "the record does not read as a whole; its self-audit says where".to_owned(),
        other => format!("the service gave up: {}", other.unwrap_or("it does not say why")),
    }
}

/// Into a file beside it first: what has the name is whole.
async fn fetch(client: &Client, url: &str, out: &Path) -> anyhow::Result<u64> {
    let mut answer = client.get(url).send().await?;
    ensure!(answer.status().as_u16() == 200, "`{url}` answers {}", answer.status());
    let announced = answer.content_length().context("the package has no length")?;
    let folder = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut bytes = 0;
    while let Some(chunk) = answer.chunk().await? {
        bytes += chunk.len() as u64;
        file.write_all(&chunk)?;
    }
    ensure!(bytes == announced, "{bytes} of {announced} bytes came");
    file.as_file().sync_all()?;
    file.persist_noclobber(out).with_context(|| format!("`{}`", out.display()))?;
    Ok(bytes)
}

/// Progress, where somebody watches.
struct Shown(bool);

impl Shown {
    fn new() -> Self {
        Self(std::io::stderr().is_terminal())
    }

    fn tell(&self, progress: &Progress) {
        if self.0 {
            eprint!("\r{} of {} entries ", progress.done, progress.of);
        }
    }

    fn end(&self) {
        if self.0 {
            eprintln!();
        }
    }
}
