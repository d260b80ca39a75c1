//! Somebody at the console of the machine, who sees held calls and answers them by the command line.

use crate::deployment::counterfoil;
use anyhow::Context;
use std::path::{Path, PathBuf};

pub struct Person(PathBuf);

impl Person {
    /// Of the deployment in this folder.
    pub fn of(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// What `counterfoil` prints for these words.
    pub fn says(&self, words: &[&str]) -> anyhow::Result<String> {
        Ok(String::from_utf8(counterfoil(words, &[("--dir", &self.0)])?)?)
    }

    /// The holds that are open, each as a line that begins with its id.
    pub fn open(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.says(&["holds", "list"])?.lines().map(str::to_owned).collect())
    }

    /// Reads the card, and answers what it shows with a word.
    pub fn answers(&self, hold: &str, word: &str) -> anyhow::Result<()> {
        let shown = self.says(&["holds", "show", hold])?;
        let card =
            shown.lines().find_map(|line| line.strip_prefix("card      ")).context("no card is shown")?;
        self.says(&["holds", "answer", hold, word, "--card", card]).map(drop)
    }
}
