//! `counterfoil init`: makes a deployment in a folder and shows its API key once.

use std::path::PathBuf;

use counterfoil_core::issuer::Host;
use counterfoil_jwks::Mode;
use serde_json::json;

use crate::deployment::Folder;
use crate::deployment::database::{Database, NAME};
use crate::deployment::founding::{Founded, Wish, found};
use crate::deployment::ports::PortArguments;
use crate::deployment::project::DatabaseKind;
use crate::deployment::providers::ProviderPlans;
use crate::deployment::standing::write_gateway_config;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where to make it; the folder is made if it is not there
    #[arg(long)]
    dir: PathBuf,

    /// The host in every identity of this deployment, chosen once: lower-case, no port
    #[arg(long, default_value = "counterfoil.localhost")]
    host: Host,

    /// `production` refuses to run with sample keys
    #[arg(long, default_value = "dev", value_parser = mode)]
    mode: Mode,

    /// A name for the project
    #[arg(long, default_value = "demo")]
    project: String,

    /// A name for the first agent
    #[arg(long, default_value = "agent")]
    agent: String,

    /// A Postgres 15 to 18 to use, as somebody who may make roles and databases, such as
    /// `host=/run/postgresql user=postgres`; without it the folder gets a cluster of its own
    #[arg(long)]
    database: Option<String>,

    /// The database's name
    #[arg(long, default_value = NAME, requires = "database")]
    database_name: String,

    /// A file of mode 0600 with the password of the services' roles, where the database wants one
    #[arg(long, requires = "database")]
    database_password_file: Option<PathBuf>,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ports: PortArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let folder = Folder::open(&arguments.dir)?;
    let (kind, database) = match &arguments.database {
        Some(url) => {
            let password = arguments.database_password_file.as_deref();
            (DatabaseKind::Given, Database::given(url, &arguments.database_name, password)?)
        }
        None => (DatabaseKind::Managed, Database::managed(&folder)?),
    };
    let ports = arguments.ports.settle()?;
    let host = arguments.host.to_string();
    let wish = Wish {
        host: &host,
        mode: arguments.mode,
        project: &arguments.project,
        agent: &arguments.agent,
        database: kind,
    };
    let founded = found(&folder, &wish, &database, &ports).await?;
    write_gateway_config(&folder, &founded.record, arguments.mode, &ports, &ProviderPlans::new())?;

    if arguments.json {
        println!("{:#}", report(&founded, &folder));
    } else {
        print_lines(&founded, &folder);
    }
    Ok(())
}

fn report(founded: &Founded, folder: &Folder) -> serde_json::Value {
    json!({
        "project": founded.record.id,
        "issuer": founded.record.issuer,
        "agent": founded.record.agent,
        "api_key": founded.api_key.as_str(),
        "evidence_config": folder.evidence_config(),
        "gateway_config": folder.gateway_config(),
        "disclosure_key": folder.disclosure_key(),
    })
}

fn print_lines(founded: &Founded, folder: &Folder) {
    let record = &founded.record;
    println!("project    {} ({})", record.issuer, record.id);
    println!("agent      {} ({})", record.agent_name, record.agent);
    println!("API key    {} (shown this once)", founded.api_key.as_str());
    println!(
        "disclosure {} is yours alone: what it opens, nobody else can",
        folder.disclosure_key().display()
    );
    match record.database {
        DatabaseKind::Managed => println!("next       counterfoil dev --dir {}", folder.path().display()),
        DatabaseKind::Given => {
            println!("next       counterfoil-evidence {}", folder.evidence_config().display());
            println!("           counterfoil-gateway {}", folder.gateway_config().display());
        }
    }
    println!("           registry and rules: counterfoil policy publish --dir {}", folder.path().display());
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "dev" => Ok(Mode::Dev),
        "production" => Ok(Mode::Production),
        _ => Err("`dev` or `production`".to_owned()),
    }
}
