//! `counterfoil stdio <provider>`: for agent hosts that only start processes.
//!
//! Standard output carries JSON-RPC and nothing else; complaints go to standard error.

use std::path::{Path, PathBuf};

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use counterfoil_jwks::file::read_private;
use tokio::io::{BufReader, stdin, stdout};

use zeroize::Zeroizing;

use crate::bridge::{Bridge, Credential};

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
    let key = match &arguments.key_file {
        Some(path) => read_key(path)?,
        None => Zeroizing::new(
            std::env::var("COUNTERFOIL_KEY").context("set COUNTERFOIL_KEY, or name a --key-file")?,
        ),
    };
    let address = format!("{}/stdio/{}", arguments.gateway.trim_end_matches('/'), arguments.provider);
    let bridge = Bridge::new(&address, &Credential::new(key.trim())?)?;
    Ok(bridge.run(BufReader::new(stdin()), stdout()).await?)
}

fn read_key(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let bytes = read_private(path)?;
    let text = std::str::from_utf8(&bytes).context("the key file is not text")?;
    Ok(Zeroizing::new(text.to_owned()))
}
