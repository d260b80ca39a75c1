//! `counterfoil wrap -- <command>`: your own MCP server behind the gateway, with a draft of what may be called.
//!
//! Promised: the first run writes counterfoil.toml, registry.toml and rules.cedar, shows what it drafted and runs; later
//! runs and `counterfoil dev` use the files as they are by then.

use std::path::{Path, PathBuf};

use anyhow::Context;
use counterfoil_core::id::ProviderId;

use super::dev;
use crate::clock;
use crate::deployment::Folder;
use crate::deployment::listing::list_tools;
use crate::deployment::ports::PortArguments;
use crate::deployment::providers::ProviderPlan;
use crate::draft::{Added, Circumstances, Draft, Place, draft, folders_of, provider_id};

#[derive(clap::Args)]
pub struct Arguments {
    /// What the provider is called; otherwise a name from its command
    #[arg(long)]
    name: Option<ProviderId>,

    /// Where keys, configuration and the database live
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// Write and show the draft, and run nothing
    #[arg(long)]
    draft_only: bool,

    #[command(flatten)]
    ports: PortArguments,

    /// The server: a program and its arguments, as an agent host would start it
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut place = Place::open(Path::new("."))?;
    let plan = ProviderPlan::of(arguments.command.clone());
    match place.started_by(&plan) {
        Some(id) => println!("known      {id}: the files are used as they are"),
        None => add(&mut place, &plan, &arguments).await?,
    }
    if arguments.draft_only {
        return Ok(());
    }
    let plan = place.plan().to_owned();
    dev::run(dev::Arguments::of(arguments.dir, plan, arguments.ports)).await
}

async fn add(place: &mut Place, plan: &ProviderPlan, arguments: &Arguments) -> anyhow::Result<()> {
    let wish = arguments.name.clone().unwrap_or_else(|| provider_id(&arguments.command));
    let folder = Folder::open(&arguments.dir)?;
    let draft = drafted(place.free(&wish), plan, &folder).await?;
    match place.add(&draft, plan)? {
        Added::Drafted => {
            print!("{}", draft.shown());
            println!("written    counterfoil.toml registry.toml rules.cedar, for you to read and change");
            println!("until      {}: then everything is held, unless you wrote your own rules", draft.until);
        }
        Added::Classified => {
            println!("known      {}: your registry and rules stay as they are", draft.provider)
        }
    }
    Ok(())
}

/// Starts the server once, asks what it has, and drafts from that.
pub async fn drafted(id: ProviderId, plan: &ProviderPlan, folder: &Folder) -> anyhow::Result<Draft> {
    let listed = list_tools(plan).await.with_context(|| format!("provider `{id}`"))?;
    let at = plan.folder.as_deref().unwrap_or(Path::new("."));
    let circumstances = Circumstances {
        provider: id,
        now: clock::now(),
        folders: folders_of(&plan.command, at),
        kept: folder.path(),
    };
    Ok(draft(&listed, circumstances))
}
