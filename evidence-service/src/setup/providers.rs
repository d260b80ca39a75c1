//! Keys of providers: fetched or pasted, confirmed, imported; deleted while unused, revoked ever after (C4).
//!
//! A key is fetched at its import and never again: a provider that changes its key set changes nothing here until
//! somebody imports the new key. Importing again is harmless and takes nothing away.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::issuer::Host;
use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::statement::{KeySource, PublicUrl};
use counterfoil_core::time::Timestamp;

use super::{Setup, SetupError};
use crate::clock;
use crate::control::public_text;
use crate::database::DatabaseError;
use crate::egress::{Egress, EgressError, Target};
use crate::keys::change::{Fate, KeyChange, KeyChanges};
use crate::keys::offer::{Confirmed, KeyOffer, LARGEST_OFFER};
use crate::keys::{self, store};
use crate::ledger::AppendError;

/// A provider's key, as the project knows it.
#[derive(Clone, Debug)]
pub struct ProviderKeyState {
    pub provider: ProviderId,
    pub thumbprint: Thumbprint,
    /// What its owner calls it.
    pub names: Vec<String>,
    pub introduced_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub revoked: bool,
    /// The entry that proved possession: the first statement whose signature held.
    pub used: Option<u64>,
}

/// What became of one confirmed key.
#[derive(Clone, Debug)]
pub struct ImportedKey {
    pub thumbprint: Thumbprint,
    /// Its entry; none if the key was there before.
    pub seq: Option<u64>,
}

impl Setup {
    /// Asks once for a provider's key set, through the guarded client. Nothing is imported yet.
    pub async fn fetch_provider_keys(&self, url: &str) -> Result<KeyOffer, SetupError> {
        let target = Target::parse(url)?;
        let refused = || EgressError::Url(url.to_owned());
        // Both stand in an entry for ever, so they are read as such before anything is asked.
        let public: PublicUrl = target.as_str().parse().map_err(|_| refused())?;
        let host: Host = target.host().parse().map_err(|_| refused())?;
        let bytes =
            Egress::new(LARGEST_OFFER)?.get(&target, "application/jwk-set+json, application/json").await?;
        let source = KeySource { url: public, host, at: clock::now(), digest: Digest::of(&bytes) };
        Ok(KeyOffer::read(&bytes, Some(source))?)
    }

    /// `key/v1` for each confirmed key that the provider does not have yet, all in one commit or none.
    pub async fn import_provider_keys(
        &self,
        project: ProjectId,
        provider: &ProviderId,
        confirmed: Confirmed,
        behalf: &str,
    ) -> Result<Vec<ImportedKey>, SetupError> {
        self.refuse_our_own(&confirmed)?;
        let import = |offered: &keys::offer::OfferedKey| {
            KeyChange::import(provider.clone(), offered.key.clone(), confirmed.source.clone())
        };
        let job = KeyChanges {
            issuer: self.ledger.project(project).await?.issuer.clone(),
            behalf: public_text(behalf)?,
            changes: confirmed.keys.iter().map(import).collect(),
            signer: &self.ledger.keys().ledger,
        };
        let done = self.ledger.append(project, &job).await?;
        self.saved()?;
        self.name_keys(project, provider, &confirmed).await?;
        let mut seqs = done.sealed.iter().flat_map(|sealed| &sealed.placed[sealed.before..]);
        let imported = confirmed.keys.iter().zip(&done.outcome).map(|(offered, fate)| ImportedKey {
            thumbprint: offered.key.thumbprint(),
            seq: match fate {
                Fate::Made => seqs.next().map(|placed| placed.entry.seq),
                Fate::Known => None,
            },
        });
        Ok(imported.collect())
    }

    /// Takes back a key under which nothing was signed yet. The entry that introduced it stays, and the key cannot
    /// come again.
    pub async fn delete_provider_key(
        &self,
        project: ProjectId,
        kid: &Thumbprint,
        behalf: &str,
    ) -> Result<u64, SetupError> {
        let known = self.provider_keys(project).await?;
        if known.iter().all(|key| key.thumbprint != *kid) {
            return Err(
                AppendError::Refused(format!("key `{kid}` is no provider's key of this project")).into()
            );
        }
        self.retire_key(project, kid, behalf).await
    }

    /// Every execution key of the project, oldest first, ended ones too.
    pub async fn provider_keys(&self, project: ProjectId) -> Result<Vec<ProviderKeyState>, SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let aliases = store::aliases(&tx).await?;
        let rows = keys::all(&tx).await?;
        let executions = rows.into_iter().filter(|row| row.purpose == Purpose::Execution);
        let states = executions.filter_map(|row| {
            let thumbprint = row.key.thumbprint();
            let names = aliases.iter().filter(|(_, kid)| *kid == thumbprint).map(|(name, _)| name.clone());
            Some(ProviderKeyState {
                provider: row.provider?,
                names: names.collect(),
                thumbprint,
                introduced_at: row.introduced_at,
                ended_at: row.ended_at,
                revoked: row.revoked,
                used: row.used,
            })
        });
        Ok(states.collect())
    }

    /// A key that signs for this deployment, in whatever project, signs for no provider.
    fn refuse_our_own(&self, confirmed: &Confirmed) -> Result<(), SetupError> {
        let ours = self.ledger.keys();
        let is_ours = |key| ours.all_ledger.contains(key) || ours.all_log.contains(key);
        match confirmed.keys.iter().find(|offered| is_ours(&offered.key)) {
            Some(own) => {
                let why = format!("key `{}` is a key of the log operator's", own.key.thumbprint());
                Err(AppendError::Refused(why).into())
            }
            None => Ok(()),
        }
    }

    /// After the keys themselves: a statement under a name that is not known yet is tried against every key.
    async fn name_keys(
        &self,
        project: ProjectId,
        provider: &ProviderId,
        confirmed: &Confirmed,
    ) -> Result<(), SetupError> {
        let names = confirmed
            .keys
            .iter()
            .flat_map(|offered| offered.names.iter().map(|name| (name.clone(), offered.key.thumbprint())));
        let names: Vec<(String, Thumbprint)> = names.collect();
        if names.is_empty() {
            return Ok(());
        }
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        store::name(&tx, provider, &names).await?;
        Ok(tx.commit().await.map_err(DatabaseError::from)?)
    }
}
