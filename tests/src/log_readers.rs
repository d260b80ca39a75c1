//! Readers of transparency logs that share no line with ours: Go's, and PyPI's where a Python is new enough for it.

use crate::foreign::folder;
use crate::repository::root;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Debian's golang-golang-x-mod-dev puts its sources here; they are built as they are, with no network.
const DEBIAN_SOURCES: &str = "/usr/share/gocode";

/// A log as anybody finds it: where it is served (an address or a folder), and the key that was pinned.
pub struct Log<'a> {
    pub place: &'a str,
    pub vkey: &'a str,
}

/// What a reader said, and whether it accepted the log.
pub struct Opinion {
    pub accepted: bool,
    pub said: String,
}

impl Opinion {
    fn of(output: &Output) -> Self {
        let said = [output.stdout.as_slice(), &output.stderr].concat();
        Self { accepted: output.status.success(), said: String::from_utf8_lossy(&said).trim().to_owned() }
    }
}

/// tests/foreign/go/readlog, built.
pub struct Go(PathBuf);

impl Go {
    pub fn build() -> anyhow::Result<Self> {
        let out = root().join("target/foreign-go");
        let program = out.join("readlog");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).current_dir(folder().join("go/readlog"));
        build.env("GO111MODULE", "off").env("GOFLAGS", "").env("GOPATH", DEBIAN_SOURCES);
        build.env("GOCACHE", out.join("cache"));
        let output = build.output().context("cannot start go; `scripts/test` installs it")?;
        if !output.status.success() {
            bail!("go build: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Self(program))
    }

    /// Reads the whole log; it must have grown from `since` and hold every one of `receipts`.
    pub fn read(&self, log: &Log<'_>, since: Option<&Path>, receipts: &[PathBuf]) -> anyhow::Result<Opinion> {
        let mut command = Command::new(&self.0);
        command.args([log.place, log.vkey]);
        if let Some(since) = since {
            command.arg("-since").arg(since);
        }
        Ok(Opinion::of(&command.args(receipts).output()?))
    }
}

/// PyPI's aics-tlog in the environment that `scripts/test` makes where it finds Python 3.12 or newer.
pub struct Python(PathBuf);

impl Python {
    pub fn find() -> Option<Self> {
        let program = folder().join("python/.venv-tlog/bin/aics-tlog");
        program.is_file().then_some(Self(program))
    }

    pub fn includes(&self, log: &Log<'_>, index: usize, leaf: &Path) -> anyhow::Result<Opinion> {
        let index = index.to_string();
        let mut command = self.asked("verify-inclusion", log);
        Ok(Opinion::of(&command.args(["--index", &index, "--leaf"]).arg(leaf).output()?))
    }

    pub fn grew_from(&self, log: &Log<'_>, old: &Path) -> anyhow::Result<Opinion> {
        let mut command = self.asked("verify-consistency", log);
        Ok(Opinion::of(&command.arg("--old-checkpoint").arg(old).output()?))
    }

    fn asked(&self, question: &str, log: &Log<'_>) -> Command {
        let mut command = Command::new(&self.0);
        command.args([question, "--tiles", log.place, "--log-key", log.vkey]);
        command
    }
}
