//! `counterfoil verify-page`: the SHA-256 of verify.html, as `sha256sum` prints it; with `--write`, the file itself.
//!
//! A verifier that comes from the server whose record it verifies is worth less than one from elsewhere. This program has
//! the page inside, so whoever got the program can say whether a page that somebody sent is the same.

use std::path::PathBuf;

use anyhow::Context as _;
use counterfoil_core::digest::Digest;
use counterfoil_evidence::web::VERIFY_PAGE;

const NAME: &str = "verify.html";

#[derive(clap::Args)]
pub struct Arguments {
    /// Write the page to this file, or into this folder
    #[arg(long)]
    write: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(place) = &arguments.write {
        let file = if place.is_dir() { place.join(NAME) } else { place.clone() };
        std::fs::write(&file, VERIFY_PAGE).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    println!("{}", line());
    Ok(())
}

fn line() -> String {
    format!("{}  {NAME}", Digest::of(VERIFY_PAGE).hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P7: what is written is what the digest is of.
    #[test]
    fn the_page_that_is_written_has_the_digest_that_is_printed() {
        let folder = tempfile::TempDir::new().unwrap();
        for place in [folder.path().to_owned(), folder.path().join(NAME)] {
            run(&Arguments { write: Some(place) }).unwrap();
        }
        let written = std::fs::read(folder.path().join(NAME)).unwrap();
        assert_eq!(line(), format!("{}  verify.html", Digest::of(&written).hex()));
        assert!(run(&Arguments { write: Some(folder.path().join("no/folder.html")) }).is_err());
    }

    /// P1: nothing of it can reach a network, or be anything but what was written.
    #[test]
    fn the_pages_own_policy_forbids_everything_but_its_own_script_and_style() {
        let page = str::from_utf8(VERIFY_PAGE).unwrap();
        let policy = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap().1;
        let policy = policy.split_once('"').unwrap().0;
        let allowed: Vec<_> = policy.split("; ").map(|rule| rule.split_once(' ').unwrap()).collect();
        assert_eq!(allowed[0], ("default-src", "'none'"));
        let by_hash = |(name, value): &(&str, &str)| {
            matches!(*name, "script-src" | "style-src") && value.starts_with("'sha256-")
        };
        assert!(allowed[1..].iter().all(|rule| rule.1 == "'none'" || by_hash(rule)), "{policy}");
    }
}
