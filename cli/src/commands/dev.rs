//! `counterfoil dev`: database, evidence service and gateway on this machine, for development.
//!
//! Not promised: protection from other programs of the same user. In `dev` a local process can do what you can.

use std::path::{Path, PathBuf};

use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::{Kept, Role, Setup};
use counterfoil_jwks::file;
use tokio::signal::unix::{SignalKind, signal};

use zeroize::Zeroizing;

use crate::deployment::Folder;
use crate::deployment::config::HoldWait;
use crate::deployment::founding::OPERATOR;
use crate::deployment::ports::PortArguments;
use crate::deployment::source::Source;
use crate::deployment::standing::Standing;
use crate::hosts::{Access, ready_to_paste};

/// Read when it is there and nothing else was named.
const PLAN: &str = "counterfoil.toml";

#[derive(clap::Args)]
pub struct Arguments {
    /// Where keys, configuration and the database live
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// Providers, registry and rules; without counterfoil.toml, the demo's
    #[arg(long)]
    config: Option<PathBuf>,

    #[command(flatten)]
    ports: PortArguments,

    /// Where people answer held calls (0: any free port) [default: 8790, or any that is free]
    #[arg(long)]
    console_port: Option<u16>,
}

impl Arguments {
    /// As if they had been typed.
    pub fn of(dir: PathBuf, config: PathBuf, ports: PortArguments) -> Self {
        Self { dir, config: Some(config), ports, console_port: None }
    }
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    crate::log::to_standard_error();
    let folder = Folder::open(&arguments.dir)?;
    let source = match &arguments.config {
        Some(path) => Source::from_file(path)?,
        None if Path::new(PLAN).exists() => Source::from_file(Path::new(PLAN))?,
        None => Source::Demo,
    };
    let ports = arguments.ports.settle()?.with_console(arguments.console_port)?;
    let mut standing = Standing::start(&folder, &source, ports, HoldWait::from_environment()?).await?;
    keep_operator(&standing, &folder).await?;
    let key_file = source.key_file();
    if let Some(path) = key_file {
        keep_key(&standing, &folder, path).await?;
    }
    print!("{}", announcement(&standing, &folder, key_file)?);

    tokio::select! {
        error = standing.failed() => return Err(error),
        stopped = asked_to_stop() => stopped?,
    }
    eprintln!("stopping");
    standing.stop().await
}

/// Ctrl-C, or a polite kill.
pub async fn asked_to_stop() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Writes the first agent's key where the plan wants it. A deployment that was made before gets another one.
async fn keep_key(standing: &Standing, folder: &Folder, path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let key = match &standing.api_key {
        Some(key) => key.clone(),
        None => {
            let setup = Setup::open(&Config::from_file(&folder.evidence_config())?).await?;
            let made = setup.create_api_key(standing.record.id, standing.record.agent, None).await?;
            Zeroizing::new(made.secret.reveal().to_owned())
        }
    };
    Ok(file::write_new(path, format!("{}\n", key.as_str()).as_bytes())?)
}

/// A token for whoever runs this, in a file of mode 0600. No more is promised of it than that: every program of this user
/// can read the file, so what is answered with it is marked `local`.
async fn keep_operator(standing: &Standing, folder: &Folder) -> anyhow::Result<()> {
    let path = folder.operator_token();
    if path.exists() {
        return Ok(());
    }
    let setup = Setup::open(&Config::from_file(&folder.evidence_config())?).await?;
    let project = standing.record.id;
    let lost = setup.operators(project).await?;
    if lost.iter().any(|operator| operator.behalf == OPERATOR && operator.revoked_at.is_none()) {
        setup.revoke_operator(project, OPERATOR).await?;
    }
    let made = setup.create_operator(project, OPERATOR, (Role::Admin, Kept::OnThisMachine)).await?;
    Ok(file::write_new(&path, format!("{}\n", made.secret.reveal()).as_bytes())?)
}

fn announcement(standing: &Standing, folder: &Folder, key_file: Option<&Path>) -> anyhow::Result<String> {
    let record = &standing.record;
    let mut lines = vec![
        format!("project    {} ({})", record.issuer, record.id),
        format!("page       {}", standing.page()),
        format!("gateway    {}", standing.ports.gateway_url()),
        format!("files      {}", folder.path().display()),
    ];
    if let Some(console) = standing.ports.console {
        lines.push(format!("console    http://{console}/"));
        lines.push(format!(
            "operator   token in {}: every program of this user can read it, so answers by it are marked `local`",
            folder.operator_token().display()
        ));
    }
    for pinned in &standing.pinned {
        lines.push(format!("pinned     {} {} {}", pinned.provider, pinned.tool, pinned.pin));
    }
    if standing.published.registry {
        lines.push("published  registry".to_owned());
    }
    if standing.published.rules {
        lines.push("published  rules".to_owned());
    }
    let key = match (&standing.api_key, key_file) {
        (_, Some(path)) => {
            lines.push(format!("API key    in {}, for its owner alone", path.display()));
            "cfk_…"
        }
        (Some(key), None) => {
            lines.push(format!(
                "disclosure {} is yours alone: what it opens, nobody else can",
                folder.disclosure_key().display()
            ));
            lines.push(format!("API key    {} (shown this once)", key.as_str()));
            key.as_str()
        }
        (None, None) => {
            lines.push("API key    shown when it was made; `counterfoil keys new` makes another".to_owned());
            "cfk_…"
        }
    };

    let program = std::env::current_exe()?;
    let gateway = standing.ports.gateway_url();
    for id in standing.providers.keys() {
        let access = Access { gateway: &gateway, provider: id.as_str(), program: &program, key };
        lines.push(format!("\nto use `{id}` from\n\n{}", ready_to_paste(&access).trim_end()));
    }
    lines.push("\nCtrl-C stops everything.\n".to_owned());
    Ok(lines.join("\n"))
}
