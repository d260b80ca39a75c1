//! Asks a provider for its tools, without the gateway, so that their definitions can be pinned.
//!
//! Promised: a process is started as the gateway starts it, spoken to in the legacy era, and stopped; an address is asked
//! just as the gateway asks it, with the same headers. Not promised: that it lists the same tomorrow; that is what pins
//! are for.

mod child;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use counterfoil_core::id::ProviderId;
use counterfoil_core::json::{self, Profile};
use counterfoil_gateway::{Away, Site, listing};
use serde_json::Value;

use super::Folder;
use super::credentials;
use super::providers::{HeaderValues, ProviderPlan};

/// `npx` may have to fetch the provider first.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the values of a provider's headers are.
#[derive(Clone, Copy)]
pub enum HeadersFrom<'a> {
    /// Sealed in a deployment's folder, as the gateway will find them.
    Deployment(&'a Folder),
    /// Not sealed yet.
    Hand(&'a HeaderValues),
}

/// The tools as the provider lists them, unknown members included.
pub async fn list_tools(
    id: &ProviderId,
    plan: &ProviderPlan,
    headers: HeadersFrom<'_>,
) -> anyhow::Result<Vec<Value>> {
    let asked = async {
        match &plan.url {
            Some(url) => over_http(id, url, plan, headers).await,
            None => child::ask(plan).await,
        }
    };
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    let late = || format!("no list of tools within {} s", PATIENCE.as_secs());
    asked.with_context(late).flatten().with_context(|| format!("provider `{id}`"))
}

async fn over_http(
    id: &ProviderId,
    url: &str,
    plan: &ProviderPlan,
    headers: HeadersFrom<'_>,
) -> anyhow::Result<Vec<Value>> {
    let mut site = Site::new(url)?.with_environment(&plan.headers_env)?;
    match headers {
        HeadersFrom::Hand(values) => site = site.with_values(values)?,
        HeadersFrom::Deployment(folder) if !plan.sealed_headers.is_empty() => {
            let sealed = Arc::new(credentials::open(folder)?);
            site = site.with_sealed(id, &plan.sealed_headers, &sealed)?;
        }
        HeadersFrom::Deployment(_) => {}
    }
    let listed = listing::over_http(id.as_str(), site).await.map_err(|away| match away {
        Away::Unauthorized => {
            anyhow!("{away}: `--header-env` of `wrap`, or `headers set`, gives it a header")
        }
        other => other.into(),
    })?;
    let tool = |text: &String| json::parse(text.as_bytes(), Profile::Foreign);
    Ok(listed.iter().map(tool).collect::<Result<_, _>>()?)
}
