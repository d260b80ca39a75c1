//! Providers as an operator describes them in counterfoil.toml: how to start, or reach, each one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use counterfoil_core::id::ProviderId;
use counterfoil_gateway::Sharing;
use counterfoil_jwks::credentials::{Credential, HeaderName};
use counterfoil_jwks::file::read_private;
use serde::{Deserialize, Serialize};

/// How one provider is started, or where it is. The gateway's configuration has the same members, and names the project.
/// Its variables may be credentials, so nothing here prints itself.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPlan {
    /// The program and its arguments. A provider has this or `url`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Where it speaks MCP over HTTP: https, or http to this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers that it wants to see, whose values `counterfoil headers set` seals.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sealed_headers: BTreeSet<HeaderName>,
    /// Headers whose values are in the gateway's environment: name, variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// More variables, in a file of mode 0600: they may be secrets. Read with the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Who shares a connection; the gateway's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_seconds: Option<u32>,
}

impl ProviderPlan {
    /// A command and nothing else.
    pub fn of(command: Vec<String>) -> Self {
        Self {
            command,
            url: None,
            sealed_headers: BTreeSet::new(),
            headers_env: BTreeMap::new(),
            env: BTreeMap::new(),
            env_file: None,
            folder: None,
            sharing: None,
            ceiling_seconds: None,
        }
    }

    /// An address, and the headers that it wants to see.
    pub fn at(url: String, sealed_headers: BTreeSet<HeaderName>) -> Self {
        Self { url: Some(url), sealed_headers, ..Self::of(Vec::new()) }
    }
}

/// Values of headers before they are sealed.
pub type HeaderValues = BTreeMap<HeaderName, Credential>;

pub type ProviderPlans = BTreeMap<ProviderId, ProviderPlan>;

/// What `counterfoil dev` reads. Without such a file the demo's set-up is used.
///
///     registry = "registry.toml"
///     rules = "rules.cedar"
///     [provider.files]
///     command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]
///     [provider.linear]
///     url = "https://mcp.linear.app/mcp"
///     sealed_headers = ["authorization"]
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub project: Option<String>,
    #[serde(default)]
    pub agent: Option<String>,
    /// Where the first agent's API key is kept, for bridges that agent hosts start.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    pub registry: PathBuf,
    pub rules: PathBuf,
    #[serde(rename = "provider")]
    pub providers: ProviderPlans,
}

#[derive(Debug, thiserror::Error)]
#[error("`{path}`: {reason}")]
pub struct PlanError {
    path: PathBuf,
    reason: String,
}

impl Plan {
    /// Relative paths are meant from the file's own folder.
    pub fn from_file(path: &Path) -> Result<Self, PlanError> {
        let refused = |reason: String| PlanError { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut plan: Self = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let absolute = std::path::absolute(path).map_err(|error| refused(error.to_string()))?;
        let folder = absolute.parent().ok_or_else(|| refused("has no folder".to_owned()))?;
        plan.registry = folder.join(&plan.registry);
        plan.rules = folder.join(&plan.rules);
        plan.key_file = plan.key_file.map(|path| folder.join(path));
        for provider in plan.providers.values_mut() {
            if let Some(file) = provider.env_file.take() {
                provider.env.extend(variables(&folder.join(file)).map_err(refused)?);
            }
            if provider.url.is_some() {
                continue;
            }
            let own = provider.folder.take();
            provider.folder = Some(own.map_or_else(|| folder.to_owned(), |own| folder.join(own)));
        }
        Ok(plan)
    }
}

fn variables(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let bytes = read_private(path).map_err(|error| error.to_string())?;
    let text = std::str::from_utf8(&bytes).map_err(|error| format!("`{}`: {error}", path.display()))?;
    // The parser's own message would quote the line, and with it a secret.
    toml::from_str(text).map_err(|_| format!("`{}` is no table of names and texts", path.display()))
}
