//! One folder that holds a deployment: keys, configuration of both services, project, registry and rules.
//!
//! Promised: whatever is secret in it is readable by its owner alone, and is never replaced by set-up. The two
//! services' keys are sealed under two different key-encryption keys.
//!
//!     evidence.toml  evidence-keys.sealed  evidence.kek  evidence-heads.json
//!     gateway.toml   gateway-keys.sealed   gateway.kek   service-token   gateway-credentials.sealed
//!     project.toml   disclosure-key.jwk    registry.toml  rules.cedar

pub mod config;
pub mod credentials;
pub mod database;
pub mod founding;
pub mod listing;
pub mod opened;
pub mod ports;
pub mod project;
pub mod providers;
pub mod publishing;
pub mod rotation;
pub mod services;
pub mod source;
pub mod standing;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use tempfile::TempDir;

/// Where the parts of a deployment lie.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Removes the folder when the last clone is gone.
    temporary: Option<Arc<TempDir>>,
}

impl Folder {
    /// Makes the folder if it is not there; only its owner may enter a new one.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.with_context(|| format!("`{}`", path.display()))?;
        }
        let path = fs::canonicalize(path).with_context(|| format!("`{}`", path.display()))?;
        Ok(Self { path, temporary: None })
    }

    /// A folder that goes when nobody needs it any more, its database with it.
    pub fn temporary() -> anyhow::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("counterfoil-").tempdir()?;
        let path = fs::canonicalize(temporary.path())?;
        Ok(Self { path, temporary: Some(Arc::new(temporary)) })
    }

    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn evidence_config(&self) -> PathBuf {
        self.path.join("evidence.toml")
    }

    pub fn gateway_config(&self) -> PathBuf {
        self.path.join("gateway.toml")
    }

    pub fn evidence_keys(&self) -> PathBuf {
        self.path.join(config::EVIDENCE_KEYS)
    }

    pub fn gateway_keys(&self) -> PathBuf {
        self.path.join(config::GATEWAY_KEYS)
    }

    /// What providers want to see of the gateway.
    pub fn gateway_credentials(&self) -> PathBuf {
        self.path.join(config::GATEWAY_CREDENTIALS)
    }

    pub fn evidence_kek(&self) -> PathBuf {
        self.path.join(config::EVIDENCE_KEK)
    }

    pub fn gateway_kek(&self) -> PathBuf {
        self.path.join(config::GATEWAY_KEK)
    }

    pub fn service_token(&self) -> PathBuf {
        self.path.join(config::SERVICE_TOKEN)
    }

    /// The token of whoever runs `dev`.
    pub fn operator_token(&self) -> PathBuf {
        self.path.join("operator-token")
    }

    pub fn disclosure_key(&self) -> PathBuf {
        self.path.join("disclosure-key.jwk")
    }

    /// The API key of the first agent, where a plan says that it is kept.
    pub fn agent_key(&self) -> PathBuf {
        self.path().join("agent.key")
    }

    /// Variables of one provider's process.
    pub fn provider_env(&self, provider: &ProviderId) -> PathBuf {
        self.path().join(format!("provider-{provider}.env.toml"))
    }

    pub fn project(&self) -> PathBuf {
        self.path.join("project.toml")
    }

    pub fn registry(&self) -> PathBuf {
        self.path.join("registry.toml")
    }

    pub fn rules(&self) -> PathBuf {
        self.path.join("rules.cedar")
    }
}

#[cfg(test)]
mod tests;
