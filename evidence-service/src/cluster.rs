//! A Postgres cluster of our own, for `counterfoil dev` and for tests.
//!
//! Promised: it uses the Postgres binaries of this machine, listens on a socket in a short temporary folder that
//! only its user can enter (never on TCP), never touches another cluster, and stops when the value is dropped or
//! when this process ends in any way, `kill -9` included. Started as root it runs Postgres as an unprivileged
//! user, because Postgres refuses root.
//! Not promised: that it is tuned, replicated or backed up. A production deployment brings its own database.
//!
//!     let binaries = Binaries::find(None)?;
//!     let cluster = Cluster::open(&binaries, Path::new(".counterfoil"))?;
//!     let running = cluster.start(&[])?;
//!     running.admin("postgres")   // a tokio_postgres::Config of the superuser

mod binaries;
mod identity;

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub use binaries::Binaries;
use identity::Identity;

/// Why a cluster of our own could not be made or started.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("another process is using the cluster in `{0}`")]
    InUse(PathBuf),
    #[error(
        "no Postgres 15 to 18 found; install one or set PG_BIN to the folder that holds `initdb` and `postgres`"
    )]
    NoBinaries,
    #[error(
        "Postgres refuses to run as root, and this machine has no user `postgres` or `nobody` to run it as"
    )]
    NoUser,
    #[error("`{program}` failed: {message}")]
    Program { program: String, message: String },
    #[error("Postgres did not become ready in {0} s; its log is `{1}`")]
    NotReady(u64, PathBuf),
    #[error("`{path}`: {cause}")]
    File { path: PathBuf, cause: std::io::Error },
}

/// An initialised data folder. Nothing runs yet.
#[derive(Debug)]
pub struct Cluster {
    binaries: Binaries,
    identity: Identity,
    data: PathBuf,
    lasting: Lasting,
}

/// Whether the data outlives the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lasting {
    Kept,
    ThrownAway,
}

/// A running cluster. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    data: PathBuf,
    socket: PathBuf,
    keeper: Option<Child>,
    _ours: std::fs::File,
}

/// The superuser of every cluster made here.
pub const SUPERUSER: &str = "postgres";
const PORT: u16 = 5432; // names the socket file; nothing listens on it
const READY_WITHIN: Duration = Duration::from_secs(30);
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

impl Cluster {
    /// Opens the cluster that belongs to `folder`, making it on first use.
    ///
    /// The data lies in `folder/postgres-data`; for root in `/var/tmp/counterfoil-<hash of folder>`, because an
    /// unprivileged user could not enter a folder below root's own.
    pub fn open(binaries: &Binaries, folder: &Path) -> Result<Self, ClusterError> {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
        let folder = folder.canonicalize().map_err(at(folder))?;
        let identity = Identity::of_this_process()?;
        let data = identity.data_folder(&folder);
        let cluster = Self { binaries: binaries.clone(), identity, data, lasting: Lasting::Kept };
        if !cluster.data.join("PG_VERSION").exists() {
            cluster.initialise()?;
        }
        Ok(cluster)
    }

    /// A fresh cluster for tests: its data goes when it is stopped, or when the process ends; only
    /// [`Running::stop_immediately`] keeps it, for another start.
    pub fn throw_away(binaries: &Binaries) -> Result<Self, ClusterError> {
        let identity = Identity::of_this_process()?;
        let parent = Path::new("/var/tmp");
        let data =
            tempfile::Builder::new().prefix("cf-pg-data-").tempdir_in(parent).map_err(at(parent))?.keep();
        let cluster = Self { binaries: binaries.clone(), identity, data, lasting: Lasting::ThrownAway };
        cluster.initialise()?;
        Ok(cluster)
    }

    /// Where the data lies.
    pub fn data_folder(&self) -> &Path {
        &self.data
    }

    /// Starts Postgres with extra settings (`[("fsync", "off")]` in tests) and waits until it answers.
    pub fn start(&self, settings: &[(&str, &str)]) -> Result<Running, ClusterError> {
        let ours = self.claim()?;
        self.stop_a_leftover();
        let socket = self.socket_folder()?;
        let mut keeper = self.spawn_keeper(&socket, settings)?;
        let began = Instant::now();
        while !self.answers(&socket) {
            let ended = keeper.try_wait().map_err(at(&self.data))?.is_some();
            if ended || began.elapsed() > READY_WITHIN {
                drop(keeper.stdin.take());
                let _ = keeper.wait();
                return Err(ClusterError::NotReady(READY_WITHIN.as_secs(), self.log()));
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Ok(Running { data: self.data.clone(), socket, keeper: Some(keeper), _ours: ours })
    }

    fn initialise(&self) -> Result<(), ClusterError> {
        self.identity.own(&self.data)?;
        let mut initdb = self.binaries.command("initdb");
        initdb.arg("-D").arg(&self.data).args([
            "-U",
            SUPERUSER,
            "-E",
            "UTF8",
            "--locale=C",
            "--data-checksums",
        ]);
        // The socket's folder is the lock: only the cluster's own user can enter it. TCP is off.
        initdb.args(["--auth-local=trust", "--auth-host=reject", "--no-instructions"]);
        run(self.identity.apply(&mut initdb))
    }

    fn socket_folder(&self) -> Result<PathBuf, ClusterError> {
        // Socket paths end at 107 bytes, so the folder is short whatever TMPDIR says.
        let made =
            tempfile::Builder::new().prefix("cf-pg-").tempdir_in("/tmp").map_err(at(Path::new("/tmp")))?;
        let socket = made.keep();
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o700)).map_err(at(&socket))?;
        if let Some((user, group)) = self.identity.unprivileged() {
            chown(&socket, Some(user), Some(group)).map_err(at(&socket))?;
        }
        Ok(socket)
    }

