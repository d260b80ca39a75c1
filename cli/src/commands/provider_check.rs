//! `counterfoil provider-check`: does a provider refuse what it must?
//!
//! Exit: 0 every case was refused, 1 one was not, 2 nothing can be said.

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use counterfoil_core::capability::default_audience;
use counterfoil_core::id::{ProviderId, ToolName};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::SigningKey;
use counterfoil_core::probe::Target;
use counterfoil_core::statement::{Environment, ProbeCase, ProbeOutcome};

use crate::chance;
use crate::prober::{Caller, Issuing, Row, Table};

#[derive(clap::Args)]
pub struct Arguments {
    /// Where the provider speaks MCP: https, or http on this machine
    url: String,

    /// A tool that may run at any time
    #[arg(long)]
    tool: ToolName,

    /// Arguments that it takes, JSON
    #[arg(long, default_value = "{}")]
    arguments: String,

    /// The issuer that the provider was told to pin
    #[arg(long)]
    issuer: Issuer,

    /// The provider's id in the registry
    #[arg(long, required_unless_present = "audience")]
    provider: Option<ProviderId>,

    /// The provider's resource id, where the registry gives it another than `urn:counterfoil:<project>:<id>`
    #[arg(long)]
    audience: Option<String>,

    /// The environment that the provider serves
    #[arg(long, default_value = "live", value_parser = super::demo_provider::environment)]
    env: Environment,

    /// Be the gateway: serve the issuer's keys and generation here, where the provider was told to find them. Without it only
    /// what a stranger can present is tried
    #[arg(long, value_name = "127.0.0.1:PORT")]
    serve_keys: Option<SocketAddr>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    // 1 says that a provider let something through, so it must not also say that there was none to ask.
    checked(arguments).await.or_else(|error| {
        eprintln!("counterfoil: {error:#}");
        Ok(ExitCode::from(2))
    })
}

async fn checked(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let issuing = match arguments.serve_keys {
        Some(at) => {
            ensure!(
                at.ip().is_loopback(),
                "keys are served on this machine alone: `{at}` is not a loopback address"
            );
            let started = Issuing::start(arguments.issuer.clone(), at).await;
            Some(started.with_context(|| format!("cannot listen on {at}"))?)
        }
        None => None,
    };
    let given = json::parse(arguments.arguments.as_bytes(), Profile::Foreign).context("--arguments")?;
    ensure!(given.is_object(), "--arguments is no JSON object");
    let own = || {
        let id = arguments.provider.as_ref().map(ProviderId::as_str).unwrap_or_default();
        default_audience(&arguments.issuer, id)
    };
    let stranger = SigningKey::from_seed(&chance::seed());
    let table = Table {
        target: Target {
            issuer: &arguments.issuer.to_string(),
            audience: &arguments.audience.clone().unwrap_or_else(own),
            env: arguments.env,
            generation: 0,
            tool: arguments.tool.as_str(),
            arguments: &given,
        },
        known: issuing.as_ref().map(Issuing::key),
        stranger: &stranger,
    };
    let mut caller = Caller::open(&arguments.url).await.with_context(|| format!("`{}`", arguments.url))?;
    if let Some(issuing) = &issuing {
        println!("keys of {} at http://{}", arguments.issuer, issuing.address());
    }
    let spent = match table.honest(&mut caller).await {
        Ok(spent) => spent,
        Err(said) => {
            println!("the honest call did not run ({said}), so refusals would say nothing");
            return Ok(ExitCode::from(2));
        }
    };
    if spent.is_some() {
        println!("{:<18} ran", "honest call");
    }
    let rows = table.ask(&mut caller, spent.as_deref()).await;
    Ok(report(&rows))
}

fn report(rows: &[Row]) -> ExitCode {
    for Row { case, outcome, said } in rows {
        let loud = if *outcome == ProbeOutcome::Refused { "" } else { "  <-- NOT REFUSED" };
        println!("{:<18} {:<8} {said}{loud}", case.as_str(), outcome.as_str());
    }
    let untried: Vec<&str> = (ProbeCase::ALL.iter())
        .filter(|case| !rows.iter().any(|row| row.case == **case))
        .map(|case| case.as_str())
        .collect();
    if !untried.is_empty() {
        println!("not tried, since the provider pins no key of ours (--serve-keys): {}", untried.join(", "));
    }
    let refused = rows.iter().filter(|row| row.outcome == ProbeOutcome::Refused).count();
    println!("{refused} of {} refused", rows.len());
    if refused == rows.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
