//! `counterfoil page`: who may see the project's page; with `--visibility` from now on those.

use std::path::PathBuf;

use counterfoil_evidence::Visibility;

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Args)]
pub struct Arguments {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// private (only with the project's key), unlisted (whoever has the address, no search engine), or public
    #[arg(long)]
    visibility: Option<Visibility>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let opened = Opened::open(&Folder::open(&arguments.dir)?).await?;
    let (setup, project) = (&opened.setup, opened.record.id);
    match arguments.visibility {
        None => println!("{}", setup.visibility(project).await?),
        Some(visibility) => {
            let seq = setup.show_to(project, visibility, OPERATOR).await?;
            println!("{visibility} from now on, as entry {seq} says");
        }
    }
    Ok(())
}
