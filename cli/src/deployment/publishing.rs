//! Pins tools, and publishes registry and rules.

use std::fs;
use std::path::Path;

use anyhow::Context;
use counterfoil_core::control::{Documents, Snapshot};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::key::PublicKey;
use counterfoil_core::statement::PublicJwk;
use counterfoil_evidence::keys::offer::KeyOffer;
use counterfoil_evidence::setup::{Attested, Setup};
use counterfoil_jwks::file::read_private;
use counterfoil_policy::{Bundle, LintError, Registry, pin_of, with_pins};

use super::Folder;
use super::founding::OPERATOR;
use super::listing::{HeadersFrom, list_tools};
use super::providers::ProviderPlans;
use crate::draft::is_marked;

/// A tool whose definition was pinned just now.
pub struct Pinned {
    pub provider: String,
    pub tool: String,
    pub pin: Digest,
}

/// Writes a pin beside every tool of the registry that has none, from the provider's own list. Tools that the registry
/// does not name stay out of it: an operator classifies, never a tool.
pub async fn pin_unpinned(
    registry: &Path,
    providers: &ProviderPlans,
    folder: &Folder,
) -> anyhow::Result<Vec<Pinned>> {
    let mut text = read(registry)?;
    let parsed = Registry::parse(&text).map_err(|errors| complain(registry, &errors))?;
    let mut pinned = Vec::new();
    for (id, plan) in providers {
        let Some(provider) = parsed.provider(id.as_str()) else { continue };
        let is_unpinned = |name: &str| provider.tool(name).is_some_and(|tool| tool.pin().is_none());
        if !provider.tools().any(|tool| tool.pin().is_none()) {
            continue;
        }
        let listed = list_tools(id, plan, HeadersFrom::Deployment(folder)).await?;
        let pins: Vec<(String, Digest)> = listed
            .iter()
            .filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool)))
            .filter(|(name, _)| is_unpinned(name))
            .map(|(name, tool)| (name, pin_of(tool)))
            .collect();
        text = with_pins(&text, id.as_str(), &pins).map_err(|errors| complain(registry, &errors))?;
        pinned.extend(pins.into_iter().map(|(tool, pin)| Pinned { provider: id.to_string(), tool, pin }));
    }
    if !pinned.is_empty() {
        fs::write(registry, text).with_context(|| format!("`{}`", registry.display()))?;
    }
    Ok(pinned)
}

/// Imports the providers' execution keys that are not there yet, so that each counts before the first call.
pub async fn import_execution_keys(
    keys: &[(ProviderId, PublicKey)],
    project: ProjectId,
    setup: &Setup,
) -> anyhow::Result<()> {
    for (provider, key) in keys {
        let jwk = serde_json::to_vec(&PublicJwk::new(key))?;
        let confirmed = KeyOffer::pasted(&jwk)?.confirm(&[key.thumbprint()])?;
        setup.import_provider_keys(project, provider, confirmed, OPERATOR).await?;
    }
    Ok(())
}

/// What was published; nothing where both are in force already.
#[derive(Default)]
pub struct Published {
    pub registry: bool,
    pub rules: bool,
}

/// Publishes what differs from what is in force.
pub async fn publish_changed(
    registry: &Path,
    rules: &Path,
    project: ProjectId,
    in_force: Option<&Documents>,
    setup: &Setup,
) -> anyhow::Result<Published> {
    let (registry_text, rules_text) = (read(registry)?, read(rules)?);
    Bundle::compile(&registry_text, &rules_text).map_err(|errors| complain(rules, &errors))?;
    let by = |reason| Attested { behalf: OPERATOR, reason: Some(reason) };
    let mut published = Published::default();
    if in_force.is_none_or(|documents| documents.registry != registry_text) {
        setup.publish_registry(project, &registry_text, by(reason(&registry_text))).await?;
        published.registry = true;
    }
    if in_force.is_none_or(|documents| documents.rules != rules_text) {
        setup.publish_rules(project, &rules_text, by(reason(&rules_text))).await?;
        published.rules = true;
    }
    Ok(published)
}

/// For everybody to read, beside the publication.
fn reason(text: &str) -> &'static str {
    match is_marked(text) {
        true => "published from a file with a draft in it, which nobody has read yet",
        false => "published from its file",
    }
}

/// What decides now, as a running evidence service tells its gateways.
pub async fn in_force(folder: &Folder, internal_url: &str, project: ProjectId) -> anyhow::Result<Snapshot> {
    let token = read_private(&folder.service_token())?;
    let token = std::str::from_utf8(&token).context("the service token is not text")?.trim();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let address = format!("{internal_url}/internal/v1/control?project={project}");
    let answer = client.get(address).bearer_auth(token).send().await?.error_for_status()?;
    Ok(answer.json().await?)
}

pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("`{}`", path.display()))
}

pub fn complain(path: &Path, errors: &[LintError]) -> anyhow::Error {
    let lines: Vec<String> = errors.iter().map(|error| format!("  {error}")).collect();
    anyhow::anyhow!("`{}` cannot be published:\n{}", path.display(), lines.join("\n"))
}
