//! A whole deployment for one test: a database of its own in a shared throw-away cluster, keys, one project.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use counterfoil_core::id::{AgentId, ProjectId};
use counterfoil_core::key::{Capability, Decision, Ledger, Log, Purpose, SigningKey};
use counterfoil_core::receipt::Trust;
use counterfoil_core::statement::{Environment, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_evidence::cluster::{Binaries, Cluster, Running};
use counterfoil_evidence::config::{Config, DatabaseConfig, PackagesConfig, Rate};
use counterfoil_evidence::ledger::Project;
use counterfoil_evidence::setup::{
    ApiKey, Attested, DisclosureJwk, NewProject, Publication, Setup, migrate, prepare_database,
};
use counterfoil_evidence::{Bound, bind};
use counterfoil_jwks::{Holder, Kek, Mode, Store, possession};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

pub struct Deployment {
    pub config: Config,
    pub setup: Setup,
    pub project: std::sync::Arc<Project>,
    pub decision: SigningKey<Decision>,
    pub agent: AgentId,
    pub api_key: ApiKey,
    pub token: String,
    pub published: Publication,
    _folder: tempfile::TempDir,
}

pub const BY: Attested<'static> = Attested { behalf: "operator-1", reason: None };

static CLUSTER: OnceCell<Running> = OnceCell::const_new();
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The cluster of this test program, with a migrated template database in it.
pub async fn cluster() -> &'static Running {
    CLUSTER
        .get_or_init(|| async {
            let binaries = Binaries::find(None).expect("a Postgres on this machine");
            let cluster = Cluster::throw_away(&binaries).expect("initdb");
            // Nothing here survives the machine anyway.
            let running = cluster.start(&[("fsync", "off"), ("max_connections", "300")]).expect("postgres");
            prepare_database(&running.admin("postgres"), "template_of_tests")
                .await
                .expect("roles and database");
            let folder = tempfile::tempdir().expect("folder");
            migrate(&config(&running, "template_of_tests", folder.path())).await.expect("schema");
            running
        })
        .await
}

pub fn config(running: &Running, database: &str, folder: &Path) -> Config {
    Config {
        host: "counterfoil.localhost".parse().expect("a host"),
        mode: Mode::Dev,
        listen_public: "127.0.0.1:0".parse().expect("an address"),
        listen_internal: "127.0.0.1:0".parse().expect("an address"),
        listen_console: Some("127.0.0.1:0".parse().expect("an address")),
        keys: folder.join("evidence-keys.sealed"),
        kek_file: Some(folder.join("kek.hex")),
        heads_file: folder.join("heads.json"),
        hosts: vec!["127.0.0.1".to_owned()],
        rate: Rate::default(),
        lease_seconds: 30,
        packages: PackagesConfig { folder: folder.join("packages"), ..PackagesConfig::default() },
        database: DatabaseConfig {
            host: running.socket_folder().to_str().expect("a short path").to_owned(),
            port: running.port(),
            name: database.to_owned(),
            app_user: "counterfoil_app".to_owned(),
            reader_user: "counterfoil_reader".to_owned(),
            sweeper_user: "counterfoil_sweeper".to_owned(),
            migrator_user: "counterfoil_migrator".to_owned(),
            password_file: None,
            connections: 8,
        },
    }
}

/// A connection of one role to one database.
pub async fn connect(config: &Config, role: &str) -> Client {
    let mut connection = tokio_postgres::Config::new();
    connection
        .host(&config.database.host)
        .port(config.database.port)
        .dbname(&config.database.name)
        .user(role);
    let (client, driver) = connection.connect(NoTls).await.expect("connection");
    tokio::spawn(driver);
    client
}

/// A fresh copy of the template.
pub async fn fresh_database(running: &Running) -> String {
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (client, driver) = running.admin("postgres").connect(NoTls).await.expect("admin");
    tokio::spawn(driver);
    let copy = format!("create database {name} template template_of_tests owner counterfoil_migrator");
    client.batch_execute(&copy).await.expect("a copy of the template");
    name
}

impl Deployment {
    pub async fn new() -> Self {
        let running = cluster().await;
        let name = fresh_database(running).await;
        let folder = tempfile::tempdir().expect("folder");
        Self::on(config(running, &name, folder.path()), folder).await
    }

