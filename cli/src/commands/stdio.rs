//! `counterfoil stdio <provider>`: for agent hosts that only start processes.
//!
//! Standard output carries JSON-RPC and nothing else; complaints go to standard error.

use std::path::PathBuf;

use counterfoil_core::id::ProviderId;
use tokio::io::{BufReader, stdin, stdout};

use crate::bridge::{Bridge, Credential};
use crate::remote;

#[derive(clap::Args)]
pub struct Arguments {
    /// Which provider to speak to, as in the registry
    provider: ProviderId,

    /// Where the gateway listens
    #[arg(long, env = "COUNTERFOIL_GATEWAY", default_value = "http://127.0.0.1:8787")]
    gateway: String,

    /// A file with the API key, mode 0600; without it the key is taken from COUNTERFOIL_KEY
    #[arg(long)]
    key_file: Option<PathBuf>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let key = remote::api_key(arguments.key_file.as_deref())?;
    let address = format!("{}/stdio/{}", arguments.gateway.trim_end_matches('/'), arguments.provider);
    let bridge = Bridge::new(&address, &Credential::new(&key)?)?;
    Ok(bridge.run(BufReader::new(stdin()), stdout()).await?)
}
