//! `counterfoil operators`: tokens of people who answer held calls and stop things.
//!
//! Whoever holds one is that operator; it is good on the console alone, never where agents ask.

use std::path::PathBuf;

use counterfoil_evidence::setup::{Kept, ListedOperator, Role};

use crate::deployment::Folder;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Make a token and show it this once
    New {
        /// A pseudonym: everything that is done with the token is public under it, for ever
        name: String,

        /// viewer sees; operator answers, changes grants and kills; admin resumes and opens windows too
        #[arg(long, default_value = "operator")]
        role: Role,

        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
    /// List tokens by name, oldest first
    List {
        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
    /// Take a token away
    Revoke {
        /// As it was made
        name: String,

        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::New { name, role, dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            let made = opened.setup.create_operator(opened.record.id, &name, (role, Kept::Apart)).await?;
            println!("{} (shown this once)", made.secret.reveal());
            Ok(())
        }
        Command::List { dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            for operator in opened.setup.operators(opened.record.id).await? {
                println!("{}", line(&operator));
            }
            Ok(())
        }
        Command::Revoke { name, dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            opened.setup.revoke_operator(opened.record.id, &name).await?;
            println!("revoked: the token of {name} is nobody's any more");
            Ok(())
        }
    }
}

/// One token, in columns that a person and `cut` can read.
fn line(operator: &ListedOperator) -> String {
    let kept = match operator.kept {
        Kept::Apart => "login",
        Kept::OnThisMachine => "local",
    };
    let ended = operator.revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {at}"));
    format!("{}\t{}\t{kept}\t{}\t{ended}", operator.behalf, operator.role, operator.created_at)
}
