//! `counterfoil headers`: what providers with an address want to see of the gateway, such as `Authorization`.
//!
//! Promised: a value comes from standard input or an environment variable, never from the command line, which every
//! program of this machine can read; it is sealed for the provider's present address, and shown to nobody again. The
//! file that describes the provider names the header, so that a gateway without its value does not start.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use counterfoil_core::id::ProviderId;
use counterfoil_gateway::Site;
use counterfoil_jwks::Credential;
use counterfoil_jwks::credentials::{HeaderName, Place};
use counterfoil_jwks::file;
use toml_edit::{Array, DocumentMut, Item};
use zeroize::Zeroizing;

use super::server::from_variable;
use crate::deployment::config::GATEWAY_CREDENTIALS;
use crate::deployment::{Folder, credentials};
use crate::draft::PLAN;

/// Above this nothing is a header any more.
const MOST_BYTES: u64 = 64 << 10;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Seal a value, read from standard input
    Set {
        provider: ProviderId,

        /// Such as Authorization
        header: HeaderName,

        /// Take the value from this environment variable instead
        #[arg(long, value_name = "VARIABLE")]
        env: Option<String>,

        #[command(flatten)]
        files: Files,
    },
    /// Show for which providers, headers and addresses there are values
    List {
        #[command(flatten)]
        files: Files,
    },
    /// Forget a value
    Remove {
        provider: ProviderId,

        header: HeaderName,

        #[command(flatten)]
        files: Files,
    },
}

#[derive(clap::Args)]
pub struct Files {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// Where the provider is described; without counterfoil.toml, the gateway.toml of the folder
    #[arg(long)]
    config: Option<PathBuf>,
}

pub fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Set { provider, header, env, files } => set(&provider, &header, env.as_deref(), &files),
        Command::List { files } => list(&Folder::open(&files.dir)?),
        Command::Remove { provider, header, files } => remove(&provider, &header, &files),
    }
}

fn set(id: &ProviderId, header: &HeaderName, env: Option<&str>, files: &Files) -> anyhow::Result<()> {
    Site::settable(header.as_str())?;
    let folder = Folder::open(&files.dir)?;
    let mut description = Description::open(files, &folder)?;
    let origin = Site::new(&description.url(id)?).with_context(|| format!("provider `{id}`"))?.origin();
    let value = match env {
        Some(variable) => from_variable(variable)?,
        None => from_standard_input()?,
    };
    let place = Place { provider: id.clone(), name: header.clone(), origin };
    let told = format!("{id} {header} for {}", place.origin);
    // First the name: should the rest fail, a gateway does not start without the value, and says so.
    description.name(id, header)?;
    credentials::open_or_begin(&folder)?.set(place, &value)?;
    println!("sealed     {told}; a gateway that runs goes on with what it had until it is started again");
    Ok(())
}

fn list(folder: &Folder) -> anyhow::Result<()> {
    if !folder.gateway_credentials().exists() {
        println!("no header is sealed");
        return Ok(());
    }
    for Place { provider, name, origin } in credentials::open(folder)?.places() {
        println!("{provider} {name} for {origin}");
    }
    Ok(())
}

fn remove(id: &ProviderId, header: &HeaderName, files: &Files) -> anyhow::Result<()> {
    let folder = Folder::open(&files.dir)?;
    let mut sealed = credentials::open(&folder)?;
    // First the name: a gateway does not start without a value that something names.
    Description::open(files, &folder)?.forget(id, header)?;
    sealed.remove(id, header)?;
    println!("removed    {id} {header}; a gateway that runs goes on with it until it is started again");
    Ok(())
}

/// The file that says where providers are, with its comments.
struct Description {
    path: PathBuf,
    document: DocumentMut,
    is_gateways: bool,
}

impl Description {
    fn open(files: &Files, folder: &Folder) -> anyhow::Result<Self> {
        let (path, is_gateways) = match &files.config {
            Some(path) => (path.clone(), *path == folder.gateway_config()),
            None if Path::new(PLAN).exists() => (PLAN.into(), false),
            None => (folder.gateway_config(), true),
        };
        let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
        // The parser's own message would quote the line, and a provider's variables stand in some.
        let document = text.parse().ok().with_context(|| format!("`{}` is no TOML", path.display()))?;
        Ok(Self { path, document, is_gateways })
    }

    fn url(&self, id: &ProviderId) -> anyhow::Result<String> {
        let provider = self.document.get("provider").and_then(|all| all.get(id.as_str()));
        let place = self.path.display();
        let provider = provider.with_context(|| format!("`{place}` has no provider `{id}`"))?;
        let url = provider.get("url").and_then(Item::as_str);
        Ok(url
            .with_context(|| format!("provider `{id}` in `{place}` has no url to send headers to"))?
            .to_owned())
    }

