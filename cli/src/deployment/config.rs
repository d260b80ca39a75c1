//! Writes evidence.toml and gateway.toml.
//!
//! Our own secrets, and the headers that providers want to see, stand in files that these name. A provider's variables
//! stand in gateway.toml and may be credentials, so both are for their owner alone.

use std::fs;
use std::path::Path;

use anyhow::Context;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_jwks::{Mode, file};
use serde::Serialize;

use super::Folder;
use super::database::DatabaseAddress;
use super::ports::Ports;
use super::providers::{ProviderPlan, ProviderPlans};

pub const EVIDENCE_KEYS: &str = "evidence-keys.sealed";
pub const EVIDENCE_KEK: &str = "evidence.kek";
pub const GATEWAY_KEYS: &str = "gateway-keys.sealed";
pub const GATEWAY_KEK: &str = "gateway.kek";
pub const GATEWAY_CREDENTIALS: &str = "gateway-credentials.sealed";
pub const SERVICE_TOKEN: &str = "service-token";

#[derive(Serialize)]
struct EvidenceFile<'a> {
    host: &'a str,
    mode: Mode,
    listen_public: String,
    listen_internal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    listen_console: Option<String>,
    keys: &'static str,
    kek_file: &'static str,
    heads_file: &'static str,
    database: &'a DatabaseAddress,
}

#[derive(Serialize)]
struct GatewayFile<'a> {
    listen: String,
    evidence_url: String,
    service_token_file: &'static str,
    keys: &'static str,
    kek_file: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'static str>,
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<GatewayHolds>,
    project: [GatewayProject<'a>; 1],
    provider: std::collections::BTreeMap<&'a ProviderId, GatewayProvider<'a>>,
}

/// Only what differs from the gateway's own default.
#[derive(Serialize)]
struct GatewayHolds {
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    console_url: Option<String>,
}

/// How long a held call keeps its caller waiting, in milliseconds; none for the gateway's own default.
#[derive(Clone, Copy)]
pub struct HoldWait(Option<u32>);

impl HoldWait {
    /// For scripts and tests, where nobody comes to answer.
    const VARIABLE: &str = "COUNTERFOIL_HOLD_WAIT_MS";

    pub fn from_environment() -> anyhow::Result<Self> {
        match std::env::var(Self::VARIABLE) {
            Ok(text) => Ok(Self(Some(text.parse().context(Self::VARIABLE)?))),
            Err(_) => Ok(Self(None)),
        }
    }

    pub fn millis(millis: u32) -> Self {
        Self(Some(millis))
    }
}

#[derive(Serialize)]
struct GatewayProject<'a> {
    id: ProjectId,
    log_key: &'a str,
}

#[derive(Serialize)]
struct GatewayProvider<'a> {
    project: ProjectId,
    #[serde(flatten)]
    plan: &'a ProviderPlan,
}

pub fn write_evidence(
    folder: &Folder,
    host: &str,
    mode: Mode,
    ports: &Ports,
    database: &DatabaseAddress,
) -> anyhow::Result<()> {
    let file = EvidenceFile {
        host,
        mode,
        listen_public: ports.evidence.to_string(),
        listen_internal: ports.internal.to_string(),
        listen_console: ports.console.map(|address| address.to_string()),
        keys: EVIDENCE_KEYS,
        kek_file: EVIDENCE_KEK,
        heads_file: "evidence-heads.json",
        database,
    };
    write(&folder.evidence_config(), &file)
}

/// `log_key` pins the project's log: receipts under any other are not believed.
pub fn write_gateway(
    folder: &Folder,
    project: ProjectId,
    log_key: &str,
    mode: Mode,
    ports: &Ports,
    (providers, wait): (&ProviderPlans, HoldWait),
) -> anyhow::Result<()> {
    let sealed = providers.values().any(|plan| !plan.sealed_headers.is_empty());
    let provider = providers.iter().map(|(id, plan)| (id, GatewayProvider { project, plan })).collect();
    let console_url = ports.console_url();
    let file = GatewayFile {
        listen: ports.gateway.to_string(),
        evidence_url: ports.internal_url(),
        service_token_file: SERVICE_TOKEN,
        keys: GATEWAY_KEYS,
        kek_file: GATEWAY_KEK,
        credentials: sealed.then_some(GATEWAY_CREDENTIALS),
        mode,
        holds: (wait.0.is_some() || console_url.is_some())
            .then_some(GatewayHolds { wait_ms: wait.0, console_url }),
        project: [GatewayProject { id: project, log_key }],
        provider,
    };
    write(&folder.gateway_config(), &file)
}

/// Names another address of the same database, and leaves the rest of evidence.toml as it is.
pub fn move_database(folder: &Folder, database: &DatabaseAddress) -> anyhow::Result<()> {
    let path = folder.evidence_config();
    let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
    let mut document: toml_edit::DocumentMut =
        text.parse().with_context(|| format!("`{}`", path.display()))?;
    document["database"]["host"] = toml_edit::value(&database.host);
    document["database"]["port"] = toml_edit::value(i64::from(database.port));
    Ok(file::replace(&path, document.to_string().as_bytes())?)
}

fn write(path: &Path, file: &impl Serialize) -> anyhow::Result<()> {
    let text = toml::to_string(file)?;
    Ok(file::replace(path, text.as_bytes())?)
}
