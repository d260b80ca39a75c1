//! Keys of providers: whose they are, when they count, and what may be done to them (C4).

use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::key::{Execution, Log, PublicKey, Purpose, SigningKey, Thumbprint};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::statement::{KeyEvent, KeyStatement, Statement};
use counterfoil_evidence::keys::offer::KeyOffer;
use counterfoil_evidence::setup::{ImportedKey, Setup, SetupError};
use counterfoil_jwks::{Holder, Kek, Mode, Store};
use serde_json::json;

use crate::deployment::{Deployment, new_project, random_seed};

pub fn fresh_key() -> SigningKey<Execution> {
    SigningKey::from_seed(&random_seed())
}

pub fn notes() -> ProviderId {
    "notes".parse().expect("a provider id")
}

pub fn offer(key: &PublicKey, name: &str) -> KeyOffer {
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": key.x(), "kid": name });
    KeyOffer::pasted(jwk.to_string().as_bytes()).expect("a key")
}

pub async fn import(
    setup: &Setup,
    project: ProjectId,
    provider: &ProviderId,
    key: &PublicKey,
) -> Result<Vec<ImportedKey>, SetupError> {
    let confirmed = offer(key, "k1").confirm(&[key.thumbprint()]).expect("confirmed");
    setup.import_provider_keys(project, provider, confirmed, "operator-1").await
}

/// What stands at a place.
pub async fn key_statement(deployment: &Deployment, seq: u64) -> KeyStatement {
    let receipt = deployment.setup.receipt(deployment.id(), seq).await.expect("read").expect("an entry");
    let receipt: Receipt = serde_json::from_slice(&receipt).expect("a receipt");
    let envelope = Envelope::parse(receipt.statement().as_bytes()).expect("an envelope");
    match envelope.statement().expect("a statement") {
        Statement::Key(said) => *said,
        other => panic!("{other:?}"),
    }
}

fn refused(outcome: Result<impl std::fmt::Debug, SetupError>) -> String {
    outcome.expect_err("refused").to_string()
}

/// C4, T10: an import is an entry that names provider and purpose, and the record stays clean.
#[tokio::test(flavor = "multi_thread")]
async fn an_imported_key_is_an_entry_of_its_provider() {
    let deployment = Deployment::new().await;
    let key = fresh_key();

    let imported =
        import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");

    let said = key_statement(&deployment, imported[0].seq.expect("an entry")).await;
    assert_eq!(
        (said.event, said.purpose, said.provider),
        (KeyEvent::Introduced, Purpose::Execution, Some(notes()))
    );
    assert_eq!((said.thumbprint, said.possession, said.source), (key.kid().clone(), None, None));
    let states = deployment.setup.provider_keys(deployment.id()).await.expect("read");
    assert_eq!(states[0].names, ["k1"]);
    assert!(states[0].used.is_none() && states[0].ended_at.is_none());
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// C4: importing again changes nothing, deletes nothing, and learns new names.
#[tokio::test(flavor = "multi_thread")]
async fn importing_again_is_no_second_entry_and_takes_nothing_away() {
    let deployment = Deployment::new().await;
    let (one, two) = (fresh_key(), fresh_key());
    let setup = &deployment.setup;
    import(setup, deployment.id(), &notes(), one.public()).await.expect("imported");
    import(setup, deployment.id(), &notes(), two.public()).await.expect("imported");

    let again = offer(one.public(), "k2").confirm(&[one.kid().clone()]).expect("confirmed");
    let again =
        setup.import_provider_keys(deployment.id(), &notes(), again, "operator-1").await.expect("known");

    assert!(again[0].seq.is_none());
    let states = setup.provider_keys(deployment.id()).await.expect("read");
    assert_eq!(states.len(), 2);
    assert!(states.iter().all(|state| state.ended_at.is_none()));
    assert_eq!(states[0].names, ["k1", "k2"]);
}

/// C4: one key, one provider; and none of ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_one_provider_and_never_to_us() {
    let deployment = Deployment::new().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    let key = fresh_key();
    import(setup, project, &notes(), key.public()).await.expect("imported");
    let mail: ProviderId = "mail".parse().expect("a provider id");
    let kek = Kek::from_file(deployment.config.kek_file.as_deref().expect("a file")).expect("kek");
    let store = Store::open(&deployment.config.keys, Holder::Evidence, kek, Mode::Dev).expect("a store");
    let log = store.signing_key::<Log>().expect("a log key");

    let second = refused(import(setup, project, &mail, key.public()).await);
    let gateways = refused(import(setup, project, &notes(), deployment.decision.public()).await);
    let operators = refused(import(setup, project, &notes(), log.public()).await);

    assert!(second.contains("belongs to provider `notes`"), "{second}");
    assert!(gateways.contains("is a decision key of this project"), "{gateways}");
    assert!(operators.contains("is a key of the log operator's"), "{operators}");
    assert_eq!(setup.provider_keys(project).await.expect("read").len(), 1);
}

