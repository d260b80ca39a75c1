//! `counterfoil keys`: list, make, rotate and revoke; keys of providers.

mod provider;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use counterfoil_core::id::{AgentId, KeyId};
use counterfoil_core::key::{Capability, Decision, Purpose, Thumbprint};
use counterfoil_core::time::Timestamp;
use counterfoil_evidence::Config as EvidenceConfig;
use counterfoil_gateway::Config as GatewayConfig;
use counterfoil_jwks::PublishedKey;

use crate::deployment::Folder;
use crate::deployment::founding::{OPERATOR, evidence_store, gateway_store};
use crate::deployment::opened::Opened;
use crate::deployment::rotation::{replace, replace_ledger};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Show every signing key that is or was in use
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Make another API key and show it once
    New {
        #[command(flatten)]
        place: Place,

        /// For whom; the deployment's first agent where nobody is named
        #[arg(long)]
        agent: Option<AgentId>,

        /// On whose behalf, as an opaque name
        #[arg(long)]
        principal: Option<String>,
    },
    /// Replace the decision, capability or ledger key; the service that signs with it must not be running
    Rotate {
        #[command(flatten)]
        place: Place,

        #[arg(value_parser = rotatable)]
        purpose: Purpose,
    },
    /// Import, list, delete and revoke keys that providers sign their statements with
    #[command(subcommand)]
    Provider(provider::Command),
    /// Revoke an API key (key_…) or a signing key (its thumbprint), from now on
    Revoke {
        #[command(flatten)]
        place: Place,

        key: String,

        /// For a signing key: since when others may have had it
        #[arg(long, value_parser = time)]
        compromised_since: Option<Timestamp>,
    },
}

#[derive(clap::Args)]
pub struct Place {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List { place } => list(&Folder::open(&place.dir)?),
        Command::New { place, agent, principal } => {
            new(&Folder::open(&place.dir)?, agent, principal.as_deref()).await
        }
        Command::Rotate { place, purpose } => rotate(&Folder::open(&place.dir)?, purpose).await,
        Command::Provider(command) => provider::run(command).await,
        Command::Revoke { place, key, compromised_since } => {
            revoke(&Folder::open(&place.dir)?, &key, compromised_since).await
        }
    }
}

fn list(folder: &Folder) -> anyhow::Result<()> {
    let mode = gateway_config(folder)?.mode;
    let gateway = gateway_store(folder, mode)?.published();
    let evidence = evidence_store(folder, mode)?.published();
    for PublishedKey { purpose, public, from, until } in gateway.into_iter().chain(evidence) {
        let until = until.map_or_else(|| "in use".to_owned(), |until| format!("until {until}"));
        println!("{:<10} {}  from {from}  {until}", purpose.as_str(), public.thumbprint());
    }
    Ok(())
}

async fn new(folder: &Folder, agent: Option<AgentId>, principal: Option<&str>) -> anyhow::Result<()> {
    let opened = Opened::open(folder).await?;
    let agent = agent.unwrap_or(opened.record.agent);
    let key = opened.setup.create_api_key(opened.record.id, agent, principal).await?;
    println!("{} for {agent}, shown this once:\n{}", key.id, key.secret.reveal());
    Ok(())
}

async fn rotate(folder: &Folder, purpose: Purpose) -> anyhow::Result<()> {
    let config = gateway_config(folder)?;
    let evidence = EvidenceConfig::from_file(&folder.evidence_config())?;
    match purpose {
        Purpose::Ledger => refuse_beside_a_running("evidence service", evidence.listen_internal).await?,
        _ => refuse_beside_a_running("gateway", config.listen).await?,
    }
    let opened = Opened::open(folder).await?;
    let mut store = gateway_store(folder, config.mode)?;
    let (old, new) = match purpose {
        Purpose::Ledger => replace_ledger(folder, config.mode).await?,
        Purpose::Decision => replace::<Decision>(&mut store, folder, &opened.record, &opened.setup).await?,
        Purpose::Capability => {
            replace::<Capability>(&mut store, folder, &opened.record, &opened.setup).await?
        }
        other => bail!("a {other} key is not replaced this way"),
    };
    println!("{purpose} key {old} is replaced by {new}; the old public half stays published");
    Ok(())
}

async fn revoke(folder: &Folder, key: &str, compromised_since: Option<Timestamp>) -> anyhow::Result<()> {
    let opened = Opened::open(folder).await?;
    if let Ok(id) = key.parse::<KeyId>() {
        opened.setup.revoke_api_key(opened.record.id, id).await?;
        println!("{id} opens nothing any more");
    } else if let Ok(thumbprint) = key.parse::<Thumbprint>() {
        opened.setup.revoke_key(opened.record.id, &thumbprint, compromised_since, OPERATOR).await?;
        println!("{thumbprint} counts for nothing from here on; earlier verdicts stand");
    } else {
        bail!("`{key}` is neither an API key's id (key_…) nor a thumbprint");
    }
    Ok(())
}

/// A service signs with the keys that it read when it started.
async fn refuse_beside_a_running(service: &str, address: SocketAddr) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
    if client.get(format!("http://{address}/healthz")).send().await.is_ok() {
        bail!(
            "the {service} runs on {address}: stop it first, since it would go on signing with the old key"
        );
    }
    Ok(())
}

fn gateway_config(folder: &Folder) -> anyhow::Result<GatewayConfig> {
    Ok(GatewayConfig::from_file(&folder.gateway_config())?)
}

fn rotatable(text: &str) -> Result<Purpose, String> {
    match text {
        "decision" => Ok(Purpose::Decision),
        "capability" => Ok(Purpose::Capability),
        "ledger" => Ok(Purpose::Ledger),
        _ => Err("`decision`, `capability` or `ledger`; a log key changes by handover only".to_owned()),
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|error| error.to_string())
}
