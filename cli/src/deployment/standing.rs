//! A whole deployment that runs in this process: database, evidence service, gateway.
//!
//! Promised: a first start makes it, pins what is not pinned and publishes; a later start publishes what changed.
//! Whichever way it ends, the database is stopped last.

use anyhow::Context;
use counterfoil_core::key::Log;
use counterfoil_core::note::vkey;
use counterfoil_evidence::setup::{self, Setup};
use counterfoil_jwks::Mode;
use zeroize::Zeroizing;

use super::Folder;
use super::config::{self, HoldWait};
use super::database::Database;
use super::founding::{FirstKey, Founded, Wish, evidence_store, found};
use super::ports::Ports;
use super::project::{DatabaseKind, ProjectRecord};
use super::providers::ProviderPlans;
use super::publishing::{Pinned, Published, import_execution_keys, in_force, pin_unpinned, publish_changed};
use super::services::Service;
use super::source::Source;
use crate::clock;

pub struct Standing {
    pub record: ProjectRecord,
    pub ports: Ports,
    pub providers: ProviderPlans,
    /// Present after the first start alone.
    pub api_key: Option<Zeroizing<String>>,
    pub pinned: Vec<Pinned>,
    pub published: Published,
    gateway: Service,
    evidence: Service,
    database: Database,
}

impl Standing {
    pub async fn start(
        folder: &Folder,
        source: &Source,
        ports: Ports,
        wait: HoldWait,
    ) -> anyhow::Result<Self> {
        let known = ProjectRecord::find(folder)?;
        let database = match known.as_ref().map(|record| record.database) {
            Some(DatabaseKind::Given) => Database::as_configured(folder)?,
            Some(DatabaseKind::Managed) | None => Database::managed(folder)?,
        };
        let (record, api_key) = match known {
            Some(record) => (again(record, folder, &database, &ports).await?, None),
            None => {
                let Founded { record, api_key } = first(folder, source, &database, &ports).await?;
                (record, api_key)
            }
        };

        source.prepare(folder, clock::now())?;
        let providers = source.providers(folder, &record, &ports)?;
        let pinned = pin_unpinned(&source.registry(folder), &providers, folder).await?;
        write_gateway_config(folder, &record, Mode::Dev, &ports, (&providers, wait))?;

        let evidence = Service::evidence(folder, &ports).await?;
        let published = publish(folder, source, &record, &ports).await?;
        let gateway = Service::gateway(folder, &ports).await?;
        Ok(Self { record, ports, providers, api_key, pinned, published, gateway, evidence, database })
    }

    /// Where a reader without an account looks.
    pub fn page(&self) -> String {
        format!("{}{}", self.ports.evidence_url(), self.record.issuer.page_path())
    }

    /// Returns when one of the services ends without having been asked to.
    pub async fn failed(&mut self) -> anyhow::Error {
        tokio::select! {
            error = self.gateway.failed() => error,
            error = self.evidence.failed() => error,
        }
    }

    /// From the outside in, the database last.
    pub async fn stop(self) -> anyhow::Result<()> {
        let gateway = self.gateway.stop().await;
        let evidence = self.evidence.stop().await;
        drop(self.database);
        gateway.and(evidence)
    }
}

async fn first(
    folder: &Folder,
    source: &Source,
    database: &Database,
    ports: &Ports,
) -> anyhow::Result<Founded> {
    let wish = Wish {
        host: source.host(),
        mode: Mode::Dev,
        project: source.project(),
        agent: source.agent(),
        database: DatabaseKind::Managed,
        first_key: FirstKey::Made,
    };
    found(folder, &wish, database, ports).await
}

/// The socket and the ports may be others than last time, and the program may be newer.
async fn again(
    record: ProjectRecord,
    folder: &Folder,
    database: &Database,
    ports: &Ports,
) -> anyhow::Result<ProjectRecord> {
    let host = record.issuer.host().to_string();
    config::write_evidence(folder, &host, Mode::Dev, ports, &database.address)?;
    let evidence = counterfoil_evidence::config::Config::from_file(&folder.evidence_config())?;
    setup::migrate(&evidence).await?;
    Ok(record)
}

pub fn write_gateway_config(
    folder: &Folder,
    record: &ProjectRecord,
    mode: Mode,
    ports: &Ports,
    (providers, wait): (&ProviderPlans, HoldWait),
) -> anyhow::Result<()> {
    let log = evidence_store(folder, mode)?.signing_key::<Log>()?;
    let log_key = vkey(&record.issuer.origin(), log.public());
    config::write_gateway(folder, record.id, &log_key, mode, ports, (providers, wait))
}

async fn publish(
    folder: &Folder,
    source: &Source,
    record: &ProjectRecord,
    ports: &Ports,
) -> anyhow::Result<Published> {
    let snapshot = in_force(folder, &ports.internal_url(), record.id)
        .await
        .context("the evidence service did not say what is in force")?;
    let evidence = counterfoil_evidence::config::Config::from_file(&folder.evidence_config())?;
    let setup = Setup::open(&evidence).await?;
    import_execution_keys(&source.execution_keys(folder)?, record.id, &setup).await?;
    let (registry, rules) = (source.registry(folder), source.rules(folder));
    publish_changed(&registry, &rules, record.id, snapshot.documents.as_ref(), &setup).await
}
