//! Changes to a store: mint, stage, promote.
//!
//! A rotation takes two steps, because the outgoing key may have to sign the entry that introduces
//! its successor: `stage` seals the successor, the entry is recorded, `promote` makes the successor
//! current. A crash between them leaves both keys, and the same call continues.

use counterfoil_core::digest::Digest;
use counterfoil_core::key::{KeyPurpose, SigningKey, Thumbprint};
use counterfoil_core::time::Timestamp;

use super::document::{KeyRecord, SecretRecord, State, key_bound, secret_bound};
use super::{Store, StoreError};
use crate::chance;
use crate::file;
use crate::seal;
use crate::secret;

impl Store {
    /// The first key of a purpose.
    pub fn mint<P: KeyPurpose>(&mut self, at: Timestamp) -> Result<Thumbprint, StoreError> {
        let key = SigningKey::from_seed(&*chance::seed()?);
        self.import::<P>(&key, at)
    }

    /// Takes a key that was made elsewhere as the first one of its purpose.
    pub fn import<P: KeyPurpose>(
        &mut self,
        key: &SigningKey<P>,
        at: Timestamp,
    ) -> Result<Thumbprint, StoreError> {
        if self.position::<P>(State::Current).is_some() {
            return Err(StoreError::HasKey(P::PURPOSE));
        }
        self.push(key, at, State::Current)?;
        self.save()?;
        Ok(key.kid().clone())
    }

    /// A named secret that never rotates.
    pub fn mint_secret(&mut self, name: &str) -> Result<(), StoreError> {
        let taken = self.document.secrets.iter().any(|record| record.name == name);
        if taken || !secret::is_name(name) {
            return Err(StoreError::SecretName(name.to_owned()));
        }
        let bound = secret_bound(self.document.holder, name);
        let sealed = seal::seal(chance::seed()?.as_slice(), &bound, &self.kek)?;
        self.document.secrets.push(SecretRecord { name: name.to_owned(), sealed });
        self.save()
    }

    /// The successor of the current key, made now or by an earlier call that went no further.
    pub fn stage<P: KeyPurpose>(&mut self, at: Timestamp) -> Result<SigningKey<P>, StoreError> {
        if self.position::<P>(State::Current).is_none() {
            return Err(StoreError::NoKey(P::PURPOSE));
        }
        if let Some(staged) = self.staged_key::<P>()? {
            return Ok(staged);
        }
        let key = SigningKey::from_seed(&*chance::seed()?);
        self.push::<P>(&key, at, State::Staged)?;
        self.save()?;
        Ok(key)
    }

    /// The staged key becomes current. The private half of the one before is gone; its public half
    /// stays, with the time until which it was used.
    pub fn promote<P: KeyPurpose>(&mut self, at: Timestamp) -> Result<(), StoreError> {
        let staged = self.position::<P>(State::Staged).ok_or(StoreError::NothingStaged(P::PURPOSE))?;
        let current = self.position::<P>(State::Current).ok_or(StoreError::NoKey(P::PURPOSE))?;

        let retired = &mut self.document.keys[current];
        retired.state = State::Retired;
        retired.until = Some(at);
        retired.sealed = None;
        let promoted = &mut self.document.keys[staged];
        promoted.state = State::Current;
        promoted.from = at;
        self.save()
    }

    fn position<P: KeyPurpose>(&self, state: State) -> Option<usize> {
        let mut records = self.document.keys.iter();
        records.position(|record| record.purpose == P::PURPOSE && record.state == state)
    }

    fn push<P: KeyPurpose>(
        &mut self,
        key: &SigningKey<P>,
        from: Timestamp,
        state: State,
    ) -> Result<(), StoreError> {
        let holder = self.document.holder;
        if !holder.holds(P::PURPOSE) {
            return Err(StoreError::NotHeldHere { purpose: P::PURPOSE, holder: holder.as_str() });
        }
        let kid = key.kid().to_string();
        let bound = key_bound(holder, P::PURPOSE, &kid);
        let sealed = Some(seal::seal(key.dangerous_seed().as_slice(), &bound, &self.kek)?);
        let x = key.public().x();
        self.document.keys.push(KeyRecord { purpose: P::PURPOSE, kid, x, from, until: None, state, sealed });
        self.public.push(key.public().clone());
        Ok(())
    }

    /// Under the lock, so that of two processes that change the file one is told to look again.
    fn save(&mut self) -> Result<(), StoreError> {
        let _lock = file::lock(&self.path)?;
        let found = file::read_private(&self.path)?;
        if Digest::of(&found) != self.on_disk {
            return Err(StoreError::ChangedMeanwhile { path: self.path.clone() });
        }
        let bytes = self.document.sealed_bytes(&self.kek)?;
        file::replace(&self.path, &bytes)?;
        self.on_disk = Digest::of(&bytes);
        Ok(())
    }
}
