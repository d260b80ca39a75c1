//! Deployments in temporary folders, on a real Postgres.

use counterfoil_core::key::{Decision, PublicKey};
use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::Setup;
use counterfoil_jwks::{Mode, possession};
use tempfile::TempDir;

use super::database::Database;
use super::founding::{FirstKey, Founded, OPERATOR, Wish, evidence_store, found, gateway_store};
use super::ports::PortArguments;
use super::project::{DatabaseKind, ProjectRecord};
use super::publishing::publish_changed;
use super::rotation::{replace, replace_ledger};
use super::source::Source;
use super::*;
use crate::clock;

struct Site {
    folder: Folder,
    database: Database,
    founded: Founded,
}

async fn site() -> Site {
    let folder = Folder::temporary().unwrap();
    let database = Database::managed(&folder).unwrap();
    let ports = PortArguments::any().settle().unwrap();
    let wish = Wish {
        host: "gw.example",
        mode: Mode::Production,
        project: "demo",
        agent: "agent",
        database: DatabaseKind::Managed,
        first_key: FirstKey::Made,
    };
    let founded = found(&folder, &wish, &database, &ports).await.unwrap();
    Site { folder, database, founded }
}

impl Site {
    async fn setup(&self) -> Setup {
        Setup::open(&Config::from_file(&self.folder.evidence_config()).unwrap()).await.unwrap()
    }
}

