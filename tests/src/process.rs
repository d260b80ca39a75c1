//! One child process: started, watched, paused and killed by its id.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to be ready, or to end after it was asked to.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it prints goes to `log`.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log: log.to_owned() })
    }

    /// Waits until `holds`; fails at once, with the log, if the process ends.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !holds() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status}) before it was {what}:\n{}", self.name, self.said());
            }
            if began.elapsed() > PATIENCE {
                bail!("{} was not {what} in {PATIENCE:?}:\n{}", self.name, self.said());
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Ok(())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The last lines of its log.
    pub fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    pub fn pause(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    /// As a crash would end it.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// As an operator would end it.
    pub fn stop(mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if began.elapsed() > PATIENCE {
                bail!("{} did not stop in {PATIENCE:?}:\n{}", self.name, self.said());
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("a running child has an id")?, signal)?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
