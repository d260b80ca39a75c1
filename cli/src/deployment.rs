//! One folder that holds a deployment: keys, configuration of both services, project, registry and rules.
//!
//! Promised: whatever is secret in it is readable by its owner alone, and is never replaced by set-up. The two
//! services' keys are sealed under two different key-encryption keys.
//!
//!     evidence.toml  evidence-keys.sealed  evidence.kek  evidence-heads.json
//!     gateway.toml   gateway-keys.sealed   gateway.kek   service-token
//!     project.toml   disclosure-key.jwk    registry.toml  rules.cedar

pub mod config;
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

use anyhow::Context;

/// Where the parts of a deployment lie.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if it is not there; only its owner may enter a new one.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.with_context(|| format!("`{}`", path.display()))?;
        }
        let absolute = fs::canonicalize(path).with_context(|| format!("`{}`", path.display()))?;
        Ok(Self(absolute))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn evidence_config(&self) -> PathBuf {
        self.0.join("evidence.toml")
    }

    pub fn gateway_config(&self) -> PathBuf {
        self.0.join("gateway.toml")
    }

    pub fn evidence_keys(&self) -> PathBuf {
        self.0.join(config::EVIDENCE_KEYS)
    }

    pub fn gateway_keys(&self) -> PathBuf {
        self.0.join(config::GATEWAY_KEYS)
    }

    pub fn evidence_kek(&self) -> PathBuf {
        self.0.join(config::EVIDENCE_KEK)
    }

    pub fn gateway_kek(&self) -> PathBuf {
        self.0.join(config::GATEWAY_KEK)
    }

    pub fn service_token(&self) -> PathBuf {
        self.0.join(config::SERVICE_TOKEN)
    }

    pub fn disclosure_key(&self) -> PathBuf {
        self.0.join("disclosure-key.jwk")
    }

    pub fn project(&self) -> PathBuf {
        self.0.join("project.toml")
    }

    pub fn registry(&self) -> PathBuf {
        self.0.join("registry.toml")
    }

    pub fn rules(&self) -> PathBuf {
        self.0.join("rules.cedar")
    }
}

#[cfg(test)]
mod tests;
