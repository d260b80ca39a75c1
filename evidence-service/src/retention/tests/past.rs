//! A project whose days lie in the past: the record transaction as it is, but for the clock.

use std::sync::Arc;

use counterfoil_core::audit::Clean;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ActionId, AgentId, KeyId, ProjectId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Decision as DecisionPurpose, Ledger as LedgerPurpose, Log, Purpose, SigningKey};
use counterfoil_core::nonce::base64url;
use counterfoil_core::statement::{
    Decision, DecisionType, Effect, Environment, Mode, Observation, ObservationStatus, ObservationType,
    Origin, Reason, Verdict,
};
use counterfoil_core::time::Timestamp;
use counterfoil_jwks::{Holder, Kek, Store, possession};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use crate::clock;
use crate::cluster::{Binaries, Cluster, Running};
use crate::config::Config;
use crate::database::{DatabaseError, ProjectTx};
use crate::keys::change::{KeyChange, KeyChanges};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed, seal};
use crate::ledger::{Ledger, Project, store};
use crate::setup::{Setup, migrate, open_ledger, prepare_database};

pub(super) struct Past {
    pub(super) config: Config,
    pub(super) ledger: Arc<Ledger>,
    pub(super) setup: Setup,
    pub(super) project: ProjectId,
    decision: SigningKey<DecisionPurpose>,
    agent: AgentId,
    _folder: tempfile::TempDir,
}

/// One cluster for all tests of this file; it ends with the process.
static CLUSTER: OnceCell<Running> = OnceCell::const_new();

async fn cluster() -> &'static Running {
    CLUSTER
        .get_or_init(|| async {
            let cluster = Cluster::throw_away(&Binaries::find(None).unwrap()).unwrap();
            cluster.start(&[("fsync", "off"), ("max_connections", "300")]).unwrap()
        })
        .await
}

impl Past {
    /// A project whose first entries are of that time.
    pub(super) async fn since(at: Timestamp) -> Self {
        let running = cluster().await;
        let name = format!("past_{}", clock::fresh_uuid().simple());
        prepare_database(&running.admin("postgres"), &name).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = config(running, &name, folder.path());
        migrate(&config).await.unwrap();
        make_keys(&config);
        let past = Self {
            ledger: open_ledger(&config).await.unwrap(),
            setup: Setup::open(&config).await.unwrap(),
            config,
            project: ProjectId::from_uuid(clock::fresh_uuid()),
            decision: SigningKey::from_seed(&clock::fresh_bytes().unwrap()),
            agent: AgentId::from_uuid(clock::fresh_uuid()),
            _folder: folder,
        };
        past.found(running, at).await;
        past
    }