    fn name(&mut self, id: &ProviderId, header: &HeaderName) -> anyhow::Result<()> {
        if self.is_gateways && self.document.get("credentials").is_none() {
            self.document.insert("credentials", toml_edit::value(GATEWAY_CREDENTIALS));
        }
        let names = self.names(id)?;
        if !names.iter().any(|known| is(known, header)) {
            names.push(header.as_str());
        }
        self.write()
    }

    fn forget(&mut self, id: &ProviderId, header: &HeaderName) -> anyhow::Result<()> {
        let provider = self.document.get("provider").and_then(|all| all.get(id.as_str()));
        if provider.is_none_or(|provider| provider.get("sealed_headers").is_none()) {
            return Ok(());
        }
        self.names(id)?.retain(|known| !is(known, header));
        self.write()
    }

    fn names(&mut self, id: &ProviderId) -> anyhow::Result<&mut Array> {
        let place = self.path.display().to_string();
        let provider = self.document["provider"][id.as_str()].as_table_like_mut();
        let provider = provider.with_context(|| format!("`{place}`: provider `{id}` is no table"))?;
        let names = provider.entry("sealed_headers").or_insert(toml_edit::value(Array::new()));
        names.as_array_mut().with_context(|| format!("`{place}`: `sealed_headers` of `{id}` is no list"))
    }

    fn write(&self) -> anyhow::Result<()> {
        Ok(file::replace(&self.path, self.document.to_string().as_bytes())?)
    }
}

fn is(known: &toml_edit::Value, header: &HeaderName) -> bool {
    known.as_str().and_then(|known| known.parse::<HeaderName>().ok()).is_some_and(|known| known == *header)
}

fn from_standard_input() -> anyhow::Result<Credential> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        eprintln!("the value, which will be seen as you type it, and then Ctrl-D:");
    }
    let mut text = Zeroizing::new(String::new());
    let read = Read::by_ref(&mut input).take(MOST_BYTES).read_to_string(&mut text);
    if read.is_err() {
        bail!("the value on standard input is no text");
    }
    let value = text.trim_end_matches(['\n', '\r']);
    ensure!(!value.is_empty(), "there is no value on standard input");
    Ok(Credential::parse(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterfoil_gateway::Config;

    const GATEWAY: &str = r#"
listen = "127.0.0.1:8787"
evidence_url = "http://127.0.0.1:8789"
service_token_file = "service-token"
keys = "gateway-keys.sealed"
kek_file = "gateway.kek"
mode = "dev"
[[project]]
id = "prj_019355a0c0007000800000000000a001"
# theirs
[provider.linear]
project = "prj_019355a0c0007000800000000000a001"
url = "https://mcp.linear.app/mcp"
"#;

    /// C5: where no counterfoil.toml describes providers, the gateway's own file is told, and still loads.
    #[test]
    fn a_gateways_own_file_names_what_is_sealed() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(temporary.path()).unwrap();
        fs::write(folder.gateway_config(), GATEWAY).unwrap();
        let files = || Files { dir: folder.path().to_owned(), config: Some(folder.gateway_config()) };
        let (id, header): (ProviderId, HeaderName) =
            ("linear".parse().unwrap(), "Authorization".parse().unwrap());
        let told = || Config::from_file(&folder.gateway_config());

        set(&id, &header, Some("PATH"), &files()).unwrap();
        set(&id, &header, Some("PATH"), &files()).unwrap();

        let config = told().unwrap();
        assert_eq!(config.credentials, Some(folder.gateway_credentials()));
        assert_eq!(config.providers[&id].sealed_headers, [header.clone()].into());
        let text = fs::read_to_string(folder.gateway_config()).unwrap();
        assert!(text.contains("# theirs") && !text.contains(&std::env::var("PATH").unwrap()), "{text}");
        assert_eq!(credentials::open(&folder).unwrap().places().count(), 1);

        remove(&id, &header, &files()).unwrap();
        assert!(told().unwrap().providers[&id].sealed_headers.is_empty());
        assert_eq!(credentials::open(&folder).unwrap().places().count(), 0);
        assert!(remove(&id, &header, &files()).is_err());
        for (id, header) in [("nobody", "x-key"), ("linear", "host")] {
            let refused = set(&id.parse().unwrap(), &header.parse().unwrap(), Some("PATH"), &files());
            assert!(refused.is_err(), "{id} {header}");
        }
    }
}
