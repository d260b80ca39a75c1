//! `counterfoil retention`: how long bodies are kept; with `--days` from now on that long.
//!
//! A shorter time takes hold with the next sweep, within an hour; what it empties does not come back.

use std::path::PathBuf;

use counterfoil_core::statement::RetentionDays;

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Args)]
pub struct Arguments {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// Keep bodies for so many whole days after their own, 1 to 3650
    #[arg(long)]
    days: Option<RetentionDays>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let opened = Opened::open(&Folder::open(&arguments.dir)?).await?;
    let (setup, project) = (&opened.setup, opened.record.id);
    match arguments.days {
        None => println!("{} days", setup.retention_days(project).await?),
        Some(days) => {
            let seq = setup.keep_for(project, days, OPERATOR).await?;
            println!("{days} days from now on, as entry {seq} says");
        }
    }
    Ok(())
}
