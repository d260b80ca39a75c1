//! Where providers, registry and rules come from: somebody's counterfoil.toml, or the demo.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use counterfoil_core::capability::default_audience;
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::PublicKey;
use counterfoil_core::time::Timestamp;

use super::Folder;
use super::ports::Ports;
use super::project::ProjectRecord;
use super::providers::{Plan, ProviderPlan, ProviderPlans};
use crate::provider::statement::{mint_key, read_key};

/// The name of the demo's only provider.
pub const DEMO_PROVIDER: &str = "notes";

const DEMO_REGISTRY: &str = include_str!("../../demo/registry.toml");
const DEMO_RULES: &str = include_str!("../../demo/rules.cedar");

/// The demo's rules end, as every allow must.
const DEMO_DAYS: i64 = 30;

pub enum Source {
    Planned(Box<Plan>),
    Demo,
}

impl Source {
    pub fn from_file(path: &Path) -> anyhow::Result<Self> {
        Ok(Self::Planned(Box::new(Plan::from_file(path)?)))
    }

    pub fn host(&self) -> &str {
        let planned = match self {
            Self::Planned(plan) => plan.host.as_deref(),
            Self::Demo => None,
        };
        planned.unwrap_or("counterfoil.localhost")
    }

    pub fn project(&self) -> &str {
        let planned = match self {
            Self::Planned(plan) => plan.project.as_deref(),
            Self::Demo => None,
        };
        planned.unwrap_or("demo")
    }

    pub fn agent(&self) -> &str {
        let planned = match self {
            Self::Planned(plan) => plan.agent.as_deref(),
            Self::Demo => None,
        };
        planned.unwrap_or("agent")
    }

    /// Where the first agent's API key is kept; None where it is shown instead.
    pub fn key_file(&self) -> Option<&Path> {
        match self {
            Self::Planned(plan) => plan.key_file.as_deref(),
            Self::Demo => None,
        }
    }

    pub fn registry(&self, folder: &Folder) -> PathBuf {
        match self {
            Self::Planned(plan) => plan.registry.clone(),
            Self::Demo => folder.registry(),
        }
    }

    pub fn rules(&self, folder: &Folder) -> PathBuf {
        match self {
            Self::Planned(plan) => plan.rules.clone(),
            Self::Demo => folder.rules(),
        }
    }

    /// Writes what the demo needs and is not there yet. Somebody's own files are never touched here.
    pub fn prepare(&self, folder: &Folder, now: Timestamp) -> anyhow::Result<()> {
        match self {
            Self::Planned(_) => Ok(()),
            Self::Demo => {
                write_demo_files(folder, now).context("the demo's files")?;
                mint_key(&demo_key(folder))
            }
        }
    }

    /// Keys that providers sign with and that whoever sets this up vouches for: the demo's, made beside it. Keys of other
    /// providers are imported by an operator who compared them.
    pub fn execution_keys(&self, folder: &Folder) -> anyhow::Result<Vec<(ProviderId, PublicKey)>> {
        match self {
            Self::Planned(_) => Ok(Vec::new()),
            Self::Demo => {
                let key = read_key(&demo_key(folder))?.public().clone();
                Ok(vec![(DEMO_PROVIDER.parse().context("the demo provider's name")?, key)])
            }
        }
    }

    pub fn providers(
        &self,
        folder: &Folder,
        record: &ProjectRecord,
        ports: &Ports,
    ) -> anyhow::Result<ProviderPlans> {
        match self {
            Self::Planned(plan) => Ok(plan.providers.clone()),
            Self::Demo => demo_providers(folder, record, ports),
        }
    }
}

/// Where the demo provider writes down every call that it executes.
pub fn demo_log(folder: &Folder) -> PathBuf {
    folder.path().join("provider-log.jsonl")
}

/// Where the demo's notes and letters live.
pub fn demo_sandbox(folder: &Folder) -> PathBuf {
    folder.path().join("sandbox")
}

/// What the demo provider signs its statements with.
pub fn demo_key(folder: &Folder) -> PathBuf {
    folder.path().join("provider-execution.key")
}

/// Where the demo provider keeps the receipts of its statements.
pub fn demo_acceptances(folder: &Folder) -> PathBuf {
    folder.path().join("provider-acceptances.jsonl")
}

fn write_demo_files(folder: &Folder, now: Timestamp) -> std::io::Result<()> {
    let deadline = now.plus_millis(DEMO_DAYS * 86_400_000).to_string();
    // Cedar's datetime without the milliseconds.
    let deadline = format!("{}Z", &deadline[..19]);
    let notes = demo_sandbox(folder).join("notes");
    fs::create_dir_all(notes.join("drafts"))?;
    let files = [
        (folder.registry(), DEMO_REGISTRY.to_owned()),
        (folder.rules(), DEMO_RULES.replace("\"DEADLINE\"", &format!("\"{deadline}\""))),
        (
            notes.join("welcome.txt"),
            "A counterfoil is the half of a receipt that the issuer keeps.\n".to_owned(),
        ),
    ];
    for (path, text) in files {
        if !path.exists() {
            fs::write(path, text)?;
        }
    }
    Ok(())
}

fn demo_providers(folder: &Folder, record: &ProjectRecord, ports: &Ports) -> anyhow::Result<ProviderPlans> {
    let program = std::env::current_exe().context("this program's own path")?;
    let jwks = format!("{}{}/gateway-jwks.json", ports.gateway_url(), record.issuer.page_path());
    let command = [
        program.display().to_string(),
        "demo-provider".to_owned(),
        "--folder".to_owned(),
        demo_sandbox(folder).display().to_string(),
        "--log".to_owned(),
        demo_log(folder).display().to_string(),
        "--require-capability".to_owned(),
        jwks,
        "--issuer".to_owned(),
        record.issuer.to_string(),
        "--audience".to_owned(),
        default_audience(&record.issuer, DEMO_PROVIDER),
        "--execution-key".to_owned(),
        demo_key(folder).display().to_string(),
        "--project".to_owned(),
        record.id.to_string(),
        "--provider".to_owned(),
        DEMO_PROVIDER.to_owned(),
        "--acceptances".to_owned(),
        demo_acceptances(folder).display().to_string(),
    ];
    let plan = ProviderPlan { folder: Some(folder.path().to_owned()), ..ProviderPlan::of(command.to_vec()) };
    let id = DEMO_PROVIDER.parse().context("the demo provider's name")?;
    Ok(ProviderPlans::from([(id, plan)]))
}
