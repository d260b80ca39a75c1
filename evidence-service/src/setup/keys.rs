//! Keys that come and go.

use counterfoil_core::id::ProjectId;
use counterfoil_core::key::{PublicKey, Purpose, Thumbprint};
use counterfoil_core::statement::KeyEvent;
use counterfoil_core::time::Timestamp;

use super::{Setup, SetupError};
use crate::control::public_text;
use crate::keys::change::{KeyChange, KeyChanges};
use crate::keys::{self, KeyRow};
use crate::ledger::AppendError;

impl Setup {
    /// A decision or capability key of the gateway; `possession` is its own signature
    /// (`counterfoil_jwks::possession::prove`). Returns the entry's number.
    pub async fn introduce_gateway_key(
        &self,
        project: ProjectId,
        purpose: Purpose,
        key: &PublicKey,
        possession: [u8; 64],
        behalf: &str,
    ) -> Result<u64, SetupError> {
        match purpose {
            Purpose::Decision | Purpose::Capability => {}
            Purpose::Ledger | Purpose::Log | Purpose::Tick | Purpose::Witness | Purpose::Execution => {
                let why = format!("a gateway has no key for purpose `{purpose}`");
                return Err(AppendError::Refused(why).into());
            }
        }
        let before = self.key_in_force(project, purpose).await?;
        let mut change = KeyChange::introduction(purpose, key.clone(), possession);
        change.replaces = before.map(|row| row.key.thumbprint());
        self.change_key(project, change, behalf).await
    }

    /// The successor of our ledger key. The entry is signed by the outgoing one, so whoever pinned that one can follow.
    pub async fn introduce_ledger_key(
        &self,
        project: ProjectId,
        key: &PublicKey,
        possession: [u8; 64],
        behalf: &str,
    ) -> Result<u64, SetupError> {
        let mut change = KeyChange::introduction(Purpose::Ledger, key.clone(), possession);
        change.replaces = Some(self.ledger.keys().ledger.kid().clone());
        self.change_key(project, change, behalf).await
    }

    /// Whether a key counts now: introduced, and neither retired nor revoked. A rotation that was interrupted asks.
    pub async fn key_counts(&self, project: ProjectId, kid: &Thumbprint) -> Result<bool, SetupError> {
        let rows = self.keys(project).await?;
        Ok(rows.iter().any(|row| row.key.thumbprint() == *kid && row.ended_at.is_none()))
    }

    /// From this entry on the key signs nothing new; what it signed before stands.
    pub async fn retire_key(
        &self,
        project: ProjectId,
        kid: &Thumbprint,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        self.end_key(project, kid, KeyEvent::Retired, None, behalf).await
    }

    /// As retiring, because the key may be in other hands since the time named.
    pub async fn revoke_key(
        &self,
        project: ProjectId,
        kid: &Thumbprint,
        compromised_since: Option<Timestamp>,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        self.end_key(project, kid, KeyEvent::Revoked, compromised_since, behalf).await
    }

    async fn end_key(
        &self,
        project: ProjectId,
        kid: &Thumbprint,
        event: KeyEvent,
        compromised_since: Option<Timestamp>,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        let found = self.keys(project).await?.into_iter().find(|row| row.key.thumbprint() == *kid);
        let row =
            found.ok_or_else(|| AppendError::Refused(format!("key `{kid}` is not known to this project")))?;
        // Without them nothing could be appended any more. A ledger key ends once its successor signs; a log key changes
        // by handover only.
        let signs_now = row.purpose == Purpose::Ledger && kid == self.ledger.keys().ledger.kid();
        if signs_now || row.purpose == Purpose::Log {
            return Err(AppendError::Refused(format!("key `{kid}` signs the ledger itself")).into());
        }
        let change = KeyChange {
            event,
            purpose: row.purpose,
            provider: row.provider,
            key: row.key,
            replaces: None,
            compromised_since,
            possession: None,
            source: None,
        };
        self.change_key(project, change, behalf).await
    }

    async fn change_key(
        &self,
        project: ProjectId,
        change: KeyChange,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        let job = KeyChanges {
            issuer: self.ledger.project(project).await?.issuer.clone(),
            behalf: public_text(behalf)?,
            changes: vec![change],
            signer: &self.ledger.keys().ledger,
        };
        let done = self.ledger.append(project, &job).await?;
        self.saved()?;
        done.last_seq().ok_or_else(|| AppendError::Unknown.into())
    }

    async fn key_in_force(&self, project: ProjectId, purpose: Purpose) -> Result<Option<KeyRow>, SetupError> {
        let rows = self.keys(project).await?;
        Ok(rows.into_iter().rev().find(|row| row.purpose == purpose && row.ended_at.is_none()))
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        Ok(keys::all(&tx).await?)
    }
}
