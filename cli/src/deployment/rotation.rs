//! Replaces a signing key of the gateway.
//!
//! Promised: it can stop anywhere and be run again, and goes on with the same successor: sealed, introduced, the old
//! key retired, the successor in use. Not promised: that a running gateway notices; it signs with what it read when it
//! started.

use counterfoil_core::key::{KeyPurpose, Purpose, Thumbprint};
use counterfoil_evidence::setup::Setup;
use counterfoil_jwks::{Store, file, possession};

use super::Folder;
use super::founding::OPERATOR;
use super::project::ProjectRecord;
use crate::clock;

/// The key that was replaced, and the one that replaces it.
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
