//! `counterfoil breakglass` and `counterfoil shadow`: for a while, and in public.

use std::path::PathBuf;

use counterfoil_evidence::setup::{Attested, Turn, Window};

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Open it for some minutes; it ends by itself
    Open {
        /// At most a day for breakglass, 30 days for shadow
        #[arg(long)]
        minutes: u32,

        #[command(flatten)]
        how: How,
    },
    /// Close it before its time
    Close {
        #[command(flatten)]
        how: How,
    },
}

#[derive(clap::Args)]
pub struct How {
    /// 1 to 280 characters, for everybody to read, without an address
    #[arg(long)]
    reason: String,

    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,
}

pub async fn run(command: Command, window: Window) -> anyhow::Result<()> {
    let (turn, how) = match command {
        Command::Open { minutes, how } => (Turn::Open { minutes }, how),
        Command::Close { how } => (Turn::Close, how),
    };
    let opened = Opened::open(&Folder::open(&how.dir)?).await?;
    let by = Attested { behalf: OPERATOR, reason: Some(&how.reason) };
    let (in_force, at) = opened.setup.turn_window(opened.record.id, window, turn, by).await?;
    let (name, seq) = (window.name(), in_force.seq);
    match turn {
        Turn::Open { .. } => println!("{name} window open until {at}, as entry {seq} says"),
        Turn::Close => println!("{name} window closed, as entry {seq} says"),
    }
    Ok(())
}
