//! `counterfoil wrap -- <command>`, `counterfoil wrap <url>`: your own MCP server behind the gateway, with a draft of what
//! may be called.
//!
//! Promised: the first run writes counterfoil.toml, registry.toml and rules.cedar, shows what it drafted and runs; later
//! runs and `counterfoil dev` use the files as they are by then. Values of headers are sealed, and stand in no file.

use std::path::{Path, PathBuf};

use counterfoil_core::id::ProviderId;

use super::dev;
use super::server::Server;
use crate::clock;
use crate::deployment::listing::{HeadersFrom, list_tools};
use crate::deployment::ports::PortArguments;
use crate::deployment::providers::ProviderPlan;
use crate::deployment::{Folder, credentials};
use crate::draft::{Added, Circumstances, Draft, Place, draft, folders_of};

#[derive(clap::Args)]
pub struct Arguments {
    /// What the provider is called; otherwise a name from its command or address
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

    #[command(flatten)]
    server: Server,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut place = Place::open(Path::new("."))?;
    let plan = arguments.server.plan();
    let known = place.reached_by(&plan).next().cloned();
    match known {
        Some(id) => {
            println!("known      {id}: the files are used as they are");
            seal(&id, &plan, &arguments)?;
        }
        None => add(&mut place, &plan, &arguments).await?,
    }
    if arguments.draft_only {
        return Ok(());
    }
    let plan = place.plan().to_owned();
    dev::run(dev::Arguments::of(arguments.dir, plan, arguments.ports)).await
}

async fn add(place: &mut Place, plan: &ProviderPlan, arguments: &Arguments) -> anyhow::Result<()> {
    let wish = arguments.name.clone().unwrap_or_else(|| arguments.server.id());
    let folder = Folder::open(&arguments.dir)?;
    let values = arguments.server.headers()?;
    let draft = drafted(place.free(&wish), plan, HeadersFrom::Hand(&values), &folder).await?;
    seal(&draft.provider, plan, arguments)?;
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

/// The values that the command line brought, so that the gateway finds them.
fn seal(id: &ProviderId, plan: &ProviderPlan, arguments: &Arguments) -> anyhow::Result<()> {
    let (Some(url), values) = (&plan.url, arguments.server.headers()?) else { return Ok(()) };
    credentials::seal(&Folder::open(&arguments.dir)?, id, url, &values)?;
    for name in values.keys() {
        println!("sealed     {id} {name}");
    }
    Ok(())
}

/// Asks the server what it has, and drafts from that.
pub async fn drafted(
    id: ProviderId,
    plan: &ProviderPlan,
    headers: HeadersFrom<'_>,
    folder: &Folder,
) -> anyhow::Result<Draft> {
    let listed = list_tools(&id, plan, headers).await?;
    let at = plan.folder.as_deref().unwrap_or(Path::new("."));
    let circumstances = Circumstances {
        provider: id,
        now: clock::now(),
        folders: folders_of(&plan.command, at),
        kept: folder.path(),
    };
    Ok(draft(&listed, circumstances))
}
