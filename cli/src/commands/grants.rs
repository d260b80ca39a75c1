//! `counterfoil grants`: what people granted for a time, and taking it back.

use std::path::PathBuf;

use anyhow::bail;
use counterfoil_core::id::{AgentId, GrantId};
use counterfoil_core::statement::ServiceName;
use counterfoil_evidence::setup::{GrantChange, StandingGrant, WhichGrants};

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List grants that stand: grant, until, agent, what it allows, to what, its newest entry
    List {
        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
    /// Take grants away; what was judged by them is judged again
    Remove(Arguments),
    /// Let grants end sooner: so many minutes from now
    Shorten {
        #[arg(long)]
        minutes: u32,

        #[command(flatten)]
        arguments: Arguments,
    },
    /// Let grants stand longer: so many minutes from now, 5 to 43200
    Renew {
        #[arg(long)]
        minutes: u32,

        #[command(flatten)]
        arguments: Arguments,
    },
}

#[derive(clap::Args)]
pub struct Arguments {
    /// One grant, grt_…
    grant: Option<GrantId>,

    /// All of one agent, agt_…
    #[arg(long)]
    agent: Option<AgentId>,

    /// All of one service, such as `mail`
    #[arg(long)]
    service: Option<ServiceName>,

    /// 1 to 280 characters, for everybody to read, without an address
    #[arg(long)]
    reason: Option<String>,

    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List { dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            for grant in opened.setup.grants(opened.record.id).await? {
                println!("{}", line(&grant));
            }
            Ok(())
        }
        Command::Remove(arguments) => change(GrantChange::Remove, arguments).await,
        Command::Shorten { minutes, arguments } => change(GrantChange::Shorten { minutes }, arguments).await,
        Command::Renew { minutes, arguments } => change(GrantChange::Renew { minutes }, arguments).await,
    }
}

async fn change(change: GrantChange, arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { grant, agent, service, reason, dir } = arguments;
    let which = match (grant, agent, service) {
        (Some(grant), None, None) => WhichGrants::One(grant),
        (None, Some(agent), None) => WhichGrants::Agent(agent),
        (None, None, Some(service)) => WhichGrants::Service(service),
        _ => bail!("name one grant, or --agent, or --service"),
    };
    let opened = Opened::open(&Folder::open(&dir)?).await?;
    let said = (reason.as_deref(), OPERATOR);
    let changed = opened.setup.change_grants(opened.record.id, which, change, said).await?;
    for grant in &changed.grants {
        println!("{grant}");
    }
    println!("{} changed, up to entry {}", changed.grants.len(), changed.seq);
    Ok(())
}

/// One grant, in columns that a person and `cut` can read.
fn line(grant: &StandingGrant) -> String {
    let text = &grant.document;
    let noun = format!("{} {}", text.noun.noun_type, text.noun.value.escape_debug());
    let only = if text.fields.is_empty() { "" } else { " (with the same fields)" };
    let (id, until, agent, service, verb) = (text.grant, text.until, text.agent, &text.service, text.verb);
    format!("{id}\t{until}\t{agent}\t{service}.{verb}\t{noun}{only}\tentry {}", grant.seq)
}
