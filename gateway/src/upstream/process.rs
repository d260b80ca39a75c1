//! The process of a provider: its own process group, a bare environment, counted stderr, a certain end.
//!
//! Promised: the child sees none of our environment but PATH, HOME, LANG, TMPDIR and USER, so no key of ours; what it
//! writes to stderr is counted and thrown away; when it is stopped, its whole group is.

use super::{Away, Start};
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

/// What the gateway's own environment may hand down.
const HANDED_DOWN: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];
/// Closing stdin is the polite end of an MCP child; TERM and KILL follow, each after this long.
const PATIENCE: Duration = Duration::from_millis(1500);

pub struct Process {
    child: Child,
    group: Option<Pid>,
    provider: String,
}

pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(start: &Start) -> Result<(Self, Pipes), Away> {
        let (program, arguments) = start.command.split_first().ok_or(Away::NotStarted)?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        for name in HANDED_DOWN {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(start.env.variables());
        if let Some(folder) = &start.folder {
            command.current_dir(folder);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                tracing::warn!(provider = %start.provider, kind = ?error.kind(), "provider did not start");
                Away::NotStarted
            })?;
        let stdin = child.stdin.take().ok_or(Away::NotStarted)?;
        let stdout = child.stdout.take().ok_or(Away::NotStarted)?;
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(count(stderr, start.provider.clone()));
        }
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let process = Self { child, group, provider: start.provider.clone() };
        let stdout = BufReader::with_capacity(64 * 1024, stdout);
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Returns when the child has ended, by itself or because `stop` was cancelled (whoever cancels closes stdin).
    pub async fn end(mut self, stop: CancellationToken) {
        let by_itself = tokio::select! {
            _ = self.child.wait() => true,
            () = stop.cancelled() => false,
        };
        if !by_itself {
            for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
                self.signal(signal);
                if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_ok() {
                    break;
                }
            }
        }
        // Grandchildren of the group hold no promise to us.
        self.signal(Some(Signal::KILL));
        tracing::info!(provider = %self.provider, by_itself, "provider ended");
    }

    fn signal(&self, signal: Option<Signal>) {
        if let (Some(group), Some(signal)) = (self.group, signal) {
            // An error means that nobody is left in the group.
            let _ = kill_process_group(group, signal);
        }
    }
}

async fn count(mut stderr: ChildStderr, provider: String) {
    let (mut bytes, mut lines) = (0_u64, 0_u64);
    let mut buffer = vec![0; 8192];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        bytes = bytes.saturating_add(read as u64);
        lines += buffer[..read].iter().filter(|b| **b == b'\n').count() as u64;
    }
    if bytes > 0 {
        tracing::info!(provider = %provider, bytes, lines, "provider wrote to stderr");
    }
}
