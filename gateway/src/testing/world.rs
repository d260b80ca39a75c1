//! The parts put together.

use super::ledger::{self, Behaviour, Ledger, beginning, log_key};
use super::{Host, provider};
use crate::config::{Config, ProjectConfig, ProviderConfig};
use crate::control::Control;
use crate::serve::Gateway;
use counterfoil_core::control::{Credential, Documents, Grants, Snapshot, SnapshotKeys};
use counterfoil_core::digest::Digest;
use counterfoil_core::key::{Capability, Decision, Jwk, Purpose, SigningKey};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::{Environment, Verdict};
use counterfoil_jwks::{Holder, Kek, Mode, Store, secret};
use counterfoil_policy::{Bundle, pin_of};
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub const PROJECT: &str = "prj_019355a0c0007000800000000000a001";
pub const KEY: &str = "cfk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub const OTHER_KEY: &str = "cfk_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

const RULES: &str = r#"
@id("notes-read")
permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes")
when { context.now < datetime("2027-06-30T00:00:00Z") };

@id("notes-keep")
forbid (principal, action == Gw::Action::"notes.delete", resource);
"#;

pub struct World {
    pub ledger: Arc<Ledger>,
    pub host: Host,
    pub disclosure: EcKeyPair,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
}

impl World {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A world whose configuration is a little different.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let world = Self::unready(change).await;
        world.host.wait_until_ready().await;
        world
    }

    /// A world that may never get ready.
    pub async fn unready(change: impl FnOnce(&mut Config)) -> Self {
        Self::unready_beside(Behaviour::Sound, change).await
    }

    /// A world whose ledger behaves like that from the first moment on.
    pub async fn unready_beside(behaviour: Behaviour, change: impl FnOnce(&mut Config)) -> Self {
        let disclosure = EcKeyPair::generate(EcCurve::P256).expect("a key pair");
        let (ledger, evidence_url) = Ledger::start(snapshot(&disclosure)).await;
        ledger.behave(behaviour);
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(&folder, evidence_url);
        change(&mut config);
        let gateway = Gateway::bind(config).await.expect("a gateway");
        let host = Host::new(gateway.local_addr());
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let shutdown = async { stopped.await.unwrap_or(()) };
            gateway.run(shutdown).await.expect("a good end");
        });
        Self { ledger, host, disclosure, folder, stop: Some(stop), running: Some(running) }
    }

    /// The same world, spoken to under another key.
    pub fn with_key(self, key: &str) -> Self {
        Self { host: self.host.with_key(key), ..self }
    }

    /// Publishes another registry and other rules.
    pub fn publish(&self, change: impl FnOnce(&mut Documents)) {
        self.ledger.change(|snapshot| {
            let documents = snapshot.documents.as_mut().expect("documents");
            change(documents);
            let bundle = Bundle::compile(&documents.registry, &documents.rules);
            snapshot.policy = Some(bundle.map_err(|e| format!("{e:?}")).expect("a bundle").digest());
        });
    }

    /// What the provider saw: one line a call.
    pub fn provider_log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(log_path(&self.folder)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// From now on the provider describes a tool in other words.
    pub fn twist(&self) {
        std::fs::write(provider::twist(&log_path(&self.folder)), "").expect("written");
    }

    /// From now on the provider puts this into the results of its calls.
    pub fn states(&self, statement: &Value) {
        std::fs::write(provider::statement(&log_path(&self.folder)), statement.to_string()).expect("written");
    }

    pub fn decisions(&self) -> Vec<Value> {
        self.ledger.of_type("decision/v1")
    }

    pub async fn stop(&mut self) {
        if let (Some(stop), Some(running)) = (self.stop.take(), self.running.take()) {
            stop.send(()).expect("it runs");
            running.await.expect("a good end");
        }
    }
}

/// What the world's gateway knows, with this key as its own.
pub fn control_of_world(own: &SigningKey<Decision>) -> Control {
    let disclosure = EcKeyPair::generate(EcCurve::P256).expect("a key pair");
    let snapshot = snapshot(&disclosure);
    let (project, own) = (snapshot.project, [Jwk::new(own.public(), Purpose::Decision)]);
    Control::compile(snapshot, project, &own, None, None).expect("a good snapshot")
}

fn log_path(folder: &TempDir) -> PathBuf {
    folder.path().join("provider.log")
}

