//! Configuration of the evidence service: one TOML file.
//!
//! Relative paths are relative to the file's folder. A member that is not known is refused, so that a misspelt
//! limit never silently means "none".
//!
//!     host = "counterfoil.localhost"
//!     mode = "dev"
//!     listen_public = "127.0.0.1:8788"
//!     listen_internal = "127.0.0.1:8789"
//!     keys = "evidence-keys.sealed"
//!     heads_file = "evidence-heads.json"
//!     [database]
//!     host = "/run/postgresql"
//!     name = "counterfoil"

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use counterfoil_core::issuer::Host;
use counterfoil_jwks::Mode;
use serde::{Deserialize, Serialize};

/// Everything the service is told at start.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The host in every issuer and log origin, chosen once: lower-case, no port.
    #[serde(with = "host_text")]
    pub host: Host,
    pub mode: Mode,
    pub listen_public: SocketAddr,
    pub listen_internal: SocketAddr,
    /// Where people answer, grant and stop; off where it is not named. A private network, or TLS in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_console: Option<SocketAddr>,
    /// The sealed file with the ledger and log keys.
    pub keys: PathBuf,
    /// The key-encryption key; without it the environment variable `COUNTERFOIL_KEK` is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kek_file: Option<PathBuf>,
    /// A copy of the heads, to be kept outside the database's volume: it shows a database restored from a backup.
    pub heads_file: PathBuf,
    /// `Host` values accepted beside [`Config::host`]; ports are not compared.
    #[serde(default = "loopback_names")]
    pub hosts: Vec<String>,
    /// What one peer may ask of the public listener.
    #[serde(default)]
    pub rate: Rate,
    /// How long a gateway may be silent before its open calls count as OUTCOME_UNKNOWN. It asks every two seconds.
    #[serde(default = "default_lease")]
    pub lease_seconds: u32,
    /// Where packages lie, and how many.
    #[serde(default)]
    pub packages: PackagesConfig,
    pub database: DatabaseConfig,
}

/// Requests of one peer: so many a second, and so many at once.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

impl Default for Rate {
    /// A person reading pages, or a client fetching receipts; not a crawler.
    fn default() -> Self {
        Self { per_second: 200, burst: 1000 }
    }
}

/// Packages: their folder, and what a project may have there. Sizes in bytes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PackagesConfig {
    /// Services that share a database share this folder too.
    pub folder: PathBuf,
    /// A package that would be larger fails; ask for it in ranges.
    pub largest_bytes: u64,
    /// The newest so many of a project's own, and as many for strangers.
    pub keep: u32,
    pub days: u32,
}

impl Default for PackagesConfig {
    /// Two gibibytes are some five million entries.
    fn default() -> Self {
        Self { folder: PathBuf::from("packages"), largest_bytes: 2 << 30, keep: 3, days: 7 }
    }
}

/// Where the database is and as whom we enter it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// A folder (Unix socket) or a host name.
    pub host: String,
    #[serde(default = "default_port")]
    pub port: u16,
    pub name: String,
    #[serde(default = "app")]
    pub app_user: String,
    #[serde(default = "reader")]
    pub reader_user: String,
    #[serde(default = "sweeper")]
    pub sweeper_user: String,
    #[serde(default = "migrator")]
    pub migrator_user: String,
    /// One line, used for all four users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// Connections of the app role; the reader role gets half.
    #[serde(default = "default_connections")]
    pub connections: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("`{path}`: {cause}")]
    Unreadable { path: PathBuf, cause: std::io::Error },
    #[error("`{path}`: {cause}")]
    Malformed { path: PathBuf, cause: Box<toml::de::Error> },
}

impl Config {
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| ConfigError::Unreadable { path: path.to_owned(), cause })?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|cause| ConfigError::Malformed { path: path.to_owned(), cause: Box::new(cause) })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let absolute = |path: &mut PathBuf| *path = folder.join(&*path);
        absolute(&mut config.keys);
        absolute(&mut config.heads_file);
        absolute(&mut config.packages.folder);
        config.kek_file.iter_mut().for_each(absolute);
        config.database.password_file.iter_mut().for_each(absolute);
        Ok(config)
    }
}

fn loopback_names() -> Vec<String> {
    ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec()
}

fn default_port() -> u16 {
    5432
}

fn default_lease() -> u32 {
    30
}

// More connections than cores help little, and every append of one project waits for the same row anyway.
fn default_connections() -> usize {
    12
}

fn app() -> String {
    "counterfoil_app".to_owned()
}

fn reader() -> String {
    "counterfoil_reader".to_owned()
}

fn sweeper() -> String {
    "counterfoil_sweeper".to_owned()
}

fn migrator() -> String {
    "counterfoil_migrator".to_owned()
}

mod host_text {
    use counterfoil_core::issuer::Host;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(host: &Host, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(host)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Host, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
