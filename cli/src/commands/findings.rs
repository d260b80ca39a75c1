//! `counterfoil findings`: what disagrees in a project's record, and what people say about it.
//!
//! A note is an entry of its own, public and for ever. It hides nothing: the finding stays where it is.

use std::path::PathBuf;
use std::str::FromStr;

use counterfoil_evidence::setup::{Listed, Which};

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List findings, newest first: number, time, code, what it is about, how it ended
    List {
        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,

        /// Only those whose entries stand below this number
        #[arg(long)]
        below: Option<u64>,

        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        most: u32,

        /// Only those that nothing closed and nobody wrote a note on
        #[arg(long)]
        open: bool,
    },
    /// Write a public note on a finding
    Resolve {
        /// The number of its entry, or its digest
        finding: Named,

        /// 1 to 280 characters, for everybody to read, without an address
        #[arg(long)]
        note: String,

        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
}

/// A finding as it is typed.
#[derive(Clone, Copy, Debug)]
pub struct Named(Which);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seq) = text.parse() {
            return Ok(Self(Which::Entry(seq)));
        }
        let digest =
            text.parse().map_err(|_| format!("`{text}` is no number and no sha256:<64 hex digits>"))?;
        Ok(Self(Which::Digest(digest)))
    }
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List { dir, below, most, open } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            let below = below.unwrap_or(u64::MAX);
            let listed = opened.setup.findings(opened.record.id, below, most).await?;
            let is_shown = |found: &&Listed| !open || (found.cleared.is_none() && found.resolved.is_none());
            for found in listed.iter().filter(is_shown) {
                println!("{}", line(found));
            }
            Ok(())
        }
        Command::Resolve { finding, note, dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            let seq = opened.setup.resolve_finding(opened.record.id, finding.0, &note, OPERATOR).await?;
            println!("noted, as entry {seq} says");
            Ok(())
        }
    }
}

/// One finding, in columns that a person and `cut` can read.
fn line(found: &Listed) -> String {
    let about = match (found.action, found.about) {
        (Some(action), Some(seq)) => format!("{action} entry {seq}"),
        (None, Some(seq)) => format!("entry {seq}"),
        (Some(action), None) => action.to_string(),
        (None, None) => "the record".to_owned(),
    };
    let ended = match (found.cleared, found.resolved) {
        (Some(seq), _) => format!("cleared by entry {seq}"),
        (None, Some(seq)) => format!("noted in entry {seq}"),
        (None, None) => "open".to_owned(),
    };
    let apart = if found.apart { " (apart)" } else { "" };
    format!("{}\t{}\t{}{apart}\t{about}\t{ended}\t{}", found.seq, found.at, found.code, found.digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_named_by_number_or_digest_and_by_nothing_else() {
        let digest = format!("sha256:{}", "5f".repeat(32));

        assert!(matches!("41".parse::<Named>().unwrap().0, Which::Entry(41)));
        assert!(matches!(digest.parse::<Named>().unwrap().0, Which::Digest(_)));
        for text in ["", "-1", "MISSING_EXECUTION", "sha256:5f", "4 1"] {
            assert!(text.parse::<Named>().is_err(), "{text}");
        }
    }
}
