//! The three files of a folder: counterfoil.toml, registry.toml, rules.cedar.
//!
//! Promised: what stands there already is kept as it is, and added to; what would not load afterwards is not written.
//! Not promised: that the three change at once. A provider counts when counterfoil.toml, written last, names it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use counterfoil_core::id::ProviderId;
use counterfoil_policy::{Bundle, Registry};
use serde::Serialize;

use super::Draft;
use crate::deployment::providers::{Plan, ProviderPlan, ProviderPlans};
use crate::deployment::publishing::complain;

pub const PLAN: &str = "counterfoil.toml";

const PLAN_HEAD: &str = "# Read by `counterfoil dev`: how each provider is started, and where its registry and rules are.\n\
                         registry = \"registry.toml\"\nrules = \"rules.cedar\"\n";
const REGISTRY_HEAD: &str = "# What each tool is, in your words. A tool never classifies itself.\nv = 1\n";
const RULES_HEAD: &str = "// What agents may do. What nothing here allows is held.\n";

/// A folder that has the three files, or will have them.
pub struct Place {
    plan: PathBuf,
    registry: PathBuf,
    rules: PathBuf,
    providers: ProviderPlans,
    /// Will be added, if all goes well.
    reserved: ProviderPlans,
    key_file: Option<PathBuf>,
}

/// What became of one draft.
#[derive(Debug, Eq, PartialEq)]
pub enum Added {
    Drafted,
    /// The registry knew the provider, so somebody's own words stay.
    Classified,
}

impl Place {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let plan = folder.join(PLAN);
        if plan.exists() {
            let known = Plan::from_file(&plan)?;
            return Ok(Self {
                plan,
                registry: known.registry,
                rules: known.rules,
                providers: known.providers,
                reserved: ProviderPlans::new(),
                key_file: known.key_file,
            });
        }
        let (registry, rules) = (folder.join("registry.toml"), folder.join("rules.cedar"));
        let (providers, reserved) = (ProviderPlans::new(), ProviderPlans::new());
        Ok(Self { plan, registry, rules, providers, reserved, key_file: None })
    }

    pub fn plan(&self) -> &Path {
        &self.plan
    }

    /// Providers that are started or reached just so already. Those with an address may still be shown other headers.
    pub fn reached_by<'a>(&'a self, plan: &'a ProviderPlan) -> impl Iterator<Item = &'a ProviderId> {
        let own = std::path::absolute(&self.plan).ok();
        // Plan::from_file puts the file's own folder where none is named.
        let folder = move |plan: &ProviderPlan| {
            plan.folder.clone().or_else(|| Some(own.as_ref()?.parent()?.to_owned()))
        };
        let same = move |known: &ProviderPlan| match (&known.url, &plan.url) {
            (None, None) => {
                known.command == plan.command && known.env == plan.env && folder(known) == folder(plan)
            }
            (Some(one), Some(other)) => {
                let names = |plan: &ProviderPlan| (plan.sealed_headers.clone(), plan.headers_env.clone());
                one == other && names(known) == names(plan)
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.providers.iter().chain(&self.reserved).filter(move |(_, known)| same(known)).map(|(id, _)| id)
    }

    /// Takes an id for a provider that is added later.
    pub fn reserve(&mut self, id: &ProviderId, plan: &ProviderPlan) {
        self.reserved.insert(id.clone(), plan.clone());
    }

    /// Keeps the first agent's key in a file, unless the plan has one for it already.
    pub fn keep_key_in(&mut self, path: &Path) -> anyhow::Result<PathBuf> {
        if let Some(known) = &self.key_file {
            return Ok(known.clone());
        }
        let mut document: toml_edit::DocumentMut = existing(&self.plan, PLAN_HEAD)?.parse()?;
        document["key_file"] = toml_edit::value(path.to_str().context("the key file's path is no text")?);
        replace_private(&self.plan, &document.to_string())?;
        self.key_file = Some(path.to_owned());
        Ok(path.to_owned())
    }

    /// The id, or the next one like it that is free.
    pub fn free(&self, wish: &ProviderId) -> ProviderId {
        let mut candidates = (2..1000).map(|number| {
            let number = format!("-{number}");
            let room = wish.as_str().len().min(16 - number.len());
            format!("{}{number}", &wish.as_str()[..room]).parse().ok()
        });
        let is_free = |id: &ProviderId| !self.providers.contains_key(id) && !self.reserved.contains_key(id);
        if is_free(wish) {
            return wish.clone();
        }
        candidates.find_map(|id| id.filter(is_free)).unwrap_or_else(|| wish.clone())
    }

    /// Adds a provider with its drafted registry and rules.
    pub fn add(&mut self, draft: &Draft, plan: &ProviderPlan) -> anyhow::Result<Added> {
        let id = &draft.provider;
        ensure!(!self.providers.contains_key(id), "`{}` has a provider `{id}` already", self.plan.display());
        let registry = existing(&self.registry, REGISTRY_HEAD)?;
        let rules = existing(&self.rules, RULES_HEAD)?;
        let known = Registry::parse(&registry).map_err(|errors| complain(&self.registry, &errors))?;
        let added = match known.provider(id.as_str()) {
            Some(_) => Added::Classified,
            None => {
                let registry = joined(&registry, &draft.registry_section());
                let rules = joined(&rules, &draft.rules_section());
                Bundle::compile(&registry, &rules).map_err(|errors| complain(&self.rules, &errors))?;
                replace(&self.registry, &registry)?;
                replace(&self.rules, &rules)?;
                Added::Drafted
            }
        };
        let text = joined(&existing(&self.plan, PLAN_HEAD)?, &provider_table(id, plan)?);
        replace_private(&self.plan, &text)?;
        self.providers.insert(id.clone(), plan.clone());
        Ok(added)
    }
}

/// A command may carry a secret among its arguments.
fn replace_private(path: &Path, text: &str) -> anyhow::Result<()> {
    Ok(counterfoil_jwks::file::replace(path, text.as_bytes())?)
}

fn provider_table(id: &ProviderId, plan: &ProviderPlan) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Table<'a> {
        provider: std::collections::BTreeMap<&'a ProviderId, &'a ProviderPlan>,
    }
    Ok(toml::to_string(&Table { provider: [(id, plan)].into() })?)
}

fn existing(path: &Path, otherwise: &str) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(otherwise.to_owned()),
        Err(error) => Err(error).with_context(|| format!("`{}`", path.display())),
    }
}

fn joined(text: &str, section: &str) -> String {
    let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
    format!("{text}{gap}{section}")
}

/// Whole or not at all, so that an interrupted write never leaves half a rule.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.with_context(|| format!("`{}`", path.display()))
}
