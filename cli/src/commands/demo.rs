//! `counterfoil demo`: starts everything in a folder of its own, shows three calls, checks what they left behind.
//!
//! `--once` ends after the steps and exits 0 only if every one held; otherwise everything stays up until Ctrl-C.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;

use super::dev::asked_to_stop;
use crate::demo::{Scene, play, stop_everything};
use crate::deployment::Folder;
use crate::deployment::config::HoldWait;
use crate::deployment::ports::PortArguments;
use crate::deployment::project::ProjectRecord;
use crate::deployment::source::{DEMO_PROVIDER, Source};
use crate::deployment::standing::Standing;

#[derive(clap::Args)]
pub struct Arguments {
    /// End after the steps
    #[arg(long)]
    once: bool,

    /// A new folder to do it in, which is kept; otherwise a temporary one, which is not
    #[arg(long)]
    dir: Option<PathBuf>,

    #[command(flatten)]
    ports: PortArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    crate::log::to_standard_error();
    let folder = match &arguments.dir {
        Some(path) => Folder::open(path)?,
        None => Folder::temporary()?,
    };
    ensure!(
        ProjectRecord::find(&folder)?.is_none(),
        "`{}` holds a deployment already",
        folder.path().display()
    );
    // Whoever stops it half-way leaves nothing behind either: what was begun is dropped.
    let (mut standing, held) = tokio::select! {
        shown = show(&arguments, &folder) => shown?,
        stopped = asked_to_stop() => {
            stopped?;
            return Ok(ExitCode::FAILURE);
        }
    };
    if !arguments.once {
        print!("{}", links(&standing, &folder));
        tokio::select! {
            error = standing.failed() => return Err(error),
            stopped = asked_to_stop() => stopped?,
        }
    }
    standing.stop().await?;
    if folder.is_temporary() {
        println!("{} goes now; `--dir <folder>` keeps one", folder.path().display());
    }
    println!("{}", if held { "every step held" } else { "a step did not hold" });
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The deployment, still running, and whether every step held.
async fn show(arguments: &Arguments, folder: &Folder) -> anyhow::Result<(Standing, bool)> {
    let ports = if arguments.once { PortArguments::any() } else { arguments.ports };
    println!("starting a database, the evidence service and the gateway");
    let standing = Standing::start(folder, &Source::Demo, ports.settle()?, HoldWait::millis(0)).await?;
    let held = match Scene::open(&standing, folder).await {
        Ok(mut scene) => {
            let held = play(&mut scene).await;
            // Whoever stays wants to try it.
            if arguments.once { stop_everything(&mut scene).await && held } else { held }
        }
        Err(error) => {
            println!("  FAIL  connected {error:#}");
            false
        }
    };
    Ok((standing, held))
}

fn links(standing: &Standing, folder: &Folder) -> String {
    let receipts = folder.path().join("receipts");
    let receipts = receipts.display();
    let key = standing.api_key.as_ref().map_or("", |key| key.as_str());
    [
        String::new(),
        format!("page     {}", standing.page()),
        format!(
            "keys     {}{}/gateway-jwks.json",
            standing.ports.gateway_url(),
            standing.record.issuer.page_path()
        ),
        format!("verify   counterfoil verify {receipts}/<seq>.json --trust {receipts}/trust.json"),
        format!("         counterfoil verify {receipts}/package.zip --trust {receipts}/trust.json --held {receipts}"),
        format!(
            "try it   {}/mcp/{DEMO_PROVIDER} with `Authorization: Bearer {key}`",
            standing.ports.gateway_url()
        ),
        "\nCtrl-C stops everything.\n".to_owned(),
    ]
    .join("\n")
}