    async fn found(&self, running: &Running, at: Timestamp) {
        let issuer: Issuer = "https://counterfoil.localhost/p/0-k3m9q2v8".parse().unwrap();
        let (admin, driver) = running.admin(&self.config.database.name).connect(NoTls).await.unwrap();
        tokio::spawn(driver);
        let slot =
            "insert into slots (slot, public_id, project_id, created_at) values (0, 'k3m9q2v8', $1, 0)";
        admin.execute(slot, &[&self.project.uuid()]).await.unwrap();
        let project = Project {
            id: self.project,
            issuer,
            name: "Past".to_owned(),
            env: Environment::Live,
            base_verdict: Verdict::Deny,
            disclosure_key: "{}".to_owned(),
            grants_nonce: clock::fresh_nonce().unwrap().to_string(),
        };
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.project).await.unwrap();
        store::insert_project(&tx, &project, at.millis()).await.unwrap();
        store::insert_head(&tx, &Head::of_new_project(self.project, at)).await.unwrap();
        tx.commit().await.unwrap();
        let keys = self.ledger.keys();
        let ledger = KeyChange::introduction(
            Purpose::Ledger,
            keys.ledger.public().clone(),
            possession::prove(&keys.ledger, self.project),
        );
        let log = KeyChange::introduction(
            Purpose::Log,
            keys.log.public().clone(),
            possession::prove(&keys.log, self.project),
        );
        let decision = KeyChange::introduction(
            Purpose::Decision,
            self.decision.public().clone(),
            possession::prove(&self.decision, self.project),
        );
        let job = KeyChanges {
            issuer: project.issuer,
            behalf: "operator".to_owned(),
            changes: vec![ledger, log, decision],
            signer: &keys.ledger,
        };
        self.append(&job, at).await;
    }

    /// `Ledger::append` at another time.
    async fn append<J: Job>(&self, job: &J, at: Timestamp) -> Sealed {
        let issuer = self.ledger.project(self.project).await.unwrap().issuer.clone();
        let mut client = self.ledger.database().app().await.unwrap();
        let locked = store::lock_and_read(&mut client, self.project, &job.questions()).await.unwrap();
        let (tx, head, facts) = locked.unwrap();
        let plan = job.plan(&head, &facts, at).unwrap();
        let sealed = seal(plan.accepted, plan.head, at, &issuer, self.ledger.keys());
        store::write(&tx, &sealed, &[], &std::collections::HashMap::new()).await.unwrap();
        job.beside(&tx, &sealed).await.unwrap();
        tx.commit().await.unwrap();
        sealed
    }

    /// So many refused calls, each with what the gateway saw of it and an opening. The decisions' entries.
    pub(super) async fn calls(&self, count: usize, at: Timestamp) -> Vec<u64> {
        self.calls_by(KeyId::from_uuid(clock::fresh_uuid()), count, at).await
    }

    /// As [`Self::calls`], by one API key.
    pub(super) async fn calls_by(&self, key: KeyId, count: usize, at: Timestamp) -> Vec<u64> {
        let issuer = self.ledger.project(self.project).await.unwrap().issuer.clone();
        let mut said = Vec::new();
        let mut openings = Vec::new();
        for _ in 0..count {
            let decision = self.decided(&issuer, key, at);
            let action = decision.action;
            let decision = Signed::sign(decision, &self.decision);
            openings.push((decision.digest(), "a.b.c.d.marked-opening".to_owned()));
            let seen = self.seen(&issuer, action, decision.digest(), at);
            said.push(accepted(&decision));
            said.push(accepted(&Signed::sign(seen, &self.decision)));
        }
        let sealed = self.append(&Said(said), at).await;
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.project).await.unwrap();
        store::insert_openings(&tx, &openings).await.unwrap();
        tx.commit().await.unwrap();
        sealed.placed[sealed.before..].iter().step_by(2).map(|placed| placed.entry.seq).collect()
    }

    fn decided(&self, issuer: &Issuer, key: KeyId, at: Timestamp) -> Decision {
        Decision {
            typ: DecisionType::V1,
            iss: issuer.clone(),
            project: self.project,
            env: Environment::Live,
            action: ActionId::from_uuid(clock::fresh_uuid()),
            follows: None,
            supersedes: None,
            session: None,
            run: None,
            at,
            nonce: clock::fresh_nonce().unwrap(),
            origin: Origin::Mcp,
            mode: Mode::Gateway,
            via: key.to_string(),
            agent: self.agent,
            principal: None,
            provider: Some("notes".parse().unwrap()),
            tool: Some("marked_tool".parse().unwrap()),
            pin: None,
            class: None,
            shape: None,
            args: None,
            facts: base64url(&clock::fresh_bytes::<32>().unwrap()).parse().unwrap(),
            verdict: Verdict::Deny,
            reason: Reason::Rule,
            rules: Vec::new(),
            policy: Digest::of(b"bundle"),
            grants: Digest::of(b"grants"),
            control: 3,
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

    fn seen(&self, issuer: &Issuer, action: ActionId, decision: Digest, at: Timestamp) -> Observation {
        Observation {
            typ: ObservationType::V1,
            iss: issuer.clone(),
            project: self.project,
            env: Environment::Live,
            action,
            decision,
            provider: "notes".parse().unwrap(),
            tool: "marked_tool".parse().unwrap(),
            status: ObservationStatus::Returned,
            reason: None,
            is_error: Some(false),
            result: None,
            error: None,
            sent_at: Some(at),
            at,
            nonce: clock::fresh_nonce().unwrap(),
        }
    }

    /// Everything was held against everything, and nothing waits.
    pub(super) async fn compared(&self) {
        let (admin, driver) = cluster().await.admin(&self.config.database.name).connect(NoTls).await.unwrap();
        tokio::spawn(driver);
        let all = "insert into reconciled (project_id, upto) select project_id, size from heads where project_id = $1";
        admin.execute(all, &[&self.project.uuid()]).await.unwrap();
    }

    /// An opening of a decision that stands at `seq`, arriving now.
    pub(super) async fn late_opening(&self, seq: u64) {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.project).await.unwrap();
        let row = store::audit::entry_rows(&tx, i64::try_from(seq).unwrap() - 1, 1).await.unwrap().remove(0);
        let decision = store::digest(store::audit::entry(&row).unwrap().body_digest).unwrap();
        store::insert_openings(&tx, &[(decision, "a.b.c.d.late".to_owned())]).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// What a holder pins.
    pub(super) fn jwks(&self) -> String {
        let keys = self.ledger.keys();
        let key = |purpose: &str, public: &counterfoil_core::key::PublicKey| {
            serde_json::json!({"kty": "OKP", "crv": "Ed25519", "alg": "Ed25519", "use": "sig", "purpose": purpose,
                               "kid": public.thumbprint(), "x": public.x(), "from": "2020-01-01T00:00:00.000Z"})
        };
        let set = serde_json::json!({
            "iss": "https://counterfoil.localhost/p/0-k3m9q2v8",
            "keys": [key("log", keys.log.public()), key("ledger", keys.ledger.public()),
                     key("decision", self.decision.public())]
        });
        set.to_string()
    }

    /// Recomputed from what is left, which must be right.
    pub(super) async fn clean(&self) -> Clean {
        self.ledger.audit(self.project).await.unwrap().unwrap()
    }

    /// The answer of the database to a question that names the project as `$1`.
    pub(super) async fn count(&self, question: &str) -> i64 {
        let (admin, driver) = cluster().await.admin(&self.config.database.name).connect(NoTls).await.unwrap();
        tokio::spawn(driver);
        admin.query_one(question, &[&self.project.uuid()]).await.unwrap().get(0)
    }
}

fn accepted<T>(signed: &Signed<T>) -> Accepted {
    let envelope = counterfoil_core::envelope::Envelope::parse(signed.bytes()).unwrap();
    let statement = envelope.statement().unwrap();
    Accepted {
        kind: statement.kind(),
        digest: signed.digest(),
        body: signed.bytes().to_vec(),
        projection: counterfoil_core::projection::Projection::of(&statement),
    }
}

/// Statements that are accepted as they are.
struct Said(Vec<Accepted>);

impl Job for Said {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, _: Timestamp) -> Result<Plan<()>, AppendError> {
        let copy = |said: &Accepted| Accepted {
            kind: said.kind,
            digest: said.digest,
            body: said.body.clone(),
            projection: said.projection.clone(),
        };
        let accepted = self.0.iter().map(copy).collect();
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }
}

fn make_keys(config: &Config) {
    let kek = Kek::mint().unwrap();
    kek.write_new(config.kek_file.as_deref().unwrap()).unwrap();
    let mut store = Store::create(&config.keys, Holder::Evidence, kek).unwrap();
    store.mint::<LedgerPurpose>(clock::now()).unwrap();
    store.mint::<Log>(clock::now()).unwrap();
}

/// As an operator writes it, so that whatever is not said has its default.
fn config(running: &Running, database: &str, folder: &std::path::Path) -> Config {
    let text = format!(
        "host = \"counterfoil.localhost\"\nmode = \"dev\"\nlisten_public = \"127.0.0.1:0\"\n\
         listen_internal = \"127.0.0.1:0\"\nkeys = \"evidence-keys.sealed\"\nkek_file = \"kek.hex\"\n\
         heads_file = \"heads.json\"\n[database]\nhost = {:?}\nport = {}\nname = {database:?}\n",
        running.socket_folder(),
        running.port(),
    );
    let path = folder.join("evidence.toml");
    std::fs::write(&path, text).unwrap();
    Config::from_file(&path).unwrap()
}