    /// On a prepared and migrated database.
    pub async fn on(config: Config, folder: tempfile::TempDir) -> Self {
        make_keys(&config);
        let setup = Setup::open(&config).await.expect("setup");
        let project = setup.create_project(&new_project("First")).await.expect("a project");
        let decision = SigningKey::<Decision>::from_seed(&random_seed());
        introduce(&setup, project.id, &decision).await;
        let published = publish(&setup, project.id).await;
        let agent = Setup::fresh_agent();
        let api_key = setup.create_api_key(project.id, agent, Some("u-1")).await.expect("an API key");
        let token =
            setup.create_service_token(&[project.id], &[decision.kid().clone()]).await.expect("a token");
        let token = token.secret.reveal().to_owned();
        Self { config, setup, project, decision, agent, api_key, token, published, _folder: folder }
    }

    pub fn id(&self) -> ProjectId {
        self.project.id
    }

    /// The service, answering until the test ends.
    pub async fn serve(&self) -> Service {
        let bound: Bound = bind(self.config.clone()).await.expect("bound");
        let service = Service {
            public: format!("http://{}", bound.public_addr().expect("address")),
            internal: format!("http://{}", bound.internal_addr().expect("address")),
            console: format!("http://{}", bound.console_addr().expect("address").expect("configured")),
            http: reqwest::Client::new(),
        };
        tokio::spawn(bound.run(std::future::pending()));
        service
    }

    /// What a holder pins: the project's published keys.
    pub async fn trust(&self, service: &Service) -> Trust {
        let path = self.project.issuer.page_path();
        let answer =
            service.http.get(format!("{}{path}/jwks.json", service.public)).send().await.expect("jwks");
        Trust::from_jwks(&answer.bytes().await.expect("jwks")).expect("a key set")
    }
}

#[derive(Clone)]
pub struct Service {
    pub public: String,
    pub internal: String,
    pub console: String,
    pub http: reqwest::Client,
}

pub fn make_keys(config: &Config) {
    let kek = Kek::mint().expect("chance");
    kek.write_new(config.kek_file.as_deref().expect("a file")).expect("kek");
    let mut store = Store::create(&config.keys, Holder::Evidence, kek).expect("a store");
    store.mint::<Ledger>(now()).expect("a ledger key");
    store.mint::<Log>(now()).expect("a log key");
}

/// The example of RFC 7517, appendix A.2: x, y, and the half that opens.
pub const DISCLOSURE_KEY: (&str, &str, &str) = (
    "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE",
);

pub fn new_project(name: &str) -> NewProject {
    NewProject {
        name: name.to_owned(),
        env: Environment::Live,
        base_verdict: Verdict::StepUp,
        disclosure_key: DisclosureJwk {
            kty: "EC".to_owned(),
            crv: "P-256".to_owned(),
            x: DISCLOSURE_KEY.0.to_owned(),
            y: DISCLOSURE_KEY.1.to_owned(),
        },
        behalf: "operator-1".to_owned(),
    }
}

/// The gateway's two keys, in the order that first entries have.
pub async fn introduce(setup: &Setup, project: ProjectId, decision: &SigningKey<Decision>) {
    let capability = SigningKey::<Capability>::from_seed(&random_seed());
    let shown = possession::prove(decision, project);
    let introduced =
        setup.introduce_gateway_key(project, Purpose::Decision, decision.public(), shown, "operator-1");
    introduced.await.expect("a decision key");
    let shown = possession::prove(&capability, project);
    let introduced =
        setup.introduce_gateway_key(project, Purpose::Capability, capability.public(), shown, "operator-1");
    introduced.await.expect("a capability key");
}

pub async fn publish(setup: &Setup, project: ProjectId) -> Publication {
    setup.publish_registry(project, "v = 1\n", BY).await.expect("a registry");
    setup.publish_rules(project, "", BY).await.expect("rules")
}

pub fn random_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    aws_lc_rs::rand::fill(&mut seed).expect("chance");
    seed
}

#[expect(clippy::disallowed_methods, reason = "tests read their own clock")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    Timestamp::from_millis(i64::try_from(since.as_millis()).expect("before year 9999")).expect("a time")
}
