//! `counterfoil policy`: what decides, from its files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use counterfoil_evidence::setup::{Attested, Publication};
use counterfoil_gateway::Config as GatewayConfig;
use counterfoil_policy::{Bundle, cases};

use crate::clock;
use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;
use crate::deployment::providers::{Plan, ProviderPlan, ProviderPlans};
use crate::deployment::publishing::{complain, pin_unpinned, read};
use crate::draft::{is_marked, without_marks};
use crate::package;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Run cases against registry and rules
    Test {
        /// The cases, TOML
        cases: PathBuf,

        #[command(flatten)]
        bundle: BundleFiles,
    },
    /// Evaluate past decisions under other rules, and print what would have come out otherwise
    Simulate {
        /// The rules' file
        rules: PathBuf,

        /// An evidence package made --with-rules
        #[arg(long)]
        package: PathBuf,

        /// The private half of the project's disclosure key, mode 0600
        #[arg(long)]
        disclosure_key: PathBuf,

        /// The keys that you pinned: a JWKS with iss, decision and log keys
        #[arg(long)]
        trust: PathBuf,
    },
    /// Check that registry and rules can be published
    Lint {
        #[command(flatten)]
        bundle: BundleFiles,
    },
    /// Publish the registry, the rules, or both
    Publish {
        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,

        /// The registry's file
        #[arg(long, required_unless_present = "rules")]
        registry: Option<PathBuf>,

        /// The rules' file
        #[arg(long)]
        rules: Option<PathBuf>,

        /// Why, for everybody to read
        #[arg(long, default_value = "published from files")]
        reason: String,
    },
    /// Write a pin beside every tool of a registry that has none, from the provider's own list
    Pin {
        /// The deployment whose gateway.toml says how providers are started
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,

        /// Or a counterfoil.toml that says it
        #[arg(long)]
        config: Option<PathBuf>,

        /// The registry's file, which is written
        #[arg(long)]
        registry: PathBuf,
    },
}

#[derive(clap::Args)]
pub struct BundleFiles {
    /// The registry's file
    #[arg(long)]
    registry: PathBuf,

    /// The rules' file
    #[arg(long)]
    rules: PathBuf,
}

pub async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Test { cases, bundle } => test(&cases, &bundle),
        Command::Simulate { rules, package, disclosure_key, trust } => {
            simulate(&rules, &package, &disclosure_key, &trust)
        }
        Command::Lint { bundle } => lint(&bundle),
        Command::Publish { dir, registry, rules, reason } => {
            publish(&Folder::open(&dir)?, registry.as_deref(), rules.as_deref(), &reason).await
        }
        Command::Pin { dir, config, registry } => pin(&dir, config.as_deref(), &registry).await,
    }
}

fn test(cases_file: &Path, files: &BundleFiles) -> anyhow::Result<ExitCode> {
    let bundle = compile(files)?;
    let report = cases::run(&bundle, &read(cases_file)?, clock::now());
    let report = report.map_err(|error| complain(cases_file, &[error]))?;
    println!("{report}");
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What does not verify is not worth evaluating: the package is checked first, as `verify` does.
fn simulate(rules: &Path, package: &Path, key: &Path, trust: &Path) -> anyhow::Result<ExitCode> {
    let text = read(rules)?;
    let keys = package::pinned(trust, &[])?;
    let simulated = package::simulate(package, &keys, key, &text)?;
    let _ = std::io::stdout().write_all(simulated.lines().as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn lint(files: &BundleFiles) -> anyhow::Result<ExitCode> {
    let bundle = compile(files)?;
    bundle.publishable(clock::now()).map_err(|errors| complain(&files.rules, &errors))?;
    println!("{} rules, {}", bundle.rules().len(), bundle.digest());
    Ok(ExitCode::SUCCESS)
}

fn compile(files: &BundleFiles) -> anyhow::Result<Bundle> {
    let (registry, rules) = (read(&files.registry)?, read(&files.rules)?);
    Bundle::compile(&registry, &rules).map_err(|errors| complain(&files.rules, &errors))
}

/// The registry first: rules speak of what it names.
async fn publish(
    folder: &Folder,
    registry: Option<&Path>,
    rules: Option<&Path>,
    reason: &str,
) -> anyhow::Result<ExitCode> {
    let opened = Opened::open(folder).await?;
    let project = opened.record.id;
    let by = || Attested { behalf: OPERATOR, reason: Some(reason) };
    for path in [registry, rules].into_iter().flatten() {
        remove_marks(path)?;
    }
    if let Some(path) = registry {
        let published = opened.setup.publish_registry(project, &read(path)?, by()).await?;
        println!("registry is entry {}{}", published.seq, bundle_in_force(&published));
    }
    if let Some(path) = rules {
        let published = opened.setup.publish_rules(project, &read(path)?, by()).await?;
        println!("rules are entry {}{}", published.seq, bundle_in_force(&published));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whoever publishes a draft by name says that they read it.
fn remove_marks(path: &Path) -> anyhow::Result<()> {
    let text = read(path)?;
    if is_marked(&text) {
        std::fs::write(path, without_marks(&text)).with_context(|| format!("`{}`", path.display()))?;
        println!("{} is a draft no longer", path.display());
    }
    Ok(())
}

fn bundle_in_force(published: &Publication) -> String {
    match published.policy {
        Some(policy) => format!("; bundle {policy}"),
        None => "; nothing decides until registry and rules are both published".to_owned(),
    }
}

async fn pin(dir: &Path, config: Option<&Path>, registry: &Path) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(dir)?;
    let providers = match config {
        Some(path) => Plan::from_file(path)?.providers,
        None => started_by(&folder)?,
    };
    if providers.is_empty() {
        bail!("nothing says how a provider is started");
    }
    let pinned = pin_unpinned(registry, &providers, &folder).await?;
    for pinned in &pinned {
        println!("{} {} {}", pinned.provider, pinned.tool, pinned.pin);
    }
    println!("{} pins written to {}", pinned.len(), registry.display());
    Ok(ExitCode::SUCCESS)
}

/// As the gateway starts them.
fn started_by(folder: &Folder) -> anyhow::Result<ProviderPlans> {
    let config = GatewayConfig::from_file(&folder.gateway_config())?;
    let plans = config.providers.into_iter().map(|(id, provider)| {
        let plan = ProviderPlan {
            command: provider.command,
            url: provider.url,
            sealed_headers: provider.sealed_headers,
            headers_env: provider.headers_env,
            env: provider.env.variables().clone(),
            env_file: None,
            folder: provider.folder,
            sharing: Some(provider.sharing),
            ceiling_seconds: Some(provider.ceiling_seconds),
        };
        (id, plan)
    });
    Ok(plans.collect())
}
