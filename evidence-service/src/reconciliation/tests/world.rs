//! A project with two providers that sign, whose clock the test moves.

mod reading;
mod saying;

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::commitment::{Commitment, OpeningSeed};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ActionId, InstanceId, ProjectId, ProviderId};
use counterfoil_core::key::{
    Capability, Decision as DecisionKey, Execution as ExecutionKey, Ledger as LedgerKey, Log, Purpose,
    SigningKey,
};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::{
    Decision, DecisionType, Effect, Environment, Execution, ExecutionType, KeyEvent, Mode, Observation,
    ObservationReason, ObservationStatus, ObservationType, Origin, Outcome, Reason, Received, ReceivedBytes,
    ReceivedForm, ReceivedType, Signer, Statement, Verdict,
};
use counterfoil_core::time::Timestamp;
use counterfoil_jwks::{Holder, Kek, Mode as KeyMode, Store, possession};
use tokio::sync::OnceCell;

use super::record::{Bodies, append_at};
use crate::clock;
use crate::cluster::{Binaries, Cluster, Running};
use crate::config::{Config, DatabaseConfig, PackagesConfig, Rate};
use crate::control::windows::{self, Turning, Window};
use crate::keys::change::{KeyChange, KeyChanges};
use crate::ledger::append::Job;
use crate::ledger::{Ledger, Project};
use crate::reconciliation::sweep;
use crate::reconciliation::terms::Registries;
use crate::reconciliation::turn::{self, Left, Turn};
use crate::setup::{
    Attested, DisclosureJwk, NewProject, Publication, Setup, migrate, open_ledger, prepare_database,
};

static CLUSTER: OnceCell<Running> = OnceCell::const_new();

const BY: Attested<'static> = Attested { behalf: "operator-1", reason: None };

pub(super) struct World {
    pub(super) config: Config,
    pub(super) ledger: Arc<Ledger>,
    pub(super) setup: Setup,
    pub(super) project: Arc<Project>,
    pub(super) published: Publication,
    pub(super) decision: SigningKey<DecisionKey>,
    /// Keys of `notes` and `mail`.
    pub(super) notes: SigningKey<ExecutionKey>,
    pub(super) mail: SigningKey<ExecutionKey>,
    pub(super) registries: Registries,
    /// The time of the next entry.
    pub(super) now: Timestamp,
    _folder: tempfile::TempDir,
}

/// What names a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) action: ActionId,
    pub(super) decision: Digest,
}

pub(super) fn value(name: &str) -> Commitment {
    OpeningSeed::from_bytes([0; 16]).commit("value", name).commitment()
}

fn config(running: &Running, folder: &std::path::Path) -> Config {
    Config {
        host: "counterfoil.localhost".parse().unwrap(),
        mode: KeyMode::Dev,
        listen_public: "127.0.0.1:0".parse().unwrap(),
        listen_internal: "127.0.0.1:0".parse().unwrap(),
        listen_console: None,
        keys: folder.join("evidence-keys.sealed"),
        kek_file: Some(folder.join("kek.hex")),
        heads_file: folder.join("heads.json"),
        hosts: Vec::new(),
        rate: Rate::default(),
        lease_seconds: 30,
        packages: PackagesConfig::default(),
        database: DatabaseConfig {
            host: running.socket_folder().to_str().unwrap().to_owned(),
            port: running.port(),
            name: "compared".to_owned(),
            app_user: "counterfoil_app".to_owned(),
            reader_user: "counterfoil_reader".to_owned(),
            sweeper_user: "counterfoil_sweeper".to_owned(),
            migrator_user: "counterfoil_migrator".to_owned(),
            password_file: None,
            connections: 4,
        },
    }
}

async fn cluster() -> &'static Running {
    CLUSTER
        .get_or_init(|| async {
            let cluster = Cluster::throw_away(&Binaries::find(None).unwrap()).unwrap();
            let running = cluster.start(&[("fsync", "off"), ("max_connections", "300")]).unwrap();
            prepare_database(&running.admin("postgres"), "compared").await.unwrap();
            migrate(&config(&running, std::path::Path::new(""))).await.unwrap();
            running
        })
        .await
}

fn mint(config: &Config) {
    let kek = Kek::mint().unwrap();
    kek.write_new(config.kek_file.as_deref().unwrap()).unwrap();
    let mut store = Store::create(&config.keys, Holder::Evidence, kek).unwrap();
    store.mint::<LedgerKey>(clock::now()).unwrap();
    store.mint::<Log>(clock::now()).unwrap();
}

pub(super) fn fresh<P: counterfoil_core::key::KeyPurpose>() -> SigningKey<P> {
    SigningKey::from_seed(&clock::fresh_bytes().unwrap())
}

pub(super) const INSTANCE: [u8; 16] = [9; 16];

impl World {
    /// Providers sign within ten minutes.
    pub(super) async fn new() -> Self {
        Self::signing("signs = true\nsign_within = 600").await
    }

