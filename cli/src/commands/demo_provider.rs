//! `counterfoil demo-provider`: the provider of the demo, started by the gateway.

use std::path::PathBuf;

use anyhow::Context;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::statement::Environment;
use tokio::io::{BufReader, stdin, stdout};

use crate::provider::statement::{Witness, read_key};
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

    /// State every executed call, signed with the key in this file
    #[arg(long, requires_all = ["require_capability", "project", "provider", "acceptances"])]
    execution_key: Option<PathBuf>,

    /// The project that statements are about
    #[arg(long)]
    project: Option<ProjectId>,

    /// This provider's id in the registry
    #[arg(long)]
    provider: Option<ProviderId>,

    /// Where acceptances of statements are kept, one receipt a line
    #[arg(long)]
    acceptances: Option<PathBuf>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let pinned = arguments.issuer.zip(arguments.audience);
    let guard = arguments.require_capability.zip(pinned).map(|(keys, (issuer, audience))| {
        let pinned = Pinned { issuer, audience, env: arguments.env };
        Guard::new(pinned, KeySource::parse(&keys))
    });
    let mut provider = Provider::new(&arguments.folder, &arguments.log, guard)
        .with_context(|| format!("`{}` or `{}`", arguments.folder.display(), arguments.log.display()))?;
    let whose = arguments.project.zip(arguments.provider).zip(arguments.acceptances);
    if let Some((key, ((project, id), acceptances))) = arguments.execution_key.zip(whose) {
        let witness = Witness::new(read_key(&key)?, project, id, &acceptances)
            .with_context(|| format!("`{}`", acceptances.display()))?;
        provider = provider.stating(witness);
    }
    Ok(provider.serve(BufReader::new(stdin()), stdout()).await?)
}

/// `live` or `test`, for clap.
pub(super) fn environment(text: &str) -> Result<Environment, String> {
    let mut all = Environment::ALL.iter().copied();
    all.find(|env| env.as_str() == text).ok_or_else(|| "`live` or `test`".to_owned())
}
