//! `counterfoil demo-provider`: the provider of the demo, started by the gateway.

use std::path::PathBuf;

use anyhow::Context;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::statement::Environment;
use tokio::io::{BufReader, stdin, stdout};

use crate::provider::{Guard, KeySource, Pinned, Provider};

#[derive(clap::Args)]
pub struct Arguments {
    /// Where notes and letters live
    #[arg(long)]
    folder: PathBuf,

    /// Where every call that is executed is written down, one JSON document a line
    #[arg(long)]
    log: PathBuf,

    /// Execute nothing without a capability signed by a key of this gateway-jwks.json (address or file)
    #[arg(long, requires_all = ["issuer", "audience"])]
    require_capability: Option<String>,

    /// The only issuer whose capabilities count
    #[arg(long)]
    issuer: Option<Issuer>,

    /// This provider's resource id, the audience of its capabilities
    #[arg(long)]
    audience: Option<String>,

    /// The environment that this provider serves
    #[arg(long, default_value = "live", value_parser = environment)]
    env: Environment,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let pinned = arguments.issuer.zip(arguments.audience);
    let guard = arguments.require_capability.zip(pinned).map(|(keys, (issuer, audience))| {
        let pinned = Pinned { issuer, audience, env: arguments.env };
        Guard::new(pinned, KeySource::parse(&keys))
    });
    let mut provider = Provider::new(&arguments.folder, &arguments.log, guard)
        .with_context(|| format!("`{}` or `{}`", arguments.folder.display(), arguments.log.display()))?;
    Ok(provider.serve(BufReader::new(stdin()), stdout()).await?)
}

fn environment(text: &str) -> Result<Environment, String> {
    let mut all = Environment::ALL.iter().copied();
    all.find(|env| env.as_str() == text).ok_or_else(|| "`live` or `test`".to_owned())
}
