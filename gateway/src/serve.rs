//! From a configuration to a running gateway, and back to nothing in the right order.
//!
//! The order of the end: no new calls, calls under way come to their end, what they left behind is recorded, children
//! stop. A call that does not end is abandoned after a while; its observation says so, or nobody does.

use crate::chance;
use crate::clock::LedgerClock;
use crate::config::{Config, ConfigError, HoldsConfig, ProbesConfig, ProjectConfig, ProviderConfig};
use crate::control::Follower;
use crate::definitions::Definitions;
use crate::evidence::{Evidence, ServiceToken, TokenError};
use crate::executions::{Executions, Messenger};
use crate::front;
use crate::front::rate::Rates;
use crate::front::session::Sessions;
use crate::front::tasks::Tasks;
use crate::front::{Names, router};
use crate::holds::{Holds, Sealer};
use crate::house::{House, Keys, Project, Provider};
use crate::in_flight::InFlight;
use crate::listener;
use crate::metrics::Metrics;
use crate::past::Turns;
use crate::probes::keep_probing;
use crate::recorder::{Courier, Recorder};
use crate::self_test::{SelfTest, until_passed};
use crate::shelf::Shelf;
use crate::told::Told;
use crate::upstream::{Fleet, Site, SiteError, Start};
use counterfoil_core::id::{InstanceId, ProviderId};
use counterfoil_jwks::{
    CredentialError, Credentials, Holder, KekError, KekSource, Mode, Secret, Store, StoreError, secret,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long calls under way may take to end once we stop. Longer calls lose their answer, not their observation.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Kek(#[from] KekError),
    #[error(transparent)]
    Keys(#[from] StoreError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error("HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    #[error("provider `{0}`: {1}")]
    Site(ProviderId, SiteError),
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    #[error("policy engine: {0}")]
    Policy(#[from] counterfoil_policy::BootError),
}

/// A gateway that has its port.
pub struct Gateway {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    address: SocketAddr,
    house: Arc<House>,
    couriers: Vec<(Courier, Messenger)>,
    probes: ProbesConfig,
}

/// Binds, serves until `shutdown`, drains.
pub async fn serve(
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    Gateway::bind(config).await?.run(shutdown).await
}

impl Gateway {
    pub async fn bind(config: Config) -> Result<Self, ServeError> {
        let config = config.checked()?;
        counterfoil_policy::no_rules_means_no_allow()?;
        let kek = KekSource::from_parts(config.kek_file.as_deref());
        let store = Store::open(&config.keys, Holder::Gateway, kek.load()?, config.mode)?;
        let credentials = match &config.credentials {
            Some(path) => Some(Arc::new(Credentials::open(path, kek.load()?)?)),
            None => None,
        };
        let token = ServiceToken::from_file(&config.service_token_file)?;
        let evidence = Arc::new(Evidence::new(&config.evidence_url, token, fresh_instance())?);
        let replicas = store.secret(secret::SESSION_SEAL)?;
        let sessions = Sessions::sealed_with(&replicas);
        let keys = Arc::new(Keys {
            decision: store.signing_key()?,
            capability: store.signing_key()?,
            pairwise: store.secret(secret::PAIRWISE_SUB)?,
            published: store.published(),
        });
        let listener = listen(config.listen).await?;
        let metrics = match config.metrics_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let address = listener.local_addr().map_err(|error| ServeError::Listen(config.listen, error))?;
        let wanted = config.self_test.unwrap_or(config.mode == Mode::Production);
        let (projects, couriers) = projects(&config.projects, &keys, &evidence, wanted);
        let house = Arc::new(House {
            names: Names { hosts: config.hosts, origins: config.origins },
            rates: Rates::new(&config.limits),
            metrics: Metrics::at_zero(),
            metrics_elsewhere: metrics.is_some(),
            projects,
            providers: providers(config.providers, credentials.as_ref())?,
            evidence: evidence.clone(),
            fleet: Fleet::empty(),
            shelf: Shelf::default(),
            definitions: Definitions::new(evidence.clone()),
            sessions,
            in_flight: InFlight::default(),
            turns: Turns::default(),
            holds: holds(&config.holds, &replicas, evidence),
            tasks: Tasks::default(),
            told: Told::default(),
            keys,
            calls: TaskTracker::new(),
        });
        Ok(Self { listener, metrics, address, house, couriers, probes: config.probes })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let (stop_following, drain) = (CancellationToken::new(), CancellationToken::new());
        let mut followers = tokio::task::JoinSet::new();
        for project in &self.house.projects {
            let control = project.control.clone();
            let stop = stop_following.clone();
            followers.spawn(async move { control.follow(stop).await });
            let of_probes = project.clone();
            let (project, house, stop) = (project.clone(), self.house.clone(), stop_following.clone());
            let address = self.address;
            followers.spawn(async move { until_passed(project, house, address, stop).await });
            let (project, house, stop) = (of_probes, self.house.clone(), stop_following.clone());
            followers.spawn(async move { keep_probing(project, house, self.probes, stop).await });
        }
        let (tidied, stop_tidying) = (self.house.clone(), stop_following.clone());
        followers.spawn(async move { tidied.fleet.keep_tidy(stop_tidying).await });
        let mut couriers = tokio::task::JoinSet::new();
        for (courier, messenger) in self.couriers {
            couriers.spawn(courier.run(drain.clone()));
            couriers.spawn(messenger.run(drain.clone()));
        }
        tracing::info!(address = %self.address, "gateway listens");
        let stop = CancellationToken::new();
        let (stopping, closing) = (stop.clone(), self.house.holds.closing.clone());
        tokio::spawn(async move {
            shutdown.await;
            stopping.cancel();
            closing.cancel();
        });
        if let Some(listener) = self.metrics {
            let router = front::metrics::router(self.house.clone());
            tokio::spawn(listener::serve(listener, router, (stop.clone(), Duration::ZERO)));
        }
        // Hosts may keep connections open for ever; calls are what has to end.
        listener::serve(self.listener, router(self.house.clone()), (stop, FAREWELL)).await;
        self.house.calls.close();
        let _ = tokio::time::timeout(FAREWELL, self.house.calls.wait()).await;
        drain.cancel();
        while couriers.join_next().await.is_some() {}
        stop_following.cancel();
        while followers.join_next().await.is_some() {}
        self.house.fleet.stop().await;
        tracing::info!("gateway stopped");
        Ok(())
    }
}

fn holds(config: &HoldsConfig, replicas: &Secret, evidence: Arc<Evidence>) -> Holds {
    let millis = |millis: u32| Duration::from_millis(millis.into());
    let of_keys = config.wait_ms_by_key.iter().map(|(key, wait)| (*key, millis(*wait)));
    Holds {
        sealer: Sealer::derived_from(replicas),
        evidence,
        lifetime: Duration::from_secs(60 * u64::from(config.minutes)),
        patience: millis(config.wait_ms),
        patience_of: of_keys.collect(),
        console: config.console_url.clone(),
        closing: CancellationToken::new(),
    }
}

/// A process is an instance, for as long as it runs.
fn fresh_instance() -> InstanceId {
    InstanceId::from_uuid(uuid::Builder::from_random_bytes(chance::bytes()).into_uuid())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|error| ServeError::Listen(address, error))
}

fn projects(
    configs: &[ProjectConfig],
    keys: &Keys,
    evidence: &Arc<Evidence>,
    self_test: bool,
) -> (Vec<Arc<Project>>, Vec<(Courier, Messenger)>) {
    let instance = evidence.instance();
    let mut projects = Vec::new();
    let mut couriers = Vec::new();
    for config in configs {
        let clock = Arc::new(LedgerClock::default());
        let control = Arc::new(Follower::new(
            config.id,
            evidence.clone(),
            clock.clone(),
            keys.own_decision_keys(),
            config.log_key.clone(),
        ));
        let (recorder, courier) =
            Recorder::new(config.id, instance, evidence.clone(), control.clone(), clock.clone());
        let (executions, messenger) = Executions::new(config.id, instance, evidence.clone());
        couriers.push((courier, messenger));
        let self_test = SelfTest::wanted(self_test);
        projects.push(Arc::new(Project { id: config.id, control, recorder, executions, clock, self_test }));
    }
    (projects, couriers)
}

fn providers(
    configs: BTreeMap<ProviderId, ProviderConfig>,
    credentials: Option<&Arc<Credentials>>,
) -> Result<BTreeMap<ProviderId, Arc<Provider>>, ServeError> {
    let provider = |(id, config): (ProviderId, ProviderConfig)| {
        let site = match &config.url {
            Some(url) => {
                let site = site(&id, url, &config, credentials);
                Some(Arc::new(site.map_err(|error| ServeError::Site(id.clone(), error))?))
            }
            None => None,
        };
        let provider = Provider {
            id: id.clone(),
            project: config.project,
            start: Start {
                provider: id.to_string(),
                command: config.command,
                env: config.env,
                folder: config.folder,
                sharing: config.sharing,
                site,
            },
            ceiling: Duration::from_secs(config.ceiling_seconds.into()),
        };
        Ok((id, Arc::new(provider)))
    };
    configs.into_iter().map(provider).collect()
}

fn site(
    id: &ProviderId,
    url: &str,
    config: &ProviderConfig,
    credentials: Option<&Arc<Credentials>>,
) -> Result<Site, SiteError> {
    let site = Site::new(url)?.with_environment(&config.headers_env)?;
    match credentials {
        Some(credentials) => site.with_sealed(id, &config.sealed_headers, credentials),
        // Configurations with sealed headers and no file of them are refused before.
        None => Ok(site),
    }
}
