//! A server as the command line names it: a command behind `--`, or an address with the headers that it wants.

use std::str::FromStr;

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use counterfoil_gateway::Site;
use counterfoil_jwks::Credential;
use counterfoil_jwks::credentials::HeaderName;
use zeroize::Zeroizing;

use crate::deployment::providers::{HeaderValues, ProviderPlan};
use crate::draft::{provider_id, provider_id_at};

#[derive(clap::Args)]
pub struct Server {
    /// Where the server speaks MCP over HTTP: https, or http to this machine
    url: Option<String>,

    /// A header that it wants to see, and the environment variable that holds its value, which is sealed
    #[arg(long, value_name = "NAME=VARIABLE", requires = "url")]
    header_env: Vec<FromVariable>,

    /// The server as a program and its arguments, as an agent host would start it
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url")]
    command: Vec<String>,
}

#[derive(Clone)]
struct FromVariable {
    name: HeaderName,
    variable: String,
}

impl FromStr for FromVariable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, variable) =
            text.split_once('=').ok_or("`NAME=VARIABLE`, such as Authorization=MY_TOKEN")?;
        let name: HeaderName = name.parse().map_err(|error| format!("{error}"))?;
        Site::settable(name.as_str()).map_err(|error| error.to_string())?;
        Ok(Self { name, variable: variable.to_owned() })
    }
}

impl Server {
    pub fn plan(&self) -> ProviderPlan {
        match &self.url {
            Some(url) => {
                let names = self.header_env.iter().map(|header| header.name.clone());
                ProviderPlan::at(url.clone(), names.collect())
            }
            None => ProviderPlan::of(self.command.clone()),
        }
    }

    /// The values of its headers, out of the environment.
    pub fn headers(&self) -> anyhow::Result<HeaderValues> {
        let value = |header: &FromVariable| {
            let value = from_variable(&header.variable)?;
            Ok((header.name.clone(), value))
        };
        self.header_env.iter().map(value).collect()
    }

    /// A name for it, where nobody gave one.
    pub fn id(&self) -> ProviderId {
        match &self.url {
            Some(url) => provider_id_at(url),
            None => provider_id(&self.command),
        }
    }
}

/// A header's value out of an environment variable.
pub fn from_variable(variable: &str) -> anyhow::Result<Credential> {
    let value = std::env::var(variable).map(Zeroizing::new);
    let value = value.ok().with_context(|| format!("environment variable `{variable}` is not set"))?;
    Credential::parse(&value).with_context(|| format!("environment variable `{variable}`"))
}
