//! A throw-away Postgres on a socket of its own. Started as root it runs as an unprivileged user.

use crate::process::Process;
use anyhow::{Context, bail};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Names the socket file; nothing listens on TCP.
pub const PORT: u16 = 5432;

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// What was written survives the end of any process, not of the machine: enough for tests, which end processes.
    Processes,
    /// Postgres as it comes.
    Machine,
}

pub struct Postgres {
    binaries: PathBuf,
    durability: Durability,
    user: Option<(u32, u32)>,
    // Short, because socket paths end at 107 bytes, and not below root's own folders, which the user could not enter.
    folder: TempDir,
    running: Option<Process>,
}

impl Postgres {
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(Durability::Processes)
    }

    pub fn start_with(durability: Durability) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cf-t-").tempdir_in("/tmp")?;
        let user = unprivileged()?;
        chown(folder.path(), user.map(|u| u.0), user.map(|u| u.1))?;
        let mut postgres = Self { binaries: binaries()?, durability, user, folder, running: None };
        postgres.initialise()?;
        postgres.restart()?;
        Ok(postgres)
    }

    /// The folder of the socket: `host` of a connection.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// What the superuser connects with.
    pub fn address(&self) -> String {
        format!("host={} port={PORT} user=postgres", self.socket().display())
    }

    pub fn connect(&self, database: &str, user: &str) -> Result<postgres::Client, postgres::Error> {
        let address = format!("host={} port={PORT} user={user} dbname={database}", self.socket().display());
        postgres::Client::connect(&address, postgres::NoTls)
    }

    pub fn restart(&mut self) -> anyhow::Result<()> {
        let data = self.data();
        let log = self.folder.path().join("log");
        std::fs::File::options().create(true).append(true).open(&log)?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(self.socket());
        command.args(["-c", "listen_addresses=", "-c", "max_connections=60"]);
        if self.durability == Durability::Processes {
            command.args(["-c", "fsync=off"]);
        }
        let mut process = Process::start("postgres", &mut command, &log)?;
        process.until("ready", || self.connect("postgres", "postgres").is_ok())?;
        self.running = Some(process);
        Ok(())
    }

    /// The postmaster, if it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(Process::id)
    }

    /// A plain dump, as the superuser makes it.
    pub fn dump(&self, database: &str, out: &Path) -> anyhow::Result<()> {
        let mut dump = Command::new(self.binaries.join("pg_dump"));
        dump.arg("-h").arg(self.socket()).args(["-p", &PORT.to_string(), "-U", "postgres", "-f"]);
        let output = dump.arg(out).arg(database).output()?;
        if !output.status.success() {
            bail!("pg_dump: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        // SIGQUIT to the postmaster is Postgres's immediate shutdown: no checkpoint, recovery at the next start.
        // SIGKILL would leave its workers behind, which hold the data folder until they notice.
        if self.running.is_some() {
            let mut stop = self.command("pg_ctl");
            stop.arg("-D").arg(self.data()).args(["-m", "immediate", "-s", "-w", "stop"]);
            let status = stop.status()?;
            if !status.success() {
                bail!("pg_ctl did not stop the cluster: {status}");
            }
            self.running = None;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn initialise(&self) -> anyhow::Result<()> {
        let mut initdb = self.command("initdb");
        initdb.arg("-D").arg(self.data()).args([
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "-A",
            "trust",
            "-N",
        ]);
        let output = initdb.output()?;
        if !output.status.success() {
            bail!("initdb: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.current_dir("/");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn binaries() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("PG_BIN").map(PathBuf::from);
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let asked = asked.map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim()));
    let usual = (15..=18).rev().map(|v| PathBuf::from(format!("/usr/lib/postgresql/{v}/bin")));
    let unpacked = crate::repository::root().join(".counterfoil/postgres/bin");
    let mut candidates = named.into_iter().chain(asked).chain(usual).chain([unpacked]);
    candidates.find(|folder| folder.join("initdb").is_file()).context("no Postgres found; set PG_BIN")
}

/// Whom to run Postgres as; `None` means ourselves.
fn unprivileged() -> anyhow::Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    for name in ["postgres", "nobody"] {
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        if let Some(line) = line {
            let fields: Vec<&str> = line.split(':').collect();
            return Ok(Some((fields[2].parse()?, fields[3].parse()?)));
        }
    }
    bail!("Postgres refuses root, and there is no user `postgres` or `nobody`")
}
