//! `counterfoil-gateway <gateway.toml>`: runs until SIGTERM or SIGINT, then lets calls under way end.

use anyhow::Context as _;
use clap::Parser;
use counterfoil_gateway::{Config, serve};
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(version, about = "The proxy between agent hosts and tool providers")]
struct Arguments {
    /// The configuration, see docs/operating.
    config: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
        )
        .with_writer(std::io::stderr)
        .init();
    let config = Config::from_file(&arguments.config)?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT")?;
    let shutdown = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    serve(config, shutdown).await?;
    Ok(())
}
