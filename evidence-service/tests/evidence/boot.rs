//! What the service refuses to start with.

use counterfoil_core::key::{Ledger, Log, SigningKey};
use counterfoil_jwks::{Holder, Kek, Mode, Store};

use crate::deployment::{Deployment, now};

/// E5: at boot the service refuses to run as an owner.
#[tokio::test(flavor = "multi_thread")]
async fn the_service_refuses_to_run_as_a_role_that_owns_or_rules() {
    let deployment = Deployment::new().await;
    for role in ["counterfoil_migrator", "postgres"] {
        let mut config = deployment.config.clone();
        config.database.app_user = role.to_owned();
        let Err(refused) = counterfoil_evidence::bind(config).await else { panic!("{role} was accepted") };
        assert!(refused.to_string().contains(role), "{refused}");
    }
}

/// C3: a key that is printed in the test vectors signs nothing outside `dev`.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_key_is_refused_outside_dev() {
    let deployment = Deployment::new().await;
    let folder = tempfile::tempdir().expect("folder");
    let mut config = deployment.config.clone();
    config.keys = folder.path().join("keys.sealed");
    let kek = Kek::from_file(config.kek_file.as_deref().expect("a file")).expect("the kek");
    let mut store = Store::create(&config.keys, Holder::Evidence, kek).expect("a store");
    store.import(&SigningKey::<Ledger>::from_seed(&[3; 32]), now()).expect("a sample ledger key");
    store.mint::<Log>(now()).expect("a log key");

    config.mode = Mode::Production;
    let Err(refused) = counterfoil_evidence::bind(config.clone()).await else {
        panic!("started in production")
    };
    assert!(refused.to_string().contains("sample"), "{refused}");
    config.mode = Mode::Dev;
    counterfoil_evidence::bind(config).await.expect("dev takes it");
}