    /// `terms` are lines of both providers' entries.
    pub(super) async fn signing(terms: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config(cluster().await, folder.path());
        mint(&config);
        let setup = Setup::open(&config).await.unwrap();
        let coordinate = counterfoil_core::nonce::base64url(&[7; 32]);
        let new = NewProject {
            name: "Compared".to_owned(),
            env: Environment::Live,
            base_verdict: Verdict::StepUp,
            disclosure_key: DisclosureJwk {
                kty: "EC".to_owned(),
                crv: "P-256".to_owned(),
                x: coordinate.clone(),
                y: coordinate,
            },
            behalf: "operator-1".to_owned(),
        };
        let project = setup.create_project(&new).await.unwrap();
        let (decision, capability) = (fresh::<DecisionKey>(), fresh::<Capability>());
        introduce(&setup, project.id, Purpose::Decision, &decision).await;
        introduce(&setup, project.id, Purpose::Capability, &capability).await;
        let registry = format!("v = 1\n[provider.notes]\n{terms}\n[provider.mail]\n{terms}\n");
        setup.publish_registry(project.id, &registry, BY).await.unwrap();
        let published = setup.publish_rules(project.id, "", BY).await.unwrap();
        let ledger = open_ledger(&config).await.unwrap();
        let (notes, mail) = (fresh::<ExecutionKey>(), fresh::<ExecutionKey>());
        let mut world = Self {
            config,
            ledger,
            setup,
            project,
            published,
            decision,
            notes,
            mail,
            registries: Registries::default(),
            now: clock::now(),
            _folder: folder,
        };
        let (notes, mail) = (world.notes.public().clone(), world.mail.public().clone());
        world.provider_key("notes", KeyEvent::Introduced, &notes).await;
        world.provider_key("mail", KeyEvent::Introduced, &mail).await;
        // From here on the test's clock counts; whole seconds, ahead of every other.
        world.now = Timestamp::from_millis((clock::now().millis() / 1000 + 60) * 1000).unwrap();
        world
    }

    pub(super) fn id(&self) -> ProjectId {
        self.project.id
    }

    pub(super) fn wait(&mut self, millis: i64) {
        self.now = self.now.plus_millis(millis);
    }

    pub(super) async fn provider_key(
        &mut self,
        provider: &str,
        event: KeyEvent,
        key: &counterfoil_core::key::PublicKey,
    ) {
        let imported = KeyChange::import(provider.parse().unwrap(), key.clone(), None);
        let change = KeyChange { event, ..imported };
        let job = KeyChanges {
            issuer: self.project.issuer.clone(),
            behalf: "operator-1".to_owned(),
            changes: vec![change],
            signer: &self.ledger.keys().ledger,
        };
        append_at(&self.ledger, self.id(), &job, self.now).await.unwrap();
        // Keys change what decides.
        self.published.control += 1;
    }

    /// For as long as the longest may stand.
    pub(super) async fn open(&mut self, window: Window) {
        let job = Turning {
            window,
            turn: windows::Turn::Open { minutes: window.longest_minutes() },
            issuer: self.project.issuer.clone(),
            behalf: "operator-1".to_owned(),
            reason: "Cases that lean on it.".parse().unwrap(),
            signer: &self.ledger.keys().ledger,
        };
        append_at(&self.ledger, self.id(), &job, self.now).await.unwrap();
        self.published.control += 1;
    }

    pub(super) async fn append<J: Job>(&self, job: &J) -> u64 {
        append_at(&self.ledger, self.id(), job, self.now).await.unwrap().last_seq().unwrap()
    }

    async fn enter<T>(&self, signed: &Signed<T>) -> Digest {
        self.append(&Bodies::one(InstanceId::from_uuid(uuid::Uuid::from_bytes(INSTANCE)), signed)).await;
        signed.digest()
    }

    /// Turns until nothing is left, at the world's time.
    pub(super) async fn compare(&mut self) {
        for _ in 0..1000 {
            let read = Turn::read(&self.ledger, self.project.id, &mut self.registries, self.now).await;
            let Ok(turn) = read.unwrap() else { return };
            let said = match turn.has_to_say() {
                true => {
                    let saying = turn.saying(&self.ledger).await.unwrap();
                    append_at(&self.ledger, self.id(), &saying, self.now).await.unwrap().sealed.is_some()
                }
                false => false,
            };
            if !said {
                turn.keep(&self.ledger).await.unwrap();
            }
        }
        panic!("a comparison without an end");
    }

    /// One sweep: every gateway was silent for a lease.
    pub(super) async fn sweep(&self) {
        let now = self.now;
        let silent = sweep::silent(&self.ledger, self.id(), Duration::from_millis(1), now).await.unwrap();
        if let Some(outcomes) = silent {
            append_at(&self.ledger, self.id(), &outcomes, now).await.unwrap();
        }
    }

    /// One turn under the real clock.
    pub(super) async fn take(&mut self) -> Left {
        turn::take(&self.ledger, self.project.id, &mut self.registries, clock::now()).await.unwrap()
    }
}

async fn introduce<P: counterfoil_core::key::KeyPurpose>(
    setup: &Setup,
    project: ProjectId,
    purpose: Purpose,
    key: &SigningKey<P>,
) {
    let shown = possession::prove(key, project);
    setup.introduce_gateway_key(project, purpose, key.public(), shown, "operator-1").await.unwrap();
}

pub(super) fn notes() -> ProviderId {
    "notes".parse().unwrap()
}

pub(super) fn nonce() -> Nonce16 {
    clock::fresh_nonce().unwrap()
}
