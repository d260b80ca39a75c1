//! `counterfoil-evidence`: the evidence service as a program.
//!
//!     counterfoil-evidence evidence.toml

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use counterfoil_evidence::{Config, bind};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Ledger, control plane and public pages.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The configuration file.
    #[arg(env = "COUNTERFOIL_EVIDENCE_CONFIG")]
    config: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
    let config = Config::from_file(&arguments.config)?;
    let bound = bind(config).await.context("evidence service")?;
    tracing::info!(public = %bound.public_addr()?, internal = %bound.internal_addr()?, "listening");
    let mut terminate = signal(SignalKind::terminate())?;
    bound
        .run(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        })
        .await
        .context("evidence service")
}