fn config(folder: &TempDir, evidence_url: String) -> Config {
    let path = |name: &str| folder.path().join(name);
    let kek = || Kek::from_hex(&"3b".repeat(32), "test").expect("a key");
    kek().write_new(&path("kek")).expect("written");
    let mut store = Store::create(&path("keys"), Holder::Gateway, kek()).expect("a store");
    store.mint::<Decision>(beginning()).expect("a key");
    store.mint::<Capability>(beginning()).expect("a key");
    store.mint_secret(secret::PAIRWISE_SUB).expect("a secret");
    store.mint_secret(secret::SESSION_SEAL).expect("a secret");
    std::fs::write(path("token"), ledger::TOKEN).expect("written");
    let provider = ProviderConfig {
        project: PROJECT.parse().expect("an id"),
        command: provider::command(),
        url: None,
        sealed_headers: Default::default(),
        headers_env: Default::default(),
        env: [provider::environment(&log_path(folder))].into_iter().collect(),
        folder: None,
        sharing: Default::default(),
        ceiling_seconds: 2,
    };
    Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        metrics_listen: None,
        evidence_url,
        service_token_file: path("token"),
        keys: path("keys"),
        kek_file: Some(path("kek")),
        credentials: None,
        mode: Mode::Dev,
        self_test: None,
        hosts: ["127.0.0.1".to_owned()].into(),
        origins: Default::default(),
        limits: Default::default(),
        holds: crate::config::HoldsConfig { wait_ms: 0, ..Default::default() },
        probes: crate::config::ProbesConfig { hours: 0, first_after_seconds: 0 },
        projects: vec![ProjectConfig { id: PROJECT.parse().expect("an id"), log_key: None }],
        providers: [("notes".parse().expect("an id"), provider)].into(),
    }
}

fn snapshot(disclosure: &EcKeyPair) -> Snapshot {
    let registry = registry();
    let bundle = Bundle::compile(&registry, RULES).map_err(|e| format!("{e:?}")).expect("a bundle");
    let credential = |key: &str, text: &str| Credential {
        key: key.parse().expect("an id"),
        digest: Digest::of(text.as_bytes()),
        agent: "agt_019355a0c0007000800000000000d001".parse().expect("an id"),
        principal: Some("u-88".into()),
        revoked: false,
    };
    Snapshot {
        v: 1,
        version: Digest::of(b""),
        ledger_time: beginning(),
        project: PROJECT.parse().expect("an id"),
        iss: "https://gw.example/p/7-k3m9q2v8".parse().expect("an issuer"),
        env: Environment::Live,
        control: 3,
        floor: 3,
        generation: 0,
        killed: false,
        stopped: vec![],
        breakglass_until: None,
        shadow_until: None,
        base_verdict: Verdict::StepUp,
        policy: Some(bundle.digest()),
        documents: Some(Documents { registry, rules: RULES.into() }),
        grants: Grants { v: 1, nonce: Nonce16::from_bytes([5; 16]), grants: vec![] },
        disclosure_key: Value::Object(disclosure.to_jwk_public_key().as_ref().clone()),
        credentials: vec![
            credential("key_019355a0c0007000800000000000c001", KEY),
            credential("key_019355a0c0007000800000000000c002", OTHER_KEY),
        ],
        keys: SnapshotKeys {
            log: vec![Jwk::new(log_key().public(), Purpose::Log)],
            ledger: vec![],
            decision: vec![],
            capability: vec![],
        },
    }
}

/// Every tool but `unheard_of`; `note_write` has no rule.
fn registry() -> String {
    let mut text = "v = 1\n[provider.notes]\ncapability = true\n".to_owned();
    for tool in provider::tools() {
        let name = tool["name"].as_str().expect("a name");
        let (verb, operation) = match name {
            "unheard_of" => continue,
            "note_write" => ("delete", "delete"),
            "slow" | "die" | "flood" | "odd" | "fail" | "guarded" | "note_read" => ("read", "read"),
            other => panic!("{other} is in no registry"),
        };
        text.push_str(&format!(
            "[provider.notes.tool.{name}]\nservice = \"notes\"\nverb = \"{verb}\"\noperation = \"{operation}\"\n\
             nouns = [{{ type = \"path\", at = \"/path\" }}]\npin = \"{}\"\n",
            pin_of(&tool)
        ));
    }
    text
}
