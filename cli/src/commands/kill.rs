//! `counterfoil kill` and `counterfoil resume`.
//!
//! A kill is one commit: whatever is recorded after it is no ALLOW, on any replica. A resumption is an act of its own, and
//! brings back neither grants nor held calls.

use std::path::PathBuf;
use std::process::ExitCode;

use counterfoil_core::id::{AgentId, KeyId};
use counterfoil_core::statement::{Environment, Scope};
use counterfoil_evidence::setup::Attested;

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Args)]
pub struct Kill {
    #[command(flatten)]
    what: What,

    /// Every project of the deployment, one after another
    #[arg(long, conflicts_with_all = ["agent", "connection", "environment"])]
    all: bool,

    #[command(flatten)]
    how: How,
}

#[derive(clap::Args)]
pub struct Resume {
    #[command(flatten)]
    what: What,

    #[command(flatten)]
    how: How,
}

/// The whole project where none of them is named.
#[derive(clap::Args)]
#[group(multiple = false)]
struct What {
    /// One agent: agt_…
    #[arg(long)]
    agent: Option<AgentId>,

    /// All calls that come by one API key: key_…
    #[arg(long)]
    connection: Option<KeyId>,

    /// `live` or `test`
    #[arg(long, value_parser = environment)]
    environment: Option<Environment>,
}

#[derive(clap::Args)]
struct How {
    /// 1 to 280 characters, for everybody to read, without an address
    #[arg(long)]
    reason: Option<String>,

    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,
}

impl What {
    fn scope(&self) -> Option<Scope> {
        let agent = self.agent.map(Scope::Agent);
        let connection = self.connection.map(Scope::Connection);
        agent.or(connection).or(self.environment.map(Scope::Environment))
    }
}

impl How {
    async fn open(&self) -> anyhow::Result<Opened> {
        Opened::open(&Folder::open(&self.dir)?).await
    }

    fn by(&self) -> Attested<'_> {
        Attested { behalf: OPERATOR, reason: self.reason.as_deref() }
    }
}

fn environment(text: &str) -> Result<Environment, String> {
    let found = Environment::ALL.iter().find(|environment| environment.as_str() == text);
    found.copied().ok_or_else(|| format!("`{text}` is neither `live` nor `test`"))
}

pub async fn kill(arguments: Kill) -> anyhow::Result<ExitCode> {
    let opened = arguments.how.open().await?;
    if arguments.all {
        return all(&opened, arguments.how.by()).await;
    }
    let scope = arguments.what.scope();
    let killed = opened.setup.kill_in(opened.record.id, scope.clone(), arguments.how.by()).await?;
    println!("killed {}, as entry {} says", named(scope.as_ref()), killed.seq);
    println!("nothing of it is allowed from that entry on; `counterfoil resume` is a separate act");
    Ok(ExitCode::SUCCESS)
}

pub async fn resume(arguments: Resume) -> anyhow::Result<ExitCode> {
    let opened = arguments.how.open().await?;
    let scope = arguments.what.scope();
    let resumed = opened.setup.resume(opened.record.id, scope.clone(), arguments.how.by()).await?;
    println!("resumed {}, as entry {} says", named(scope.as_ref()), resumed.seq);
    Ok(ExitCode::SUCCESS)
}

/// One line a project. Fails when one could not be killed, after all were tried.
async fn all(opened: &Opened, by: Attested<'_>) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for reported in opened.setup.kill_all(by).await? {
        match reported.outcome {
            Ok(killed) => println!("{}\tkilled\tentry {}", reported.project, killed.seq),
            Err(error) => {
                println!("{}\tNOT killed\t{error}", reported.project);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn named(scope: Option<&Scope>) -> String {
    scope.map_or_else(|| "the project".to_owned(), ToString::to_string)
}
