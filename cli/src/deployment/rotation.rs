//! Replaces signing keys.
//!
//! Promised: it can stop anywhere and be run again, and goes on with the same successor: sealed, introduced, the old
//! key retired, the successor in use. Not promised: that a running service notices; it signs with what it read when it
//! started.

use counterfoil_core::key::{KeyPurpose, Ledger, Purpose, Thumbprint};
use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::Setup;
use counterfoil_jwks::{Mode, Store, file, possession};

use super::Folder;
use super::founding::{OPERATOR, evidence_store};
use super::project::ProjectRecord;
use crate::clock;

/// A decision or capability key of the gateway: which one was replaced, and by which.
pub async fn replace<P: KeyPurpose>(
    store: &mut Store,
    folder: &Folder,
    record: &ProjectRecord,
    setup: &Setup,
) -> anyhow::Result<(Thumbprint, Thumbprint)> {
    let old = store.signing_key::<P>()?.kid().clone();
    let new = store.stage::<P>(clock::now())?;
    if !setup.key_counts(record.id, new.kid()).await? {
        let proof = possession::prove(&new, record.id);
        setup.introduce_gateway_key(record.id, P::PURPOSE, new.public(), proof, OPERATOR).await?;
    }
    if P::PURPOSE == Purpose::Decision {
        // A service token names the decision keys that may record with it.
        let token = setup.create_service_token(&[record.id], &[new.kid().clone()]).await?;
        file::replace(&folder.service_token(), format!("{}\n", token.secret.reveal()).as_bytes())?;
    }
    if setup.key_counts(record.id, &old).await? {
        setup.retire_key(record.id, &old, OPERATOR).await?;
    }
    store.promote::<P>(clock::now())?;
    Ok((old, new.kid().clone()))
}

/// The ledger key, in every project of the deployment: which one was replaced, and by which.
///
/// The outgoing key introduces its successor, and the successor retires it: what the old one signed stands, and whoever
/// pinned it can follow.
pub async fn replace_ledger(folder: &Folder, mode: Mode) -> anyhow::Result<(Thumbprint, Thumbprint)> {
    let mut store = evidence_store(folder, mode)?;
    let old = store.signing_key::<Ledger>()?.kid().clone();
    let new = store.stage::<Ledger>(clock::now())?;
    let setup = open_setup(folder).await?;
    for project in setup.projects().await? {
        if !setup.key_counts(project.id, new.kid()).await? {
            let proof = possession::prove(&new, project.id);
            setup.introduce_ledger_key(project.id, new.public(), proof, OPERATOR).await?;
        }
    }
    store.promote::<Ledger>(clock::now())?;
    retire_former_ledger_keys(folder, &store).await?;
    Ok((old, new.kid().clone()))
}

/// All of them, since an earlier rotation may have stopped just before this step.
async fn retire_former_ledger_keys(folder: &Folder, store: &Store) -> anyhow::Result<()> {
    // Opened again, so that the successor signs.
    let setup = open_setup(folder).await?;
    let published = store.published();
    let former = published.iter().filter(|key| key.purpose == Purpose::Ledger && key.until.is_some());
    for kid in former.map(|key| key.public.thumbprint()) {
        for project in setup.projects().await? {
            if setup.key_counts(project.id, &kid).await? {
                setup.retire_key(project.id, &kid, OPERATOR).await?;
            }
        }
    }
    Ok(())
}

async fn open_setup(folder: &Folder) -> anyhow::Result<Setup> {
    Ok(Setup::open(&Config::from_file(&folder.evidence_config())?).await?)
}
