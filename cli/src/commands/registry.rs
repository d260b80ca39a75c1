//! `counterfoil registry`: a first registry from a server's own list, and what has changed since one was written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use counterfoil_gateway::Config as GatewayConfig;
use counterfoil_policy::{Provider, Registry, pin_of};
use serde_json::Value;

use super::server::Server;
use super::wrap::drafted;
use crate::deployment::Folder;
use crate::deployment::listing::{HeadersFrom, list_tools};
use crate::deployment::project::ProjectRecord;
use crate::deployment::providers::Plan;
use crate::deployment::publishing::{complain, in_force, read};
use crate::draft::{PLAN, is_marked};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Print a draft for a server that is not in the registry yet; annotations are hints in it
    Draft {
        /// What the provider is called; otherwise a name from its command or address
        #[arg(long)]
        name: Option<ProviderId>,

        /// Print drafted rules instead: reads alone, for 24 hours
        #[arg(long)]
        rules: bool,

        /// The deployment's folder, which no drafted allow reaches
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,

        #[command(flatten)]
        server: Server,
    },
    /// Compare a registry with what its providers list now, or with the published one; exit 1 where they differ
    Diff {
        /// Providers and their registry
        #[arg(long, default_value = PLAN)]
        config: PathBuf,

        /// Say instead what publishing the file would change: of which tools the class, nouns, pin, dimensions, risk. Asks
        /// the running evidence service
        #[arg(long)]
        published: bool,

        /// With --published: the registry's file, where no plan names it
        #[arg(long, requires = "published")]
        registry: Option<PathBuf>,

        /// The deployment's folder, where headers are sealed
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
}

pub async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Draft { name, rules, dir, server } => {
            let id = name.unwrap_or_else(|| server.id());
            let values = server.headers()?;
            let folder = Folder::open(&dir)?;
            let draft = drafted(id, &server.plan(), HeadersFrom::Hand(&values), &folder).await?;
            print!("{}", if rules { draft.rules_section() } else { draft.registry_section() });
            Ok(ExitCode::SUCCESS)
        }
        Command::Diff { config, published: true, registry, dir } => {
            let file = match registry {
                Some(file) => file,
                None => Plan::from_file(&config)?.registry,
            };
            from_published(&file, &dir).await
        }
        Command::Diff { config, dir, .. } => diff(&config, &dir).await,
    }
}

async fn diff(config: &Path, dir: &Path) -> anyhow::Result<ExitCode> {
    let plan = Plan::from_file(config)?;
    let registry = Registry::parse(&read(&plan.registry)?).map_err(|e| complain(&plan.registry, &e))?;
    let folder = Folder::open(dir)?;
    let mut lines = Vec::new();
    for (id, provider) in &plan.providers {
        let listed = list_tools(id, provider, HeadersFrom::Deployment(&folder)).await?;
        lines.extend(differences(id, registry.provider(id.as_str()), &listed));
    }
    for line in &lines {
        println!("{line}");
    }
    if lines.is_empty() {
        println!("the registry knows every tool as it is listed now");
    }
    Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What publishing the file would change. A draft says that it is one: nobody has read it yet.
async fn from_published(file: &Path, dir: &Path) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(dir)?;
    let text = read(file)?;
    let drafted = Registry::parse(&text).map_err(|e| complain(file, &e))?;
    let gateway = GatewayConfig::from_file(&folder.gateway_config())?;
    let record = ProjectRecord::of(&folder)?;
    let snapshot = in_force(&folder, &gateway.evidence_url, record.id)
        .await
        .context("the evidence service did not say what is published")?;
    let published = match &snapshot.documents {
        Some(documents) => Registry::parse(&documents.registry).map_err(|e| complain(file, &e))?,
        None => Registry::parse("v = 1\n").map_err(|e| complain(file, &e))?,
    };
    let found = published.differences(&drafted);
    if is_marked(&text) {
        println!("draft      {}: a person has yet to read and publish it", file.display());
    }
    for difference in &found {
        println!("{difference}");
    }
    if found.is_empty() {
        println!("the published registry says the same");
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One line for each tool that a gateway would hold, or that is there no more.
fn differences(id: &ProviderId, known: Option<&Provider>, listed: &[Value]) -> Vec<String> {
    let now: BTreeMap<&str, &Value> =
        listed.iter().filter_map(|tool| Some((tool["name"].as_str()?, tool))).collect();
    let mut lines = Vec::new();
    for (name, tool) in &now {
        let name = name.escape_debug();
        match known.and_then(|provider| provider.tool(&name.to_string())) {
            None => lines.push(format!("unknown    {id} {name}: held until the registry says what it is")),
            Some(entry) => match entry.pin() {
                None => lines.push(format!("unpinned   {id} {name}: held until it is pinned")),
                Some(pin) if pin == pin_of(tool) => {}
                Some(pin) => lines.push(format!("changed    {id} {name}: {pin} is {} now", pin_of(tool))),
            },
        }
    }
    let gone = known.into_iter().flat_map(Provider::tools).map(|tool| tool.name().as_str());
    lines.extend(gone.filter(|name| !now.contains_key(name)).map(|name| format!("gone       {id} {name}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// G2: what a gateway would hold is named before it does.
    #[test]
    fn a_registry_is_compared_tool_by_tool() {
        let same = json!({ "name": "same" });
        let pin = pin_of(&same);
        let entry = "service = \"s\"\nverb = \"read\"\nnouns = [{ type = \"tool\" }]\n";
        let tool = |name: &str, pin: &str| format!("[provider.p.tool.{name}]\n{entry}{pin}\n");
        let pinned = format!("pin = \"{pin}\"");
        let text = format!(
            "v = 1\n{}{}{}{}",
            tool("same", &pinned),
            tool("changed", &pinned),
            tool("loose", ""),
            tool("gone", &pinned)
        );
        let registry = Registry::parse(&text).unwrap();
        let listed =
            [same, json!({ "name": "changed" }), json!({ "name": "loose" }), json!({ "name": "new" })];
        let id = "p".parse().unwrap();

        let lines = differences(&id, registry.provider("p"), &listed);

        let heads: Vec<String> = lines.iter().map(|line| line[..11].trim().to_owned()).collect();
        assert_eq!(heads, ["changed", "unpinned", "unknown", "gone"]);
        assert!(differences(&id, registry.provider("p"), &listed[..1]).iter().all(|l| l.starts_with("gone")));
    }
}
