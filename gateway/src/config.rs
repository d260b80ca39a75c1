//! What an operator writes into gateway.toml. The structs are the manual.
//!
//! Promised: unknown members are refused, relative paths are meant from the file's own folder, nothing here is secret.
//!
//!     listen = "127.0.0.1:8787"
//!     evidence_url = "http://127.0.0.1:8789"
//!     service_token_file = "service-token"
//!     keys = "gateway-keys.sealed"
//!     kek_file = "kek"
//!     mode = "dev"
//!     [[project]]
//!     id = "prj_…"
//!     [provider.notes]
//!     project = "prj_…"
//!     command = ["counterfoil", "notes"]

use crate::upstream::Sharing;
use counterfoil_core::id::{KeyId, ProjectId, ProviderId};
use counterfoil_jwks::Mode;
use counterfoil_jwks::credentials::HeaderName;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where agent hosts and providers reach us.
    pub listen: SocketAddr,
    /// Where `/metrics` is, for a scraper on another machine. Without this member `listen` has it, for peers on this
    /// machine alone.
    pub metrics_listen: Option<SocketAddr>,
    /// The internal listener of the evidence service.
    pub evidence_url: String,
    /// A file with one line, `cfs_…`, that the evidence service made for us.
    pub service_token_file: PathBuf,
    /// The sealed file with our signing keys.
    pub keys: PathBuf,
    /// The key that opens it, 64 hex digits; without this member the environment's COUNTERFOIL_KEK.
    pub kek_file: Option<PathBuf>,
    /// The sealed file with headers for providers, under the same key. Needed where a provider has `sealed_headers`.
    pub credentials: Option<PathBuf>,
    /// `production` refuses published sample keys.
    pub mode: Mode,
    /// Whether `/readyz` waits until a forbidden call was refused and recorded on each transport. Two entries a start and
    /// project. Without this member: in `production`.
    pub self_test: Option<bool>,
    /// Names by which we may be called (`Host`, any port). Others are refused: they are how a web page in a browser on
    /// this machine would reach us by rebinding a name.
    #[serde(default = "loopback_names")]
    pub hosts: BTreeSet<String>,
    /// Pages that may call us from a browser (`Origin`, exact). None by default.
    #[serde(default)]
    pub origins: BTreeSet<String>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub holds: HoldsConfig,
    #[serde(default)]
    pub probes: ProbesConfig,
    #[serde(rename = "project")]
    pub projects: Vec<ProjectConfig>,
    #[serde(default, rename = "provider")]
    pub providers: BTreeMap<ProviderId, ProviderConfig>,
}

/// What one API key may ask of one gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Sustained. The default is several times what one database commits, so it stops floods and nothing else.
    pub messages_per_second: NonZeroU32,
    /// At once.
    pub burst: NonZeroU32,
}

impl Default for Limits {
    fn default() -> Self {
        let ten_thousand = NonZeroU32::MIN.saturating_add(9_999);
        Self { messages_per_second: ten_thousand, burst: ten_thousand }
    }
}

/// Calls that wait for a person.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HoldsConfig {
    /// How long one request is kept waiting for the answer, at most ten minutes. Below what hosts and balancers wait:
    /// many give up after sixty seconds.
    pub wait_ms: u32,
    /// The same for single API keys: `{ key_… = 5000 }`.
    pub wait_ms_by_key: BTreeMap<KeyId, u32>,
    /// How long a hold can be answered; 5 minutes to a day.
    pub minutes: u32,
    /// Where people find the console, for hosts that can show an address to their user.
    pub console_url: Option<String>,
}

impl Default for HoldsConfig {
    fn default() -> Self {
        Self { wait_ms: 45_000, wait_ms_by_key: BTreeMap::new(), minutes: 60, console_url: None }
    }
}

impl HoldsConfig {
    const LONGEST_WAIT_MS: u32 = 600_000;

    fn adds_up(&self) -> bool {
        let mut waits = self.wait_ms_by_key.values().chain([&self.wait_ms]);
        let is_address = |url: &String| url.starts_with("https://") || url.starts_with("http://");
        waits.all(|wait| *wait <= Self::LONGEST_WAIT_MS)
            && (5..=1440).contains(&self.minutes)
            && self.console_url.as_ref().is_none_or(is_address)
    }
}

