//! Providers as an operator describes them in counterfoil.toml: how to start each one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterfoil_core::id::ProviderId;
use serde::{Deserialize, Serialize};

/// How one provider is started. The gateway's configuration has the same members, and names the project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPlan {
    pub command: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_seconds: Option<u32>,
}

impl ProviderPlan {
    /// A command and nothing else.
    pub fn of(command: Vec<String>) -> Self {
        Self { command, env: BTreeMap::new(), folder: None, ceiling_seconds: None }
    }
}

pub type ProviderPlans = BTreeMap<ProviderId, ProviderPlan>;

/// What `counterfoil dev` reads. Without such a file the demo's set-up is used.
///
///     registry = "registry.toml"
///     rules = "rules.cedar"
///     [provider.files]
///     command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub project: Option<String>,
    #[serde(default)]
    pub agent: Option<String>,
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
        for provider in plan.providers.values_mut() {
            let own = provider.folder.take();
            provider.folder = Some(own.map_or_else(|| folder.to_owned(), |own| folder.join(own)));
        }
        Ok(plan)
    }
}
