//! `counterfoil stdio <provider>`: for agent hosts that only start processes.
//!
//! Standard output carries JSON-RPC and nothing else; complaints go to standard error. The receipts of tool calls are
//! kept in a folder of this person's, so that a record that is cut short later is caught.

use std::path::PathBuf;

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use tokio::io::{BufReader, stdin, stdout};

use crate::bridge::{Bridge, Credential, Receipts};
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

    /// Where whole receipts are kept, with what opens them; without it `counterfoil/receipts` in XDG_STATE_HOME, or in
    /// ~/.local/state
    #[arg(long, env = "COUNTERFOIL_RECEIPTS")]
    receipts: Option<PathBuf>,

    /// Keep no receipts
    #[arg(long, conflicts_with = "receipts")]
    no_receipts: bool,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let key = remote::api_key(arguments.key_file.as_deref())?;
    let address = format!("{}/stdio/{}", arguments.gateway.trim_end_matches('/'), arguments.provider);
    let receipts = match (arguments.no_receipts, &arguments.receipts) {
        (true, _) => None,
        (false, Some(folder)) => Some(Receipts::in_folder(folder)?),
        (false, None) => Some(Receipts::in_folder(&usual_folder()?)?),
    };
    let bridge = Bridge::new(&address, &Credential::new(&key)?, receipts)?;
    Ok(bridge.run(BufReader::new(stdin()), stdout()).await?)
}

/// As the XDG base directory specification places what a program wants to find again and nobody edits.
fn usual_folder() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let state = state.context("HOME is not set: name a folder for --receipts, or say --no-receipts")?;
    Ok(state.join("counterfoil/receipts"))
}
