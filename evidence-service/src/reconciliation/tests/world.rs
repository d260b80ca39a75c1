//! A project with two providers that sign, whose clock the test moves.

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

    pub(super) async fn append<J: Job>(&self, job: &J) -> u64 {
        append_at(&self.ledger, self.id(), job, self.now).await.unwrap().last_seq().unwrap()
    }

    async fn enter<T>(&self, signed: &Signed<T>) -> Digest {
        self.append(&Bodies::one(InstanceId::from_uuid(uuid::Uuid::from_bytes(INSTANCE)), signed)).await;
        signed.digest()
    }

    pub(super) fn decision(&self, verdict: Verdict) -> Decision {
        Decision {
            typ: DecisionType::V1,
            iss: self.project.issuer.clone(),
            project: self.id(),
            env: Environment::Live,
            action: ActionId::from_uuid(clock::fresh_uuid()),
            follows: None,
            supersedes: None,
            session: None,
            run: None,
            at: self.now,
            nonce: nonce(),
            origin: Origin::Mcp,
            mode: Mode::Gateway,
            via: "key_0".to_owned(),
            agent: Setup::fresh_agent(),
            principal: None,
            provider: Some(notes()),
            tool: Some("note_write".parse().unwrap()),
            pin: None,
            class: None,
            shape: None,
            args: Some(value("args")),
            facts: value("facts"),
            verdict,
            reason: Reason::Rule,
            rules: Vec::new(),
            policy: self.published.policy.unwrap(),
            grants: Digest::of(b"grants"),
            control: self.published.control,
            generation: 0,
            effect: Effect::Enforced,
            marks: Vec::new(),
            hold: None,
            answers: None,
            capability: None,
            ask: None,
            quote: None,
            plan: None,
        }
    }

    pub(super) async fn decide(&self, decision: Decision) -> Call {
        let action = decision.action;
        Call { action, decision: self.enter(&Signed::sign(decision, &self.decision)).await }
    }

    pub(super) async fn allow(&self) -> Call {
        self.decide(self.decision(Verdict::Allow)).await
    }

    pub(super) fn observation(&self, call: Call, status: ObservationStatus) -> Observation {
        let returned = status == ObservationStatus::Returned;
        Observation {
            typ: ObservationType::V1,
            iss: self.project.issuer.clone(),
            project: self.id(),
            env: Environment::Live,
            action: call.action,
            decision: call.decision,
            provider: notes(),
            tool: "note_write".parse().unwrap(),
            status,
            reason: (status == ObservationStatus::NotSent).then_some(ObservationReason::TooLate),
            is_error: returned.then_some(false),
            result: returned.then(|| value("result")),
            error: None,
            sent_at: Some(self.now),
            at: self.now,
            nonce: nonce(),
        }
    }

    pub(super) async fn observe(&self, seen: Observation) -> Digest {
        self.enter(&Signed::sign(seen, &self.decision)).await
    }

    pub(super) fn execution(&self, call: Call, outcome: Outcome) -> Execution {
        Execution {
            typ: ExecutionType::V1,
            iss: notes(),
            project: self.id(),
            action: call.action,
            provider: notes(),
            tool: "note_write".parse().unwrap(),
            decision: call.decision,
            capability: None,
            args: Some(value("args")),
            outcome,
            result: (outcome == Outcome::Executed).then(|| value("result")),
            error_code: None,
            charged: None,
            started_at: None,
            executed_at: self.now,
            nonce: nonce(),
            seen: None,
        }
    }

    /// As the provider `notes` signs it.
    pub(super) async fn state(&self, said: Execution) -> Digest {
        self.submit(said, &self.notes, true).await
    }

    /// Wrapped as the service wraps it: `holds` is what it found.
    pub(super) async fn submit(
        &self,
        said: Execution,
        key: &SigningKey<ExecutionKey>,
        holds: bool,
    ) -> Digest {
        let bytes = Signed::sign(said, key).bytes().to_vec();
        let kid = key.kid().clone();
        let known = holds.then(|| kid.clone());
        let signer = Signer { kid: Some(kid.to_string()), thumbprint: known };
        self.wrap(ReceivedForm::ExecutionNative, signer, holds, bytes).await
    }

    pub(super) async fn wrap(
        &self,
        form: ReceivedForm,
        signer: Signer,
        holds: bool,
        bytes: Vec<u8>,
    ) -> Digest {
        let received = Received {
            typ: ReceivedType::V1,
            form,
            signer,
            project: self.id(),
            at: self.now,
            holds,
            bytes: ReceivedBytes(bytes),
        };
        self.enter(&Signed::sign(received, &self.ledger.keys().ledger)).await
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

    /// Every entry: number, time, body.
    pub(super) async fn bodies(&self) -> Vec<Statement> {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let read =
            crate::reconciliation::store::entries::batch(&tx, 0, i64::MAX, i64::MAX.unsigned_abs()).await;
        let all: Vec<u64> = read.unwrap().iter().map(|entered| entered.entry.seq).collect();
        let read = crate::reconciliation::store::entries::at(&tx, &all).await.unwrap();
        read.into_iter().map(|entered| entered.statement.expect("a body")).collect()
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

impl World {
    /// Past row-level security, to look at all rows.
    pub(super) async fn superuser(
        &self,
    ) -> (
        tokio_postgres::Client,
        tokio_postgres::Connection<tokio_postgres::Socket, tokio_postgres::tls::NoTlsStream>,
    ) {
        cluster().await.admin("compared").connect(tokio_postgres::NoTls).await.unwrap()
    }

    /// Every finding that stands, cleared or not: code, and what it is about.
    pub(super) async fn findings(&self) -> Vec<(String, Digest)> {
        let findings = self.bodies().await.into_iter().filter_map(|statement| match statement {
            Statement::Finding(said) => Some((said.code.as_str().to_owned(), said.statement.unwrap())),
            _ => None,
        });
        findings.collect()
    }

    /// Clearances: code, and what came.
    pub(super) async fn clearances(&self) -> Vec<(String, Digest)> {
        let cleared = self.bodies().await.into_iter().filter_map(|statement| match statement {
            Statement::Clearance(said) => Some((said.code.as_str().to_owned(), said.statement)),
            _ => None,
        });
        cleared.collect()
    }

    /// Account and status of a call as it was last compared, and when that may change.
    pub(super) async fn stands(&self, call: Call) -> (String, String, Option<i64>) {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let named = [(call.action, call.decision)];
        let kept = crate::reconciliation::store::matters::named(&tx, &named).await.unwrap().remove(0);
        (kept.account, kept.status, kept.again_after.map(Timestamp::millis))
    }

    /// The sums are the sums of the rows, there is a row for every decision, and every finding has one.
    pub(super) async fn assert_sums(&self) {
        let (client, driver) = self.superuser().await;
        tokio::spawn(driver);
        let id = self.id().uuid();
        let sums =
            "select account, status, count(*) from matters where project_id = $1 group by 1, 2 order by 1, 2";
        let kept =
            "select account, status, calls from tallies where project_id = $1 and calls > 0 order by 1, 2";
        let read = async |sql: &str| -> Vec<(String, String, i64)> {
            let rows = client.query(sql, &[&id]).await.unwrap();
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
        };
        assert_eq!(read(sums).await, read(kept).await);
        let apart = "select (select count(*) from entries where project_id = $1 and kind = 'decision'), \
                     (select count(*) from matters where project_id = $1), \
                     (select count(*) from entries where project_id = $1 and kind = 'finding'), \
                     (select count(*) from findings where project_id = $1)";
        let row = client.query_one(apart, &[&id]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1), "a row for every decision");
        assert_eq!(row.get::<_, i64>(2), row.get::<_, i64>(3), "a row for every finding");
    }
}

impl World {
    /// Size and root of the record.
    pub(super) async fn head(&self) -> (u64, counterfoil_core::tree::Hash) {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let head = crate::ledger::store::read_head(&tx).await.unwrap().unwrap();
        (head.size(), head.root())
    }

    /// How far it was compared.
    pub(super) async fn upto(&self) -> u64 {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        crate::reconciliation::store::position::read(&tx).await.unwrap().unwrap().upto
    }

    /// A decision that is signed and not in the record.
    pub(super) fn signed_decision(&self, verdict: Verdict) -> (Call, Signed<Decision>) {
        let decision = self.decision(verdict);
        let action = decision.action;
        let signed = Signed::sign(decision, &self.decision);
        (Call { action, decision: signed.digest() }, signed)
    }

    pub(super) async fn enter_decision(&self, signed: &Signed<Decision>) {
        self.enter(signed).await;
    }

    /// A statement that no key of ours signed, as the body of an entry.
    pub(super) fn wrapped(&self, said: Execution, key: &SigningKey<ExecutionKey>) -> Vec<u8> {
        let bytes = Signed::sign(said, key).bytes().to_vec();
        let signer = Signer { kid: Some(key.kid().to_string()), thumbprint: None };
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::ExecutionNative,
            signer,
            project: self.id(),
            at: self.now,
            holds: false,
            bytes: ReceivedBytes(bytes),
        };
        Signed::sign(received, &self.ledger.keys().ledger).bytes().to_vec()
    }

    /// All in one commit.
    pub(super) async fn enter_all(&self, bodies: Vec<Vec<u8>>) {
        let instance = InstanceId::from_uuid(uuid::Uuid::from_bytes(INSTANCE));
        self.append(&Bodies { instance, bodies }).await;
    }
}