    /// The keeper is a shell that holds Postgres as long as our end of its standard input is open. Whatever ends
    /// this process also closes that pipe, so no cluster outlives its owner.
    fn spawn_keeper(&self, socket: &Path, settings: &[(&str, &str)]) -> Result<Child, ClusterError> {
        const KEEP: &str = r#"
            socket=$1; data=$2; shift 2
            "$@" </dev/null &
            pid=$!
            read -r how
            kill -s "${how:-INT}" "$pid" 2>/dev/null
            wait "$pid"
            rm -rf "$socket"
            if [ -n "$data" ] && [ "$how" != QUIT ]; then rm -rf "$data"; fi
        "#;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log())
            .map_err(at(&self.log()))?;
        let errors = log.try_clone().map_err(at(&self.log()))?;
        let mut keeper = Command::new("/bin/sh");
        let thrown_away = match self.lasting {
            Lasting::Kept => Path::new(""),
            Lasting::ThrownAway => &self.data,
        };
        keeper
            .args(["-c", KEEP, "keeper"])
            .arg(socket)
            .arg(thrown_away)
            .arg(self.binaries.program("postgres"));
        keeper.arg("-D").arg(&self.data).arg("-k").arg(socket).args(["-p", &PORT.to_string()]);
        keeper.args(["-c", "listen_addresses=", "-c", "max_connections=100"]);
        for (name, value) in settings {
            keeper.arg("-c").arg(format!("{name}={value}"));
        }
        keeper.stdin(Stdio::piped()).stdout(log).stderr(errors);
        // A group of its own: Ctrl-C in a terminal must reach the services first and the database last.
        keeper.process_group(0).current_dir("/");
        self.identity.apply(&mut keeper).spawn().map_err(at(Path::new("/bin/sh")))
    }

    fn answers(&self, socket: &Path) -> bool {
        // pg_ctl, unlike pg_isready, comes with every packaged build; the file below is what it reads.
        let pid_file = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        let ready = pid_file.lines().nth(7).is_some_and(|state| state.trim() == "ready");
        ready && socket.join(format!(".s.PGSQL.{PORT}")).exists()
    }

    /// One owner at a time; the lock goes with the process that holds it.
    fn claim(&self) -> Result<std::fs::File, ClusterError> {
        let path = self.data.join("counterfoil.lock");
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(&path).map_err(at(&path))?;
        file.try_lock().map_err(|_| ClusterError::InUse(self.data.clone()))?;
        Ok(file)
    }

    /// A keeper that was itself killed leaves Postgres running on this very data folder.
    fn stop_a_leftover(&self) {
        if self.data.join("postmaster.pid").exists() {
            let mut stop = self.binaries.command("pg_ctl");
            stop.arg("-D").arg(&self.data).args(["-m", "fast", "-w", "-s", "stop"]);
            stop.stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
            // Fails when the file is only stale; then Postgres removes it itself on start.
            let _ = self.identity.apply(&mut stop).status();
        }
    }

    fn log(&self) -> PathBuf {
        self.data.join("counterfoil.log")
    }
}

impl Running {
    /// The folder that holds the socket: `host` of a connection.
    pub fn socket_folder(&self) -> &Path {
        &self.socket
    }

    /// The number in the socket's name: `port` of a connection.
    pub fn port(&self) -> u16 {
        PORT
    }

    /// A connection of the superuser to one database.
    pub fn admin(&self, database: &str) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&self.socket).port(PORT).user(SUPERUSER).dbname(database);
        config
    }

    /// The process id of the postmaster, for tests that stop or kill it.
    pub fn postmaster(&self) -> Option<u32> {
        std::fs::read_to_string(self.data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
    }

    /// Stops without a checkpoint, as a crash would: the next start recovers from the log.
    pub fn stop_immediately(mut self) {
        self.end(b"QUIT\n");
    }

    fn end(&mut self, how: &[u8]) {
        let Some(mut keeper) = self.keeper.take() else {
            return;
        };
        if let Some(mut pipe) = keeper.stdin.take() {
            let _ = pipe.write_all(how);
        }
        let began = Instant::now();
        while matches!(keeper.try_wait(), Ok(None)) && began.elapsed() < STOPPED_WITHIN {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(b"INT\n");
    }
}

fn run(command: &mut Command) -> Result<(), ClusterError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).current_dir("/").output();
    let output = output
        .map_err(|error| ClusterError::Program { program: program.clone(), message: error.to_string() })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ClusterError::Program { program, message })
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> ClusterError + use<> {
    let path = path.to_owned();
    move |cause| ClusterError::File { path, cause }
}
