//! Openings inside a package: sealed to the disclosure key, so that its holder alone reads what was decided about.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};
use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::digest::Digest;
use counterfoil_core::nonce::unbase64url_exact;
use counterfoil_core::package::name;
use counterfoil_jwks::file::read_private;
use serde::Deserialize;
use serde_json::Value;

use super::statements::Lines;
use crate::disclosure::DisclosureKey;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    decision: Digest,
    jwe: String,
}

/// The private half of a project's disclosure key.
pub(super) struct Opener(DisclosureKey);

/// What opens one decision.
pub(super) struct Opening {
    pub(super) seed: OpeningSeed,
    pub(super) facts: Value,
}

impl Opener {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = read_private(path)?;
        DisclosureKey::parse(&text).with_context(|| format!("`{}`", path.display())).map(Self)
    }

    /// `None` if this is not sealed to us, or is no opening.
    fn open(&self, jwe: &str) -> Option<Opening> {
        #[derive(Deserialize)]
        struct Opened {
            seed: String,
            facts: Value,
        }
        let opened: Opened = serde_json::from_slice(&self.0.open(jwe)?).ok()?;
        let seed = OpeningSeed::from_bytes(unbase64url_exact(&opened.seed)?);
        Some(Opening { seed, facts: opened.facts })
    }
}

/// Walks openings.jsonl beside statements.jsonl: both are in the order of entries.
pub(super) struct Openings<'s> {
    lines: Lines<'s>,
    next: Option<Line>,
    opener: &'s Opener,
    /// Openings that this key opens, and those that it does not.
    pub(super) opened: u64,
    pub(super) closed: u64,
}

impl<'s> Openings<'s> {
    pub(super) fn of(file: Box<dyn Read + 's>, opener: &'s Opener) -> anyhow::Result<Self> {
        let mut lines = Lines::of(file, name::OPENINGS);
        let next = lines.next_line()?;
        Ok(Self { lines, next, opener, opened: 0, closed: 0 })
    }

    /// Everything that says to open one decision. A gateway that was unsure may have sent it twice.
    pub(super) fn of_decision(&mut self, seq: u64, decision: &Digest) -> anyhow::Result<Vec<Opening>> {
        let mut found = Vec::new();
        while let Some(line) = self.next.take_if(|line| line.seq <= seq) {
            if line.seq == seq && line.decision == *decision {
                match self.opener.open(&line.jwe) {
                    Some(opening) => found.push(opening),
                    None => self.closed += 1,
                }
            }
            self.next = self.lines.next_line()?;
            let in_order = self.next.as_ref().is_none_or(|next: &Line| line.seq <= next.seq);
            ensure!(in_order, "{} is out of order", name::OPENINGS);
        }
        self.opened += found.len() as u64;
        Ok(found)
    }
}