/// C3: what is secret is readable by its owner alone, and stands in no other file.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_shows_its_secrets_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let site = site().await;
    super::standing::write_gateway_config(
        &site.folder,
        &site.founded.record,
        Mode::Production,
        &PortArguments::any().settle().unwrap(),
        (&Default::default(), super::config::HoldWait::millis(0)),
    )
    .unwrap();
    // What names no secret: the project, and where the heads were.
    let open = ["project.toml", "evidence-heads.json"];

    let mut private = 0;
    for entry in fs::read_dir(site.folder.path()).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            continue;
        } else if open.contains(&name.as_str()) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("cfk_") && !text.contains("cfs_"), "{text}");
        } else {
            private += 1;
            let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, 0o600, "{name}");
        }
    }
    // Two sealed stores with their locks, two key-encryption keys, two configurations, the service token, the
    // disclosure key.
    assert_eq!(private, 10);
    assert!(site.founded.api_key.as_ref().is_some_and(|key| key.starts_with("cfk_")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_temporary_deployment_leaves_nothing_behind() {
    let site = site().await;
    let (folder, socket) = (site.folder.path().to_owned(), PathBuf::from(&site.database.address.host));
    assert!(folder.exists() && socket.exists());

    drop(site);

    assert!(!folder.exists() && !socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_services_cannot_open_each_others_keys() {
    let site = site().await;

    fs::copy(site.folder.gateway_kek(), site.folder.path().join("kept")).unwrap();
    fs::copy(site.folder.evidence_kek(), site.folder.gateway_kek()).unwrap();

    assert!(
        gateway_store(&site.folder, Mode::Production).unwrap_err().to_string().contains("is sealed under")
    );
    assert!(evidence_store(&site.folder, Mode::Production).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_never_made_over_another() {
    let site = site().await;
    let before = ProjectRecord::of(&site.folder).unwrap();
    let wish = Wish {
        host: "gw.example",
        mode: Mode::Production,
        project: "other",
        agent: "other",
        database: DatabaseKind::Managed,
        first_key: FirstKey::Made,
    };
    let ports = PortArguments::any().settle().unwrap();

    let again = found(&site.folder, &wish, &site.database, &ports).await;

    assert!(again.is_err());
    assert_eq!(ProjectRecord::of(&site.folder).unwrap().id, before.id);
}

/// Somebody who removes the folder and begins again must not go on in a ledger whose keys are gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_deployment_is_refused_and_leaves_no_keys() {
    let site = site().await;
    let other = TempDir::new().unwrap();
    let folder = Folder::open(other.path()).unwrap();
    let wish = Wish {
        host: "gw.example",
        mode: Mode::Production,
        project: "other",
        agent: "other",
        database: DatabaseKind::Managed,
        first_key: FirstKey::Made,
    };
    let ports = PortArguments::any().settle().unwrap();

    let refused = found(&folder, &wish, &site.database, &ports).await;

    assert!(refused.is_err_and(|error| error.to_string().contains("bring them back")));
    assert!(!folder.evidence_keys().exists() && !folder.gateway_kek().exists());
    assert_eq!(site.setup().await.projects().await.unwrap().len(), 1);
}

/// C3: a rotation mints a new key id, and an interrupted one goes on instead of starting over.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_goes_on_wherever_it_stopped() {
    let site = site().await;
    let (record, setup) = (ProjectRecord::of(&site.folder).unwrap(), site.setup().await);
    let mut store = gateway_store(&site.folder, Mode::Production).unwrap();
    let old = store.signing_key::<Decision>().unwrap().kid().clone();
    let token = fs::read(site.folder.service_token()).unwrap();

    // Stopped after the successor was introduced.
    let staged = store.stage::<Decision>(clock::now()).unwrap();
    let proof = possession::prove(&staged, record.id);
    let public: &PublicKey = staged.public();
    setup
        .introduce_gateway_key(record.id, counterfoil_core::key::Purpose::Decision, public, proof, OPERATOR)
        .await
        .unwrap();
    // And once more after the old key was retired.
    setup.retire_key(record.id, &old, OPERATOR).await.unwrap();
    let mut store = gateway_store(&site.folder, Mode::Production).unwrap();
    let (replaced, new) = replace::<Decision>(&mut store, &site.folder, &record, &setup).await.unwrap();

    assert_eq!((&replaced, &new), (&old, staged.kid()));
    assert!(!setup.key_counts(record.id, &old).await.unwrap());
    assert!(setup.key_counts(record.id, &new).await.unwrap());
    assert_ne!(fs::read(site.folder.service_token()).unwrap(), token);
    let store = gateway_store(&site.folder, Mode::Production).unwrap();
    assert_eq!(*store.signing_key::<Decision>().unwrap().kid(), new);
    assert_eq!(store.published().len(), 3);
}

/// The outgoing ledger key introduces its successor, and old receipts keep their key.
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_key_hands_over_to_the_next_and_stays_published() {
    let site = site().await;
    let record = ProjectRecord::of(&site.folder).unwrap();

    let (first, second) = replace_ledger(&site.folder, Mode::Production).await.unwrap();
    let (again, third) = replace_ledger(&site.folder, Mode::Production).await.unwrap();

    let setup = site.setup().await;
    assert_eq!(again, second);
    assert!(!setup.key_counts(record.id, &first).await.unwrap());
    assert!(!setup.key_counts(record.id, &second).await.unwrap());
    assert!(setup.key_counts(record.id, &third).await.unwrap());
    let published = evidence_store(&site.folder, Mode::Production).unwrap().published();
    assert!(
        [first, second, third].iter().all(|kid| published.iter().any(|key| key.public.thumbprint() == *kid))
    );
    // ledger, log, decision, capability, then twice: introduced, retired.
    let last = setup.receipt(record.id, 7).await.unwrap().unwrap();
    let last: serde_json::Value = serde_json::from_slice(&last).unwrap();
    assert_eq!(last["statement"]["payload"]["event"], "retired");
    assert!(setup.receipt(record.id, 8).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_force_already_is_not_published_again() {
    let site = site().await;
    let (record, setup) = (ProjectRecord::of(&site.folder).unwrap(), site.setup().await);
    Source::Demo.prepare(&site.folder, clock::now()).unwrap();
    let (registry, rules) = (site.folder.registry(), site.folder.rules());

    let first = publish_changed(&registry, &rules, record.id, None, &setup).await.unwrap();
    let in_force = counterfoil_core::control::Documents {
        registry: fs::read_to_string(&registry).unwrap(),
        rules: fs::read_to_string(&rules).unwrap(),
    };
    let second = publish_changed(&registry, &rules, record.id, Some(&in_force), &setup).await.unwrap();

    assert!(first.registry && first.rules);
    assert!(!second.registry && !second.rules);
}

/// G2: pins are written beside what the operator named, and what the operator wrote stays.
#[tokio::test(flavor = "multi_thread")]
async fn pins_are_written_once_and_for_named_tools_alone() {
    use super::providers::{ProviderPlan, ProviderPlans};
    use super::publishing::pin_unpinned;
    let folder = TempDir::new().unwrap();
    let kept = Folder::open(folder.path()).unwrap();
    let registry = folder.path().join("registry.toml");
    let named = "# mine\nv = 1\n\n[provider.notes]\n\n[provider.notes.tool.read]\nservice = \"notes\"\nverb = \"read\"\n\
                 nouns = [{ type = \"path\", at = \"/path\" }]\n";
    fs::write(&registry, named).unwrap();
    // A provider in a shell: it answers initialize and tools/list in order.
    let script = "read a; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}'; read b; read c; \
                  echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}'; \
                  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"read\"},{\"name\":\"wipe\"}]}}'";
    let plan = ProviderPlan::of(["/bin/sh", "-c", script].map(str::to_owned).to_vec());
    let providers = ProviderPlans::from([("notes".parse().unwrap(), plan)]);

    let first = pin_unpinned(&registry, &providers, &kept).await.unwrap();
    let written = fs::read_to_string(&registry).unwrap();
    let second = pin_unpinned(&registry, &providers, &kept).await.unwrap();

    assert_eq!(first.iter().map(|pinned| pinned.tool.as_str()).collect::<Vec<_>>(), ["read"]);
    assert!(written.starts_with("# mine\n") && !written.contains("wipe"));
    assert!(written.contains(&format!("pin = \"{}\"", first[0].pin)));
    assert!(second.is_empty());
    assert_eq!(fs::read_to_string(&registry).unwrap(), written);
}
