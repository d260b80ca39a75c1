//! Makes a deployment: keys, database, project, credentials, configuration.
//!
//! Promised: what is secret goes into new files of mode 0600 or to the caller, who shows it once; nothing that exists
//! is replaced. `project.toml` is written last, so a folder without it is not a deployment.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use counterfoil_core::key::{Capability, Decision, KeyPurpose, Ledger, Log};
use counterfoil_core::statement::{Environment, Verdict};
use counterfoil_evidence::config::Config;
use counterfoil_evidence::ledger::Project;
use counterfoil_evidence::setup::{self, DisclosureJwk, NewProject, Setup};
use counterfoil_jwks::secret::{PAIRWISE_SUB, SESSION_SEAL};
use counterfoil_jwks::{Holder, Kek, Mode, Store, file, possession};
use zeroize::Zeroizing;

use super::Folder;
use super::config;
use super::database::Database;
use super::ports::Ports;
use super::project::{DatabaseKind, ProjectRecord};
use crate::disclosure::DisclosurePair;
use crate::{chance, clock};

/// The pseudonym under which this program does what an operator asks; a person without an account has no other.
pub const OPERATOR: &str = "operator";

/// What somebody asks for.
pub struct Wish<'a> {
    pub host: &'a str,
    pub mode: Mode,
    pub project: &'a str,
    pub agent: &'a str,
    pub database: DatabaseKind,
    pub first_key: FirstKey,
}

/// Whether the first agent gets its API key at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FirstKey {
    Made,
    /// Where standard output is kept as a log; `counterfoil keys new` makes it.
    Later,
}

/// A new deployment, with the one thing that nobody can look up again.
pub struct Founded {
    pub record: ProjectRecord,
    /// The API key of the project's first agent, unless it is made later.
    pub api_key: Option<Zeroizing<String>>,
}

pub async fn found(
    folder: &Folder,
    wish: &Wish<'_>,
    database: &Database,
    ports: &Ports,
) -> anyhow::Result<Founded> {
    if folder.evidence_keys().exists() {
        bail!("`{}` holds a deployment, or one that was not finished", folder.path().display());
    }
    let made = mint_keys(folder)?;
    config::write_evidence(folder, wish.host, wish.mode, ports, &database.address)?;

    setup::prepare_database(database.admin()?, &database.address.name).await?;
    let evidence = Config::from_file(&folder.evidence_config())?;
    setup::migrate(&evidence).await?;
    let setup = Setup::open(&evidence).await?;
    if !setup.projects().await?.is_empty() {
        // Without that deployment's keys nothing can follow in its projects, and its audit would say so for ever.
        forget_new_keys(folder, &made)?;
        bail!(
            "the database in {} holds a deployment whose keys are not in `{}`: bring them back, or remove the database",
            database.place(),
            folder.path().display()
        );
    }
    let project = create_project(folder, wish.project, &setup).await?;
    introduce_gateway_keys(folder, wish.mode, &project, &setup).await?;

    let agent = chance::agent_id();
    let api_key = match wish.first_key {
        FirstKey::Made => {
            let made = setup.create_api_key(project.id, agent, None).await?;
            Some(Zeroizing::new(made.secret.reveal().to_owned()))
        }
        FirstKey::Later => None,
    };
    let record = ProjectRecord {
        id: project.id,
        issuer: project.issuer.clone(),
        name: wish.project.to_owned(),
        agent,
        agent_name: wish.agent.to_owned(),
        database: wish.database,
    };
    record.write(folder)?;
    Ok(Founded { record, api_key })
}

/// The gateway's store, opened with its own key-encryption key.
pub fn gateway_store(folder: &Folder, mode: Mode) -> anyhow::Result<Store> {
    let kek = Kek::from_file(&folder.gateway_kek())?;
    Ok(Store::open(&folder.gateway_keys(), Holder::Gateway, kek, mode)?)
}

/// The evidence service's store, opened with its own key-encryption key.
pub fn evidence_store(folder: &Folder, mode: Mode) -> anyhow::Result<Store> {
    let kek = Kek::from_file(&folder.evidence_kek())?;
    Ok(Store::open(&folder.evidence_keys(), Holder::Evidence, kek, mode)?)
}

/// The files that it made. The gateway's key-encryption key may be there already: headers were sealed under it.
fn mint_keys(folder: &Folder) -> anyhow::Result<Vec<PathBuf>> {
    let kek = Kek::mint()?;
    kek.write_new(&folder.evidence_kek())?;
    let mut evidence = Store::create(&folder.evidence_keys(), Holder::Evidence, kek)?;
    evidence.mint::<Ledger>(clock::now())?;
    evidence.mint::<Log>(clock::now())?;

    let mut made = vec![folder.evidence_keys(), folder.evidence_kek(), folder.gateway_keys()];
    let kek = match folder.gateway_kek().exists() {
        true => Kek::from_file(&folder.gateway_kek())?,
        false => {
            let kek = Kek::mint()?;
            kek.write_new(&folder.gateway_kek())?;
            made.push(folder.gateway_kek());
            kek
        }
    };
    let mut gateway = Store::create(&folder.gateway_keys(), Holder::Gateway, kek)?;
    gateway.mint::<Decision>(clock::now())?;
    gateway.mint::<Capability>(clock::now())?;
    gateway.mint_secret(PAIRWISE_SUB)?;
    gateway.mint_secret(SESSION_SEAL)?;
    Ok(made)
}

/// Nothing was signed with them yet.
fn forget_new_keys(folder: &Folder, made: &[PathBuf]) -> std::io::Result<()> {
    made.iter().chain([&folder.evidence_config()]).try_for_each(std::fs::remove_file)
}

async fn create_project(folder: &Folder, name: &str, setup: &Setup) -> anyhow::Result<Arc<Project>> {
    let pair = DisclosurePair::mint()?;
    file::write_new(&folder.disclosure_key(), pair.dangerous_private_jwk().as_bytes())?;
    let disclosure_key = DisclosureJwk {
        kty: "EC".to_owned(),
        crv: "P-256".to_owned(),
        x: pair.x().to_owned(),
        y: pair.y().to_owned(),
    };
    let new = NewProject {
        name: name.to_owned(),
        env: Environment::Live,
        base_verdict: Verdict::StepUp,
        disclosure_key,
        behalf: OPERATOR.to_owned(),
    };
    Ok(setup.create_project(&new).await?)
}

async fn introduce_gateway_keys(
    folder: &Folder,
    mode: Mode,
    project: &Project,
    setup: &Setup,
) -> anyhow::Result<()> {
    let store = gateway_store(folder, mode)?;
    introduce::<Decision>(&store, project, setup).await?;
    introduce::<Capability>(&store, project, setup).await?;

    let decision = store.signing_key::<Decision>()?;
    let token = setup.create_service_token(&[project.id], &[decision.kid().clone()]).await?;
    file::write_new(&folder.service_token(), format!("{}\n", token.secret.reveal()).as_bytes())?;
    Ok(())
}

async fn introduce<P: KeyPurpose>(store: &Store, project: &Project, setup: &Setup) -> anyhow::Result<()> {
    let key = store.signing_key::<P>()?;
    let proof = possession::prove(&key, project.id);
    let introduced = setup.introduce_gateway_key(project.id, P::PURPOSE, key.public(), proof, OPERATOR).await;
    introduced.with_context(|| format!("the {} key was not introduced", P::PURPOSE))?;
    Ok(())
}