/// C4, T1: whose key it is in one project says nothing in another.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_imported_into_one_project_only() {
    let deployment = Deployment::new().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let mail: ProviderId = "mail".parse().expect("a provider id");

    assert!(deployment.setup.provider_keys(other.id).await.expect("read").is_empty());
    let elsewhere = import(&deployment.setup, other.id, &mail, key.public()).await.expect("another project");

    assert!(elsewhere[0].seq.is_some());
    assert_eq!(deployment.setup.provider_keys(deployment.id()).await.expect("read")[0].provider, notes());
}

/// C4: a key under which nothing was signed is taken back by an entry; none comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_unused_key_is_deleted_by_an_entry_and_does_not_come_again() {
    let deployment = Deployment::new().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    let key = fresh_key();
    import(setup, project, &notes(), key.public()).await.expect("imported");

    let seq = setup.delete_provider_key(project, key.kid(), "operator-1").await.expect("deleted");

    let said = key_statement(&deployment, seq).await;
    assert_eq!((said.event, said.provider), (KeyEvent::Retired, Some(notes())));
    let again = refused(import(setup, project, &notes(), key.public()).await);
    assert!(again.contains("a key has one life"), "{again}");
    let twice = refused(setup.delete_provider_key(project, key.kid(), "operator-1").await);
    assert!(twice.contains("has ended already"), "{twice}");
    let stranger: Thumbprint = fresh_key().kid().clone();
    assert!(
        refused(setup.delete_provider_key(project, &stranger, "operator-1").await)
            .contains("no provider's key")
    );
    // Not the way to end a key of ours.
    let ours = setup.delete_provider_key(project, deployment.decision.kid(), "operator-1").await;
    assert!(refused(ours).contains("no provider's key"));
    setup.audit(project).await.expect("read").expect("clean");
}

/// C4, T8: the bound of what is tried against a statement under an unknown key id.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_has_at_most_64_live_execution_keys() {
    let deployment = Deployment::new().await;
    let keys: Vec<SigningKey<Execution>> = (0..64).map(|_| fresh_key()).collect();
    let jwks: Vec<serde_json::Value> =
        keys.iter().map(|key| json!({ "kty": "OKP", "crv": "Ed25519", "x": key.public().x() })).collect();
    let set = KeyOffer::pasted(json!({ "keys": jwks }).to_string().as_bytes()).expect("a set");
    let kids: Vec<Thumbprint> = keys.iter().map(|key| key.kid().clone()).collect();
    let (setup, project) = (&deployment.setup, deployment.id());
    let confirmed = set.confirm(&kids).expect("confirmed");
    let imported = setup.import_provider_keys(project, &notes(), confirmed, "operator-1").await;
    assert_eq!(imported.expect("imported").len(), 64);

    let one_more = refused(import(setup, project, &notes(), fresh_key().public()).await);
    assert!(one_more.contains("at most 64"), "{one_more}");
    setup.revoke_key(project, &kids[0], None, "operator-1").await.expect("revoked");

    import(setup, project, &notes(), fresh_key().public()).await.expect("room again");
}

/// C4, C7: what is fetched goes through the guarded client, which has no way to this machine.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_set_is_not_fetched_from_inside() {
    let deployment = Deployment::new().await;

    for url in [
        "http://keys.example/",
        "https://127.0.0.1/jwks.json",
        "https://localhost/jwks.json",
        "https://keys.example/?token=1",
        "https://169.254.169.254/latest/meta-data",
    ] {
        let refused = refused(deployment.setup.fetch_provider_keys(url).await);
        assert!(refused.contains("may not be asked"), "{refused}");
    }
}
