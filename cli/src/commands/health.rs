//! `counterfoil health <address>`: asks once whether a service is ready, for the health checks of containers.

use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Such as http://127.0.0.1:8787/readyz
    address: String,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(3)).build()?;
    let answer = client.get(&arguments.address).send().await?;
    let ready = answer.status().is_success();
    if !ready {
        eprintln!("counterfoil: {} says {}", arguments.address, answer.status());
    }
    Ok(if ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
