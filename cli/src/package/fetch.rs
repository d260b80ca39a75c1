//! Asking a service for a package, following it, fetching it.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use counterfoil_core::id::PackageId;
use reqwest::Client;
use serde::{Deserialize, Serialize};

use crate::remote;

/// What is asked for: the number of the first entry, and for whom.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Wanted {
    pub from: u64,
    pub with_rules: bool,
    pub public: bool,
}

#[derive(Deserialize)]
pub struct Progress {
    id: PackageId,
    state: State,
    pub done: u64,
    pub of: u64,
    failure: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum State {
    Waiting,
    Running,
    Done,
    Failed,
}

pub struct Fetched {
    pub entries: u64,
    pub bytes: u64,
}

const POLL: Duration = Duration::from_millis(300);
const SMALL: usize = 64 * 1024;

/// Writes the package to `out`, which must not be there. `tell` hears how far it is.
pub async fn fetch(
    client: &Client,
    evidence: &str,
    wanted: Wanted,
    out: &Path,
    mut tell: impl FnMut(&Progress),
) -> anyhow::Result<Fetched> {
    let url = format!("{evidence}/v1/packages");
    let asked = client.post(&url).json(&wanted).send().await?;
    let mut progress: Progress = serde_json::from_slice(&remote::small(asked, SMALL).await?)?;
    loop {
        match progress.state {
            State::Done => break,
            State::Failed => bail!("{}", failed(&progress)),
            State::Waiting | State::Running => tell(&progress),
        }
        tokio::time::sleep(POLL).await;
        let answer = client.get(format!("{url}/{}", progress.id)).send().await?;
        progress = serde_json::from_slice(&remote::small(answer, SMALL).await?)?;
    }
    let bytes = download(client, &format!("{url}/{}/package.zip", progress.id), out).await?;
    Ok(Fetched { entries: progress.of, bytes })
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
async fn download(client: &Client, url: &str, out: &Path) -> anyhow::Result<u64> {
    let mut answer = client.get(url).send().await?;
    ensure!(answer.status().as_u16() == 200, "`{url}` answers {}", answer.status());
    let announced = answer.content_length().context("the package has no length")?;
    let folder = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut bytes = 0;
    while let Some(chunk) = answer.chunk().await? {
        bytes += chunk.len() as u64;
        ensure!(bytes <= announced, "more than the announced {announced} bytes came");
        file.write_all(&chunk)?;
    }
    ensure!(bytes == announced, "{bytes} of {announced} bytes came");
    file.as_file().sync_all()?;
    file.persist_noclobber(out).with_context(|| format!("`{}`", out.display()))?;
    Ok(bytes)
}