/// Calls that providers must refuse, to tools that the registry marks harmless. Where it marks none there are none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbesConfig {
    /// Between two probes of a provider; 0 for never, at most a month.
    pub hours: u32,
    /// Before the first one after a start.
    pub first_after_seconds: u32,
}

impl Default for ProbesConfig {
    fn default() -> Self {
        Self { hours: 24, first_after_seconds: 60 }
    }
}

impl ProbesConfig {
    const LONGEST_HOURS: u32 = 744;
    const LONGEST_FIRST: u32 = 86_400;

    fn adds_up(self) -> bool {
        self.hours <= Self::LONGEST_HOURS && self.first_after_seconds <= Self::LONGEST_FIRST
    }

    pub fn every(self) -> Option<Duration> {
        (self.hours > 0).then(|| Duration::from_secs(3600 * u64::from(self.hours)))
    }

    pub fn first(self) -> Duration {
        Duration::from_secs(self.first_after_seconds.into())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectConfig {
    pub id: ProjectId,
    /// The log key in the form of C2SP signed notes. Without it the keys of the first control snapshot are pinned for
    /// the life of this process.
    pub log_key: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    pub project: ProjectId,
    /// The program and its arguments; no shell reads them. A provider has this or `url`.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it speaks MCP over HTTP: https, or http to this machine.
    pub url: Option<String>,
    /// Headers that it wants to see, whose values are sealed in `credentials` (`counterfoil headers set`).
    #[serde(default)]
    pub sealed_headers: BTreeSet<HeaderName>,
    /// Headers whose values are in the environment: `{ Authorization = "NAME_OF_VARIABLE" }`.
    #[serde(default)]
    pub headers_env: BTreeMap<String, String>,
    /// What the child sees beside PATH, HOME, LANG, TMPDIR and USER.
    #[serde(default)]
    pub env: ProviderEnv,
    /// Where it runs; our own folder by default.
    pub folder: Option<PathBuf>,
    /// `session` gives each legacy session a connection of its own, for providers that keep state a host expects to be
    /// its session's. `key` by default.
    #[serde(default)]
    pub sharing: Sharing,
    /// A call that takes longer is given up and observed as `timeout`.
    #[serde(default = "two_minutes")]
    pub ceiling_seconds: u32,
}

/// Variables of a child. Some are its credentials, so `Debug` prints the names alone.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct ProviderEnv(BTreeMap<String, String>);

impl ProviderEnv {
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl FromIterator<(String, String)> for ProviderEnv {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for ProviderEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl ProviderConfig {
    /// What is meant for a child says nothing to an address, and the other way round; whoever wrote it meant something.
    fn is_mixed(&self) -> bool {
        let of_url = !self.sealed_headers.is_empty() || !self.headers_env.is_empty();
        let of_command = self.folder.is_some() || !self.env.variables().is_empty();
        if self.url.is_some() { of_command } else { of_url }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read `{0}`: {1}")]
    Unreadable(PathBuf, std::io::Error),
    #[error("`{0}`: {1}")]
    Malformed(PathBuf, String),
    #[error("provider `{0}` names project {1}, which has no [[project]] of its own")]
    UnknownProject(ProviderId, ProjectId),
    #[error("provider `{0}` needs either a command or a url")]
    NoCommand(ProviderId),
    #[error("provider `{0}` mixes members of a command and of a url")]
    Mixed(ProviderId),
    #[error("provider `{0}` has sealed headers, and nothing says which file holds them: `credentials`")]
    NoCredentials(ProviderId),
    #[error("provider `{0}` has a ceiling outside 1 to 3600 seconds")]
    Ceiling(ProviderId),
    #[error(
        "holds: waits are at most 600000 ms, `minutes` 5 to 1440, `console_url` an address of http or https"
    )]
    Holds,
    #[error("probes: `hours` are at most 744, `first_after_seconds` at most 86400")]
    Probes,
    #[error("project {0} stands twice")]
    Twice(ProjectId),
}

impl Config {
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable(path.to_owned(), error))?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|error| ConfigError::Malformed(path.to_owned(), error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        config.resolve(folder);
        config.checked()
    }

    /// Cross-references that the shape alone cannot express.
    pub(crate) fn checked(mut self) -> Result<Self, ConfigError> {
        self.hosts = self.hosts.iter().map(|name| name.to_ascii_lowercase()).collect();
        if !self.holds.adds_up() {
            return Err(ConfigError::Holds);
        }
        if !self.probes.adds_up() {
            return Err(ConfigError::Probes);
        }
        let mut known = BTreeSet::new();
        for project in &self.projects {
            if !known.insert(project.id) {
                return Err(ConfigError::Twice(project.id));
            }
        }
        for (id, provider) in &self.providers {
            if !known.contains(&provider.project) {
                return Err(ConfigError::UnknownProject(id.clone(), provider.project));
            }
            if provider.command.is_empty() == provider.url.is_none() {
                return Err(ConfigError::NoCommand(id.clone()));
            }
            if provider.is_mixed() {
                return Err(ConfigError::Mixed(id.clone()));
            }
            if !provider.sealed_headers.is_empty() && self.credentials.is_none() {
                return Err(ConfigError::NoCredentials(id.clone()));
            }
            if !(1..=3600).contains(&provider.ceiling_seconds) {
                return Err(ConfigError::Ceiling(id.clone()));
            }
        }
        Ok(self)
    }

    fn resolve(&mut self, folder: &Path) {
        // Joining an absolute path gives that path.
        let resolve = |path: &mut PathBuf| *path = folder.join(&path);
        resolve(&mut self.service_token_file);
        resolve(&mut self.keys);
        self.kek_file.as_mut().map(resolve);
        self.credentials.as_mut().map(resolve);
        for provider in self.providers.values_mut() {
            provider.folder.as_mut().map(resolve);
        }
    }
}

fn loopback_names() -> BTreeSet<String> {
    ["counterfoil.localhost", "localhost", "127.0.0.1"].map(str::to_owned).into()
}

fn two_minutes() -> u32 {
    120
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
listen = "127.0.0.1:8787"
evidence_url = "http://127.0.0.1:8789"
service_token_file = "service-token"
keys = "/var/keys.sealed"
mode = "dev"
[[project]]
id = "prj_019355a0c0007000800000000000a001"
[provider.notes]
project = "prj_019355a0c0007000800000000000a001"
command = ["notes"]
"#;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, text).expect("written");
        Config::from_file(&path).map(|mut config| {
            config.service_token_file = config
                .service_token_file
                .strip_prefix(folder.path())
                .expect("resolved against the file's folder")
                .to_owned();
            config
        })
    }

    #[test]
    fn paths_are_meant_from_the_files_folder() {
        let config = read(GOOD).expect("a good file");

        assert_eq!(config.service_token_file, Path::new("service-token"));
        assert_eq!(config.keys, Path::new("/var/keys.sealed"));
        assert_eq!(config.providers.len(), 1);
    }

    // T9
    #[test]
    fn a_printed_configuration_shows_no_credential_of_a_provider() {
        let text = GOOD.replace("command =", "env = { API_TOKEN = \"hunter2\" }\ncommand =");

        let printed = format!("{:?}", read(&text).expect("a good file"));

        assert!(printed.contains("API_TOKEN") && !printed.contains("hunter2"), "{printed}");
    }

    #[test]
    fn a_file_that_does_not_add_up_is_refused() {
        for (from, to) in [
            ("mode", "moed"),
            ("[[project]]", "[holds]\nminutes = 4\n[[project]]"),
            ("[[project]]", "[probes]\nhours = 1000\n[[project]]"),
            ("[[project]]", "[holds]\nwait_ms = 600001\n[[project]]"),
            ("[[project]]", "[holds]\nconsole_url = \"javascript:1\"\n[[project]]"),
            ("command = [\"notes\"]", "command = []"),
            ("command", "ceiling_seconds = 0\ncommand"),
            ("command", "url = \"https://mcp.example/\"\ncommand"),
            ("command", "sealed_headers = [\"h\"]\ncommand"),
            ("command = [\"notes\"]", "url = \"https://mcp.example/\"\nsealed_headers = [\"authorization\"]"),
            ("command = [\"notes\"]", "url = \"https://mcp.example/\"\nfolder = \".\""),
            ("[provider.notes]", "[provider.NOTES]"),
            (
                "[provider.notes]\nproject = \"prj_019355a0c0007000800000000000a001\"",
                "[provider.notes]\nproject = \"prj_019355a0c0007000800000000000a002\"",
            ),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD);
            assert!(read(&text).is_err(), "{text}");
        }
    }
}
