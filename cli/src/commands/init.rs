//! `counterfoil init`: makes a deployment in a folder and shows its API key once.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use counterfoil_core::issuer::Host;
use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::{self, Setup};
use counterfoil_jwks::Mode;
use serde_json::json;

use crate::clock;
use crate::deployment::Folder;
use crate::deployment::config::HoldWait;
use crate::deployment::database::{Database, NAME};
use crate::deployment::founding::{FirstKey, Founded, Wish, found};
use crate::deployment::ports::{PortArguments, Ports};
use crate::deployment::project::{DatabaseKind, ProjectRecord};
use crate::deployment::providers::ProviderPlans;
use crate::deployment::publishing::{import_execution_keys, pin_unpinned, publish_changed};
use crate::deployment::source::Source;
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

    /// Make no API key: `counterfoil keys new` makes it later, where nothing keeps what is printed
    #[arg(long)]
    no_key: bool,

    /// When the folder holds a deployment already, only bring its database up to date
    #[arg(long)]
    keep: bool,

    /// With the demo's provider, registry and rules
    #[arg(long)]
    demo: bool,

    /// Where agents and readers reach the two services; what the services say to each other stays on 127.0.0.1
    #[arg(long, default_value = "127.0.0.1")]
    listen: IpAddr,

    /// Where people answer held calls, like 127.0.0.1:8790; without it there is no console
    #[arg(long)]
    console: Option<SocketAddr>,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ports: PortArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let folder = Folder::open(&arguments.dir)?;
    if arguments.keep && ProjectRecord::find(&folder)?.is_some() {
        setup::migrate(&Config::from_file(&folder.evidence_config())?).await?;
        println!("kept       {}", folder.path().display());
        return Ok(());
    }
    let (kind, database) = match &arguments.database {
        Some(url) => {
            let password = arguments.database_password_file.as_deref();
            (DatabaseKind::Given, Database::given(url, &arguments.database_name, password)?)
        }
        None => (DatabaseKind::Managed, Database::managed(&folder)?),
    };
    let ports = arguments.ports.settle()?.reached_at(arguments.listen);
    let ports = Ports { console: arguments.console, ..ports };
    let host = arguments.host.to_string();
    let wish = Wish {
        host: &host,
        mode: arguments.mode,
        project: &arguments.project,
        agent: &arguments.agent,
        database: kind,
        first_key: if arguments.no_key { FirstKey::Later } else { FirstKey::Made },
    };
    let founded = found(&folder, &wish, &database, &ports).await?;
    let providers = match arguments.demo {
        true => demo(&folder, &founded.record, &ports).await?,
        false => ProviderPlans::new(),
    };
    write_gateway_config(
        &folder,
        &founded.record,
        arguments.mode,
        &ports,
        (&providers, HoldWait::from_environment()?),
    )?;

    if arguments.json {
        println!("{:#}", report(&founded, &folder));
    } else {
        print_lines(&founded, &folder);
    }
    Ok(())
}

/// Pins and publishes the demo's registry and rules.
async fn demo(folder: &Folder, record: &ProjectRecord, ports: &Ports) -> anyhow::Result<ProviderPlans> {
    let source = Source::Demo;
    source.prepare(folder, clock::now())?;
    let providers = source.providers(folder, record, ports)?;
    pin_unpinned(&folder.registry(), &providers, folder).await?;
    let setup = Setup::open(&Config::from_file(&folder.evidence_config())?).await?;
    import_execution_keys(&source.execution_keys(folder)?, record.id, &setup).await?;
    publish_changed(&folder.registry(), &folder.rules(), record.id, None, &setup).await?;
    Ok(providers)
}

fn report(founded: &Founded, folder: &Folder) -> serde_json::Value {
    json!({
        "project": founded.record.id,
        "issuer": founded.record.issuer,
        "agent": founded.record.agent,
        "api_key": founded.api_key.as_ref().map(|key| key.as_str()),
        "evidence_config": folder.evidence_config(),
        "gateway_config": folder.gateway_config(),
        "disclosure_key": folder.disclosure_key(),
    })
}

fn print_lines(founded: &Founded, folder: &Folder) {
    let record = &founded.record;
    println!("project    {} ({})", record.issuer, record.id);
    println!("agent      {} ({})", record.agent_name, record.agent);
    match &founded.api_key {
        Some(key) => println!("API key    {} (shown this once)", key.as_str()),
        None => println!("API key    none yet: counterfoil keys new --dir {}", folder.path().display()),
    }
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
